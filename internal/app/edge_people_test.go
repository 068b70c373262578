package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/rule"
	"tenet/internal/sso/ssotest"
	"tenet/internal/wire"
)

// Tokens of identity providers are verified at the edge as at a server: by the file of providers there, and without the server.
func TestTokensOfPeopleWorkAtTheEdge(t *testing.T) {
	t.Parallel()
	idp := ssotest.New(t, nil)
	file := filepath.Join(t.TempDir(), "sso.yaml")
	text := "providers:\n- name: corp\n  issuer: " + idp.URL + "\n  client_id: tenet\n  audiences: [tenet-api]\n  roles:\n  - {group: staff, project: default, role: evaluator}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOrigin(t)
	fail, err := rule.ParseStale(rule.DefaultStale)
	if err != nil {
		t.Fatal(err)
	}
	e := node(t, app.Options{Edge: &app.Edge{Name: "e1", Place: o.place(o.http.URL + "/api/v1/bundles/production"), Trusted: o.keys, Every: time.Minute, Fail: fail}}, map[string]string{
		"data": t.TempDir(), "console": "false", "alerts": "false", "sso_file": file,
	})
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.answer.Store(new(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })))
	token := func(changes map[string]any) string { return idp.Sign(idp.Claims(time.Now(), changes)) }
	for _, tt := range []struct {
		about, token string
		want         int
	}{
		{"of a person with a role", token(map[string]any{"email": "ann@example.com", "groups": []string{"staff"}}), http.StatusOK},
		{"of a person without one", token(map[string]any{"groups": []string{"guests"}}), http.StatusForbidden},
		{"that has expired", token(map[string]any{"groups": []string{"staff"}, "exp": time.Now().Add(-time.Hour).Unix()}), http.StatusUnauthorized},
		{"that is none", "", http.StatusUnauthorized},
	} {
		var got rule.Evaluation
		if code := askAs(t, e, tt.token, "POST", "/api/v1/evaluate", edgeDiff+"}", &got); code != tt.want {
			t.Errorf("a token %s: %d; want %d", tt.about, code, tt.want)
		}
		if tt.want != http.StatusOK {
			continue
		}
		var rec wire.EvaluationRecord
		if code := askAs(t, e, tt.token, "GET", "/api/v1/evaluations/"+got.EvaluationID, "", &rec); code != http.StatusOK || got.OverallVerdict != rule.Deny || rec.Audit.Actor == "" {
			t.Errorf("%d, %s, recorded as %+v", code, got.OverallVerdict, rec.Audit)
		}
	}
}
