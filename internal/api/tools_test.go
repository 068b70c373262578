package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const toolsPath = "/api/v1/gateway/tools"

// TestToolsThatAGatewayHoldsBackAreRecordedAndPublished holds for keys that may only ask for evaluations, as a gateway has one.
func TestToolsThatAGatewayHoldsBackAreRecordedAndPublished(t *testing.T) {
	n := newNode(t)
	admin := n.makeKey(auth.Admin, store.AllProjects)
	n.key = admin
	gate := n.newKey(fields{"name": "gate", "role": "evaluator", "project_id": "default", "scopes": []string{"evaluate"}})
	hook := into[wire.PolicyWithSecret](n.call("POST", "/api/v1/gateway/policies", fields{
		"name": "watch", "url": "https://hooks.example.com/x", "event_types": []string{"tools.held", "tools.accepted"},
	}).want(http.StatusCreated))
	hash := strings.Repeat("ab", 32)
	report := func(state string) fields {
		return fields{"server": "files", "state": state, "tools": []fields{{"name": "write_file", "hash": hash, "why": []string{"it changed its description"}}}}
	}
	n.key = gate.Secret
	n.call("POST", toolsPath, report("held")).want(http.StatusNoContent)
	n.call("POST", toolsPath, report("accepted")).want(http.StatusNoContent)
	for field, body := range map[string]fields{
		"state":      {"server": "files", "state": "gone", "tools": []fields{{"name": "x", "hash": hash}}},
		"tools":      {"server": "files", "state": "held", "tools": []fields{}},
		"tools.hash": {"server": "files", "state": "held", "tools": []fields{{"name": "x", "hash": strings.Repeat("z", 64)}}},
		"server":     {"server": " ", "state": "held", "tools": []fields{{"name": "x", "hash": hash}}},
	} {
		n.call("POST", toolsPath, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	n.key = admin
	entries := into[wire.AuditPage](n.call("GET", "/api/v1/audit?kind=tools", nil).want(http.StatusOK))
	if len(entries.Items) != 2 || entries.Items[0].Action != "accepted" || entries.Items[1].Action != "held" || entries.Items[1].Object.ID != "files" {
		t.Errorf("entries: %+v", entries.Items)
	}
	sent := into[wire.Page[wire.Delivery]](n.call("GET", "/api/v1/gateway/policies/"+hook.ID+"/deliveries", nil).want(http.StatusOK))
	if sent.Total != 2 {
		t.Errorf("%d events were published, want that tools are held back and that they are accepted", sent.Total)
	}
}
