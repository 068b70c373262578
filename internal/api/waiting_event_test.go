package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// sent returns the types of the events of a project's policy, oldest first.
func (n *node) sent(projectID, policyID string) (types []string) {
	n.t.Helper()
	list, _, err := n.store.Deliveries.Find(n.t.Context(), store.DeliveryFilter{ProjectID: projectID, PolicyID: policyID, Limit: 100})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, d := range slices.Backward(list) {
		types = append(types, string(d.EventType))
	}
	return types
}

// What begins to wait for a person is an event, once, and only if the change that it belongs to is made.
func TestEventsForWhatWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		ann, bob := n.inForce()
		by := func(key, method, target string, body any) *reply {
			t.Helper()
			return n.call(method, target+"?project_id=bank", body, "Authorization", "Bearer "+key)
		}
		admin := n.namedKey("root", "admin", "bank")
		policy := into[wire.PolicyWithSecret](by(admin, "POST", policiesPath, fields{"name": "all", "url": "http://127.0.0.1:9/", "event_types": rule.EventTypes}).want(http.StatusCreated))
		want := func(events ...string) {
			t.Helper()
			got := n.sent("bank", policy.ID)
			if !slices.Equal(got, events) {
				t.Fatalf("events %q, want %q", got, events)
			}
		}
		by(ann, "POST", rulesPath, fields{"slug": "NEW-1", "statement": "Say why."}).want(http.StatusCreated)
		want()
		by(ann, "POST", rulesPath+"/NEW-1/transitions", fields{"to": "REVIEW"}).want(http.StatusOK)
		want("rule.submitted")
		by(ann, "POST", rulesPath+"/NEW-1/transitions", fields{"to": "EFFECTIVE"}).wantProblem(http.StatusConflict, rule.CodeConflict)
		by(ann, "POST", rulesPath+"/import", fields{"rules": []any{fields{"slug": "NEW-2", "statement": "Say when.", "status": "REVIEW"}, fields{"slug": "NEW-3", "statement": "Say who."}}}).want(http.StatusOK)
		want("rule.submitted", "rule.submitted")
		by(ann, "PATCH", rulesPath+"/PAY-1", fields{"statement": "Pay early."}).want(http.StatusOK)
		by(bob, "POST", rulesPath+"/PAY-1/pending/1/approve", `{}`).want(http.StatusOK)
		by(ann, "PATCH", rulesPath+"/PAY-1", fields{"statement": "Pay late.", "change_note": "why not"}).want(http.StatusOK)
		by(bob, "POST", rulesPath+"/PAY-1/pending/2/reject", fields{"note": "no"}).want(http.StatusOK)
		by(ann, "POST", "/api/v1/waivers", fields{
			"rule_id": "PAY-1", "fingerprint": strings.Repeat("a", 64), "reason": "until the patch", "expires_at": time.Now().Add(48 * time.Hour).Format(time.RFC3339),
		}).want(http.StatusCreated)
		by(ann, "POST", "/api/v1/snapshots", fields{"name": "before gates"}).want(http.StatusCreated)
		by(admin, "PUT", "/api/v1/environments/production/gates", fields{"approvals": 2}).want(http.StatusOK)
		by(ann, "POST", "/api/v1/snapshots", fields{"name": "May"}).want(http.StatusCreated)
		want("rule.submitted", "rule.submitted", "revision.proposed", "revision.approved", "revision.proposed", "revision.rejected", "waiver.requested", "snapshot.approval_requested")
	})
}
