package client

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func TestAgentsAnswersAreReadAndTheirFailuresAreErrors(t *testing.T) {
	var status int
	var body, got string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + string(data)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	status, body = 200, `{"status":"clarification_needed","result":null,"reasoning":"What?","session_id":"s"}`
	a, err := c.Ask(t.Context(), AgentRequest{Intent: "x", SessionID: "s"})
	if err != nil || a.Status != wire.AgentClarificationNeeded || a.Result != nil || got != `/agent/ask {"intent":"x","session_id":"s"}` {
		t.Errorf("%+v, %v after %s", a, err, got)
	}
	status, body = 503, `{"status":"error","result":null,"error":{"code":"unavailable","message":"set TENET_JUDGE_MODEL"}}`
	if _, err := c.Agent(t.Context(), "triage", AgentRequest{Intent: "x"}); rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "TENET_JUDGE_MODEL") {
		t.Errorf("a failed agent: %v", err)
	}
	status = 200
	for _, body = range []string{`{}`, `{"status":"error"}`, `{"status":"completed","result":{"allowed":true}}`, `{"status":"completed","result":{"allowed":true,"evaluation":{"overall_verdict":"DENY"}}}`} {
		if a, err := c.Check(t.Context(), AgentRequest{Intent: "x"}); err == nil {
			t.Errorf("%s is taken for %+v", body, a)
		}
	}
	body = `{"status":"completed","result":{"verdict":"PASS"}}`
	if a, err := c.Review(t.Context(), AgentRequest{Intent: "x"}); err == nil {
		t.Errorf("%s is taken for %+v", body, a)
	}
}
