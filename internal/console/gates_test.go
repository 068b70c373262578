package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire/op"
)

const gatesPath = "/p/default/releases/environments/staging/gates"

// An administrator changes the gates of an environment by a form; what was typed wrong comes back.
func TestGatesAreChanged(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	shows(t, v.post(gatesPath, "approvals", "2", "max_risk", "medium", "tests_pass", "true",
		"from", "2026-12-24T00:00", "until", "2027-01-02T06:30", "reason", "<b>Holidays</b>", "from", "", "until", "", "reason", ""), http.StatusSeeOther)
	gates, err := client.Get(t.Context(), n.api, op.GetGates.At("staging"))
	if err != nil {
		t.Fatal(err)
	}
	if gates.Approvals != 2 || gates.MaxRisk != "medium" || !gates.TestsPass || len(gates.Freezes) != 1 ||
		!gates.Freezes[0].Until.Equal(time.Date(2027, 1, 2, 6, 30, 0, 0, time.UTC)) || gates.Freezes[0].Reason != "<b>Holidays</b>" {
		t.Fatalf("stored: %+v", gates)
	}
	shows(t, v.get(gatesPath), http.StatusOK, `value="2"`, `value="medium" selected`, ` checked`, `value="2026-12-24T00:00"`, "&lt;b&gt;Holidays", `id="from2"`)
	shows(t, v.post(gatesPath, "approvals", "many", "max_risk", "", "from", "2026-12-24T00:00", "until", "2026-12-23T00:00", "reason", "kept"),
		http.StatusUnprocessableEntity, "This is not a number", "Freeze 1 ends before it begins", `value="kept"`, `value="many"`)
	shows(t, v.post(gatesPath, "approvals", "11"), http.StatusUnprocessableEntity, `value="11"`, `id="i-approvals-wrong"`)
	shows(t, v.post(gatesPath), http.StatusSeeOther)
	if gates, err = client.Get(t.Context(), n.api, op.GetGates.At("staging")); err != nil || gates.Approvals != 0 || len(gates.Freezes) != 0 || gates.TestsPass {
		t.Errorf("taken away: %+v, %v", gates, err)
	}
	shows(t, v.get("/p/default/releases/environments/moon/gates"), http.StatusNotFound)

	reviewer := n.signedIn(n.key("re", "reviewer", "default"))
	shows(t, reviewer.get(gatesPath), http.StatusForbidden)
	shows(t, reviewer.post(gatesPath, "approvals", "0"), http.StatusForbidden)
	if a := reviewer.get("/p/default/releases"); a.status != http.StatusOK || strings.Contains(a.body, gatesPath) {
		t.Error("a reviewer is offered to change gates")
	}
}
