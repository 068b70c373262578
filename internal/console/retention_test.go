package console_test

import (
	"net/http"
	"testing"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

const retentionPath = "/p/default/operations/retention"

// An administrator changes times, a second one confirms a shorter minimum, and holds are placed and lifted, all by forms.
func TestRetentionIsChanged(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.signedIn(n.key("first", "admin", "default"))
	shows(t, v.get(retentionPath), http.StatusOK, "Records of evaluations", "There is no legal hold.")
	shows(t, v.post(retentionPath, "do", "times", "days-evaluation", "400", "minimum-evaluation", "365"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "400 days", "365 days", `value="400"`)
	shows(t, v.post(retentionPath, "do", "times", "days-evaluation", "many"), http.StatusUnprocessableEntity, "This is not a number of days", `value="many"`)
	shows(t, v.post(retentionPath, "do", "times", "days-evaluation", "400", "minimum-evaluation", "30"), http.StatusUnprocessableEntity, "i-reason-wrong")
	shows(t, v.post(retentionPath, "do", "times", "days-evaluation", "400", "minimum-evaluation", "30", "reason", "<b>agreed</b>"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "365 days", "at least 30 days instead of 365", "&lt;b&gt;agreed")
	shows(t, v.post(retentionPath, "do", "confirm"), http.StatusConflict, "second administrator")
	shows(t, n.signedIn(n.key("second", "admin", "default")).post(retentionPath, "do", "confirm"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "30 days")

	shows(t, v.post(retentionPath, "do", "place", "reason", "case <17>", "repository", "acme/a", "since", "2026-13-01"), http.StatusUnprocessableEntity, "Write a date", `value="acme/a"`)
	shows(t, v.post(retentionPath, "do", "place", "reason", "case <17>", "repository", "acme/a", "since", "2026-01-01"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "case &lt;17&gt;", "repository acme/a, from 2026-01-01", "in force")
	holds, err := client.Get(t.Context(), n.api, op.ListHolds.Where(wire.PageQuery{Page: 1, PageSize: 10}))
	if err != nil || len(holds.Items) != 1 {
		t.Fatalf("%+v, %v", holds, err)
	}
	shows(t, v.post(retentionPath, "do", "lift", "id", holds.Items[0].ID, "reason", "closed"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "lifted")

	shows(t, v.get(retentionPath), http.StatusOK, "names no personal data")
	shows(t, v.post(retentionPath, "do", "personal", "people", "customer", "fields", "facts.customer"), http.StatusUnprocessableEntity, "personal-i-people-wrong", `value="customer"`)
	shows(t, v.post(retentionPath, "do", "personal", "people", "facts.customer.id", "fields", "facts.customer action"), http.StatusSeeOther)
	shows(t, v.get(retentionPath), http.StatusOK, "action, facts.customer, facts.customer.id", "Delete the personal data for good")
	shows(t, v.post(retentionPath, "do", "forget", "person", "<b>nobody</b>", "reason", "request 1"), http.StatusUnprocessableEntity, "&lt;b&gt;nobody", "No record holds data")
	shows(t, v.post(retentionPath, "do", "forget", "person", "", "reason", ""), http.StatusUnprocessableEntity, "forget-i-reason-wrong")

	reviewer := n.signedIn(n.key("re", "reviewer", "default"))
	shows(t, reviewer.get(retentionPath), http.StatusForbidden)
	shows(t, reviewer.post(retentionPath, "do", "place", "reason", "x"), http.StatusForbidden)
}

// privacyScreens names the personal data of the project guild.
func privacyScreens(n *node) []screen {
	const path = "/p/guild/operations/retention"
	if a := n.visitor().post(path, "do", "personal", "people", "facts.customer.id", "fields", "facts.customer action"); a.status != http.StatusSeeOther {
		n.t.Fatalf("status %d", a.status)
	}
	return []screen{{"personal data", path, "Retention", []string{"Records hold encrypted: action, facts.customer, facts.customer.id", "Person to forget", "Delete the personal data for good", "Name personal data"}}}
}
