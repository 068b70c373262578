package api

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// A row that somebody has changed in the database alone is not explained by the next change that is recorded: that change is refused, as long as the row is not as it was.
func TestAChangeDoesNotExplainWhatSomebodyChangedBefore(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		const gates = "/api/v1/environments/production/gates"
		w.call("PUT", gates, fields{"approvals": 1}).want(http.StatusOK)
		w.call("PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 100}}}).want(http.StatusOK)
		waived := into[rule.Waiver](w.call("POST", waiversPath, waiver(w.waived, nil)).want(http.StatusCreated)).ID
		team := into[struct {
			Nodes []fields `json:"nodes"`
		}](w.call("GET", federationPath, nil).want(http.StatusOK)).Nodes[0]["id"].(string)
		suspended := into[wire.Page[rule.Suspension]](w.call("GET", suspensionsPath, nil).want(http.StatusOK)).Items[0].ID
		var bot string
		for _, k := range into[wire.Page[wire.Key]](w.call("GET", keysPath+"?project_id=default", nil).want(http.StatusOK)).Items {
			if k.Name == "bot" {
				bot = k.ID
			}
		}
		admin := []string{`UPDATE api_keys SET role = 'admin' WHERE id = '` + bot + `'`, `UPDATE api_keys SET role = 'evaluator' WHERE id = '` + bot + `'`}
		for _, a := range []struct {
			kind         string
			change, undo string
			method, path string
			body         any
			done         int // once the row is as it was
		}{
			{
				store.RuleInForce, `UPDATE rules SET body = REPLACE(body, '"modality":"MUST_NOT"', '"modality":"MAY"') WHERE slug = 'SEC-1'`,
				`UPDATE rules SET body = REPLACE(body, '"modality":"MAY"', '"modality":"MUST_NOT"') WHERE slug = 'SEC-1'`,
				"PATCH", rulesPath + "/SEC-1",
				fields{"rationale": "It runs text."},
				http.StatusOK,
			},
			{
				store.WaiverInForce, `UPDATE waivers SET expires_at = expires_at + 1000000000000`, `UPDATE waivers SET expires_at = expires_at - 1000000000000`,
				"DELETE", waiversPath + "/" + waived, nil, http.StatusOK,
			},
			{
				store.NodeInForce, `UPDATE nodes SET body = REPLACE(body, 'acme/*', 'other/*')`, `UPDATE nodes SET body = REPLACE(body, 'other/*', 'acme/*')`,
				"PATCH", federationPath + "/" + team,
				fields{"description": "The team."},
				http.StatusOK,
			},
			{
				store.ProjectInForce, `UPDATE projects SET two_person = NOT two_person`, `UPDATE projects SET two_person = NOT two_person`,
				"PATCH", projectsPath + "/default",
				fields{"description": "All of it."},
				http.StatusOK,
			},
			{store.KeyInForce, admin[0], admin[1], "PATCH", keysPath + "/" + bot, fields{"name": "robot"}, http.StatusOK},
			{store.KeyInForce, admin[0], admin[1], "POST", keysPath + "/" + bot + "/rotate", fields{}, http.StatusCreated},
			{store.KeyInForce, admin[0], admin[1], "DELETE", keysPath + "/" + bot, nil, http.StatusNoContent},
			{
				store.SuspensionInForce, `UPDATE suspensions SET agent = 'eve'`, `UPDATE suspensions SET agent = 'mallory'`,
				"POST", suspensionsPath + "/" + suspended + "/lift",
				fields{"reason": "It has a new owner."},
				http.StatusOK,
			},
			{
				store.GatesInForce, `UPDATE release_gates SET body = REPLACE(body, '"approvals":1', '"approvals":0')`,
				`UPDATE release_gates SET body = REPLACE(body, '"approvals":0', '"approvals":1')`, "PUT", gates,
				fields{"approvals": 2},
				http.StatusOK,
			},
			{
				store.RetentionInForce, `UPDATE retention SET body = REPLACE(body, '100', '900')`, `UPDATE retention SET body = REPLACE(body, '900', '100')`,
				"PATCH", retentionPath,
				fields{"kinds": fields{"evaluation": fields{"days": 200}}},
				http.StatusOK,
			},
			{store.RetentionInForce, `DELETE FROM retention`, ``, "PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 300}}}, http.StatusServiceUnavailable},
			{store.GatesInForce, `DELETE FROM release_gates`, ``, "PUT", gates, fields{"approvals": 0}, http.StatusServiceUnavailable},
		} {
			w.tamper(a.change)
			got := string(w.call(a.method, a.path, a.body).want(http.StatusServiceUnavailable).body)
			if !strings.Contains(got, "the "+a.kind+" ") || !strings.Contains(got, "without an entry in its audit log") {
				t.Errorf("%s %s is refused with %s", a.method, a.path, got)
			}
			if problems, err := w.logged.Problems(t.Context(), rule.DefaultProject, a.kind); err != nil || len(problems) == 0 {
				t.Errorf("%s %s has explained what was changed before (%v)", a.method, a.path, err)
			}
			if a.undo != "" {
				w.tamper(a.undo)
			}
			w.call(a.method, a.path, a.body).want(a.done)
		}
	})
}
