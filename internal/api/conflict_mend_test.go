package api

import (
	"net/http"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// clashText is the marked words of a statement, apart by |.
func clashText(side wire.ConflictSide) string {
	marked, all := "", ""
	for _, p := range side.Pieces {
		all += p.Text
		if p.Clash {
			marked += "|" + p.Text
		}
	}
	if all != side.Statement {
		return "pieces that are not the statement: " + all
	}
	return marked
}

func TestMendConflict(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.t = t
		const path = "/api/v1/conflicts"
		for _, r := range []map[string]any{
			{"slug": "PAY-1", "statement": "Invoices must be paid within 14 days.", "severity": "HIGH"},
			{"slug": "PAY-2", "statement": "Invoices must be paid in at most 30 days.", "severity": "LOW"},
			{"slug": "LOG-1", "statement": "Secrets must be logged."},
			{"slug": "LOG-2", "statement": "Secrets must not be logged."},
			{"slug": "TAB-1", "statement": "Indent Python code with tabs."},
			{"slug": "TAB-2", "statement": "Indent Python code with spaces."},
		} {
			r["status"] = "EFFECTIVE"
			n.call("POST", "/api/v1/rules", r).want(http.StatusCreated)
		}
		n.findConflicts()
		list := func(query string) []wire.Conflict {
			t.Helper()
			return into[wire.ConflictPage](n.call("GET", path+query, nil).want(http.StatusOK)).Items
		}
		for query, want := range map[string]int{
			"": 3, "?found_by=limit": 1, "?found_by=model": 0, "?min_confidence=0.9": 1, "?q=secrets": 1, "?q=Set+DIFFERENT": 1, "?q=tab-2&state=suggested": 1,
			"?severity_min=high": 1, "?severity_min=low&q=e&page_size=2&page=2": 1, "?q=nothing": 0, "?q=s&rule_id=LOG-1": 1,
		} {
			if got := list(query); len(got) != want {
				t.Errorf("%s: %d conflicts, want %d", query, len(got), want)
			}
		}
		of := func(slug string) wire.Conflict {
			t.Helper()
			return list("?rule_id=" + slug)[0]
		}
		ruleOf := func(slug string) rule.Rule {
			t.Helper()
			return into[rule.Rule](n.call("GET", "/api/v1/rules/"+slug, nil).want(http.StatusOK))
		}
		mend := func(c wire.Conflict, body map[string]any) *reply {
			t.Helper()
			return n.call("POST", path+"/"+c.ID+"/mend", body)
		}
		mended := func(c wire.Conflict, body map[string]any) wire.MendedConflict {
			t.Helper()
			return into[wire.MendedConflict](mend(c, body).want(http.StatusOK))
		}

		pay := of("PAY-1")
		marks := map[string]string{}
		for _, side := range []wire.ConflictSide{pay.Rule, pay.Other} {
			marks[side.Slug] = clashText(side)
		}
		if marks["PAY-1"] != "|within 14 days" || marks["PAY-2"] != "|at most 30 days" {
			t.Errorf("marks: %v", marks)
		}
		for _, wrong := range []map[string]any{
			{"rule": "PAY-1"},
			{"rule": "LOG-1", "exception": "Refunds."},
			{"rule": "PAY-1", "exception": "Refunds.", "override": true, "reason": "x"},
			{"rule": "PAY-1", "override": true},
			{"rule": "PAY-1", "exception": "Refunds.", "allow_weakening": true},
			{"rule": "PAY-1", "change": map[string]any{"statement": ""}},
			{"rule": "PAY-1", "change": map[string]any{"statement": pay.Rule.Statement, "change_note": "x"}},
			{"rule": "PAY-1", "change": map[string]any{"owner": nil}},
		} {
			mend(pay, wrong).want(http.StatusUnprocessableEntity)
		}
		mend(pay, map[string]any{"rule": "PAY-1", "exception": "Refunds.", "version": 7}).want(http.StatusPreconditionFailed)

		// Tried first, an edit that leaves the contradiction, and one that mends it.
		still := map[string]any{"statement": "Invoices must be paid in at most 21 days."}
		got := mended(pay, map[string]any{"rule": "PAY-2", "change": still, "dry_run": true})
		if got.Outcome != wire.MendOutcomeRemains || got.Reason == "" || len(got.Changes) != 1 || got.Conflict.State != "suggested" {
			t.Errorf("a dry run: %+v", got)
		}
		if r := ruleOf("PAY-2"); r.Version != 1 {
			t.Errorf("a dry run has stored version %d", r.Version)
		}
		got = mended(pay, map[string]any{"rule": "PAY-2", "change": still, "reason": "closer"})
		if got.Outcome != wire.MendOutcomeRemains || got.Conflict.State != "suggested" || ruleOf("PAY-2").ChangeNote != "closer" {
			t.Errorf("an edit that is not enough: %+v", got)
		}
		got = mended(pay, map[string]any{"rule": "PAY-2", "change": map[string]any{"statement": "Invoices must be paid in at most 14 days."}, "reason": "as PAY-1 says"})
		if got.Outcome != wire.MendOutcomeMended || got.Reason != "" || got.Conflict.State != "closed" || got.Conflict.Note != "changed PAY-2: as PAY-1 says" {
			t.Errorf("an edit: %+v", got)
		}
		mend(pay, map[string]any{"rule": "PAY-2", "exception": "Refunds."}).want(http.StatusConflict)

		// An override of a confirmed conflict: its relationship goes.
		log := of("LOG-1")
		n.call("POST", path+"/"+log.ID+"/confirm", map[string]any{}).want(http.StatusOK)
		n.call("PATCH", "/api/v1/rules/LOG-2", map[string]any{"severity": "LOW"}).want(http.StatusOK)
		body := map[string]any{"rule": "LOG-2", "override": true, "reason": "privacy"}
		mend(log, body).want(http.StatusConflict)
		body["dry_run"] = true
		if got := mended(log, body); len(got.Weakens) == 0 || got.Outcome != wire.MendOutcomeMended {
			t.Errorf("a dry run of an override: %+v", got)
		}
		delete(body, "dry_run")
		body["allow_weakening"] = true
		if got := mended(log, body); got.Conflict.State != "closed" || got.Conflict.RelationshipID != "" {
			t.Errorf("an override: %+v", got)
		}
		rels := into[wire.Page[rule.Relationship]](n.call("GET", "/api/v1/rules/LOG-1/relationships", nil).want(http.StatusOK))
		if rels.Total != 1 || rels.Items[0].Kind != rule.Overrides || rels.Items[0].Reason != "privacy" {
			t.Errorf("relationships: %+v", rels)
		}

		// In a project of two people a change waits, and the conflict with it.
		n.call("PATCH", "/api/v1/projects/default", map[string]any{"two_person_approval": true}).want(http.StatusOK)
		tab := of("TAB-1")
		body = map[string]any{"rule": "TAB-2", "exception": "What TAB-1 is about."}
		for _, dry := range []bool{true, false} {
			body["dry_run"] = dry
			if got := mended(tab, body); got.Outcome != wire.MendOutcomeWaits || (got.Revision == 0) != dry || got.Conflict.State != "suggested" || len(got.Changes) != 1 {
				t.Errorf("an exception that waits, tried %v: %+v", dry, got)
			}
		}
		n.call("PATCH", "/api/v1/projects/default", map[string]any{"two_person_approval": false}).want(http.StatusOK)
		if got := mended(tab, map[string]any{"rule": tab.Rule.ID, "exception": "What " + tab.Other.Slug + " is about."}); got.Outcome != wire.MendOutcomeMended || got.Conflict.State != "closed" {
			t.Errorf("an exception: %+v", got)
		}
		n.findConflicts()
		if open := list("?state=suggested"); len(open) != 0 {
			t.Errorf("found again: %+v", open)
		}
	})
}
