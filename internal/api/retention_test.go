package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const (
	retentionPath = "/api/v1/retention"
	holdsPath     = "/api/v1/holds"
)

func TestAMinimumIsShortenedByTwo(t *testing.T) {
	t.Parallel()
	onBoth(t, testAMinimumIsShortenedByTwo)
}

func testAMinimumIsShortenedByTwo(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	first := n.key
	kept := func(r wire.Retention, kind string) wire.KeptKind {
		for _, k := range r.Kinds {
			if k.Kind == kind {
				return k
			}
		}
		t.Fatalf("no %s in %+v", kind, r)
		return wire.KeptKind{}
	}
	change := func(body fields) wire.Retention {
		return into[wire.Retention](n.call("PATCH", retentionPath, body).want(http.StatusOK))
	}
	if r := into[wire.Retention](n.call("GET", retentionPath, nil).want(http.StatusOK)); r.HighRisk || r.Proposal != nil || kept(r, "evaluation").Least != 0 {
		t.Errorf("at first: %+v", r)
	}
	r := change(fields{"high_risk": true, "kinds": fields{"evaluation": fields{"days": 400}, "submission": fields{"minimum_days": 30}}})
	if e := kept(r, "evaluation"); e.Least != 183 || e.Effective != 400 || kept(r, "agent").Least != 183 || kept(r, "submission").Least != 30 {
		t.Errorf("high-risk: %+v", r)
	}
	n.call("PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 100}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "kinds.evaluation.days")
	n.call("PATCH", retentionPath, fields{"kinds": fields{"mail": fields{"days": 100}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "kinds.mail")
	n.call("PATCH", retentionPath, fields{"kinds": fields{"scan": fields{"minimum_days": -1}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "kinds.scan.minimum_days")
	// Longer is free; shorter needs a reason and a second administrator.
	if r := change(fields{"kinds": fields{"evaluation": fields{"minimum_days": 365}}}); kept(r, "evaluation").Least != 365 || r.Proposal != nil {
		t.Errorf("lengthened: %+v", r)
	}
	shorter := fields{"high_risk": false, "kinds": fields{"evaluation": fields{"minimum_days": 10}}}
	n.call("PATCH", retentionPath, shorter).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	shorter["reason"] = "the pilot is over"
	r = change(shorter)
	if r.Proposal == nil || len(r.Proposal.Shortens) != 2 || kept(r, "evaluation").Least != 365 || !r.HighRisk {
		t.Errorf("proposed: %+v", r)
	}
	if p := n.call("POST", retentionPath+"/proposal/confirm", nil).wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(p.Detail, "second administrator") {
		t.Errorf("its author: %s", p.Detail)
	}
	n.key = n.makeKey(auth.Reviewer, store.AllProjects)
	n.call("POST", retentionPath+"/proposal/confirm", nil).want(http.StatusForbidden)
	n.key = n.makeKey(auth.Admin, rule.DefaultProject)
	n.call("DELETE", retentionPath+"/proposal", nil).want(http.StatusOK)
	n.call("POST", retentionPath+"/proposal/confirm", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	second := n.key
	n.key = first
	change(shorter)
	// What was lengthened meanwhile is not shortened by a proposal that does not say so.
	change(fields{"kinds": fields{"submission": fields{"minimum_days": 60}}})
	n.key = second
	if p := n.call("POST", retentionPath+"/proposal/confirm", nil).wantProblem(http.StatusConflict, rule.CodeConflict); !strings.Contains(p.Detail, "submission at least 30 days instead of 60") {
		t.Errorf("a proposal from before a change: %s", p.Detail)
	}
	n.key = first
	change(shorter)
	n.key = second
	r = into[wire.Retention](n.call("POST", retentionPath+"/proposal/confirm", nil).want(http.StatusOK))
	if e := kept(r, "evaluation"); e.Least != 10 || e.Effective != 400 || r.HighRisk || r.Proposal != nil || kept(r, "submission").Least != 60 {
		t.Errorf("confirmed: %+v", r)
	}
	// Null goes back to the setting of the server.
	if r := change(fields{"kinds": fields{"evaluation": fields{"days": nil}}}); kept(r, "evaluation").Effective != 0 || kept(r, "evaluation").Days != nil {
		t.Errorf("the setting of the server: %+v", r)
	}
	list := into[wire.AuditPage](n.call("GET", "/api/v1/audit?kind=project&page_size=50", nil).want(http.StatusOK))
	actions := map[string]int{}
	for _, e := range list.Items {
		actions[e.Action]++
	}
	for action, want := range map[string]int{"retention changed": 4, "shorter retention proposed": 3, "shorter retention withdrawn": 1, "shorter retention confirmed": 1} {
		if actions[action] != want {
			t.Errorf("%d entries %q, want %d", actions[action], action, want)
		}
	}
}

func TestLegalHolds(t *testing.T) {
	t.Parallel()
	onBoth(t, testLegalHolds)
}

func testLegalHolds(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "severity": "HIGH",
		"check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)
	ask := func(repository, scope string) string {
		f := evalFile(2, "eval( y )")
		f["repository"], f["scope"] = repository, scope
		return n.evaluates(f).EvaluationID
	}
	a, b, c := ask("acme/a", "finance/pay"), ask("acme/b", "finance"), ask("acme/c", "sales")
	place := func(f fields) rule.LegalHold {
		f["reason"] = "case 17"
		return into[rule.LegalHold](n.call("POST", holdsPath, f).want(http.StatusCreated))
	}
	n.call("POST", holdsPath, fields{"reason": " "}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	n.call("POST", holdsPath, fields{"reason": "x", "rule": "none"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule")
	one, two := place(fields{"repository": "https://github.com/acme/a"}), place(fields{"rule": "SEC-1", "scope": "finance"})
	if *one.Evaluations != 1 || *two.Evaluations != 2 || two.Rule == "SEC-1" {
		t.Errorf("covered: %d and %d of rule %s", *one.Evaluations, *two.Evaluations, two.Rule)
	}
	rec := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+a, nil).want(http.StatusOK))
	if len(rec.Holds) != 2 || rec.Holds[0].Reason != "case 17" {
		t.Errorf("the record is held by %+v", rec.Holds)
	}
	// Time is over for all, and the jobs delete what no hold covers.
	n.call("PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 1}}}).want(http.StatusOK)
	prune := func() {
		t.Helper()
		past := evaluateArchive(n, func() time.Time { return time.Now().AddDate(0, 0, 3) })
		err := past.Prune(record.Retention{Explained: n.logged.CheckStored})(t.Context(), wire.Job{}, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
	}
	there := func(want ...string) {
		t.Helper()
		for _, id := range []string{a, b, c} {
			code := http.StatusNotFound
			for _, w := range want {
				if w == id {
					code = http.StatusOK
				}
			}
			n.call("GET", evaluationsPath+"/"+id, nil).want(code)
		}
		if r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK)); len(r.Problems) != 0 || int(r.Pruned) != 3-len(want) {
			t.Errorf("verified: %+v", r)
		}
	}
	prune()
	there(a, b)
	// What is held is found as before.
	if l := into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?rule=SEC-1&scope=finance", nil).want(http.StatusOK)); l.Total != 2 {
		t.Errorf("%d held evaluations are found", l.Total)
	}
	n.call("POST", holdsPath+"/"+two.ID+"/lift", fields{"reason": ""}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "reason")
	lifted := into[rule.LegalHold](n.call("POST", holdsPath+"/"+two.ID+"/lift", fields{"reason": "closed"}).want(http.StatusOK))
	if lifted.LiftedAt == nil || lifted.LiftReason != "closed" {
		t.Errorf("lifted: %+v", lifted)
	}
	n.call("POST", holdsPath+"/"+two.ID+"/lift", fields{"reason": "again"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	prune()
	there(a)
	prune()
	there(a)
	list := into[wire.Page[rule.LegalHold]](n.call("GET", holdsPath, nil).want(http.StatusOK))
	if list.Total != 2 || list.Items[0].ID != one.ID || list.Items[1].LiftedBy == "" {
		t.Errorf("list: %+v", list)
	}
	entries := into[wire.AuditPage](n.call("GET", "/api/v1/audit?kind=hold", nil).want(http.StatusOK))
	if entries.Total != 3 || entries.Items[0].Action != "lifted" || entries.Items[0].Reason != "closed" || entries.Items[0].Object.ID != two.ID {
		t.Errorf("entries: %+v", entries.Items)
	}
	// A hold that is removed from the database without an entry is no lifted hold: nothing is deleted.
	n.tampered = true
	if err := n.store.Update(t.Context(), func(tx store.Tx) error { return tx.Retention.Put(t.Context(), rule.DefaultProject, rule.Retention{}) }); err != nil {
		t.Fatal(err)
	}
	past := evaluateArchive(n, func() time.Time { return time.Now().AddDate(9, 0, 0) })
	if err := past.Prune(record.Retention{Records: time.Hour, Explained: n.logged.CheckStored})(t.Context(), wire.Job{}, func(int, int) {}); err == nil {
		t.Error("a job follows a retention that no entry explains")
	}
	n.call("GET", evaluationsPath+"/"+a, nil).want(http.StatusOK)
}

// TestAnyOrderOfHoldsAndRemovals places and lifts holds, records and removes in random orders: the chain always verifies, and exactly what a
// hold in force covers is there.
func TestAnyOrderOfHoldsAndRemovals(t *testing.T) {
	t.Parallel()
	onBoth(t, testAnyOrderOfHoldsAndRemovals)
}

func testAnyOrderOfHoldsAndRemovals(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.call("PATCH", retentionPath, fields{"kinds": fields{"evaluation": fields{"days": 1}}}).want(http.StatusOK)
	random := rand.New(rand.NewPCG(21, 7)) //nolint:gosec // the same orders each time
	type asked struct {
		id, repository string
		gone           bool
	}
	var all []asked
	held := map[string]string{} // id by repository
	for range 60 {
		repository := fmt.Sprintf("acme/r%d", random.IntN(4))
		switch random.IntN(5) {
		case 0, 1:
			f := evalFile(1, "x()")
			f["repository"] = repository
			all = append(all, asked{id: n.evaluates(f).EvaluationID, repository: repository})
		case 2:
			if held[repository] == "" {
				held[repository] = into[rule.LegalHold](n.call("POST", holdsPath, fields{"reason": "r", "repository": repository}).want(http.StatusCreated)).ID
			}
		case 3:
			if id := held[repository]; id != "" {
				n.call("POST", holdsPath+"/"+id+"/lift", fields{"reason": "r"}).want(http.StatusOK)
				delete(held, repository)
			}
		case 4:
			past := evaluateArchive(n, func() time.Time { return time.Now().AddDate(0, 0, 3) })
			if err := past.Prune(record.Retention{})(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			for i := range all {
				all[i].gone = all[i].gone || held[all[i].repository] == ""
			}
		}
	}
	gone := 0
	for _, one := range all {
		code := http.StatusOK
		if one.gone {
			code = http.StatusNotFound
			gone++
		}
		n.call("GET", evaluationsPath+"/"+one.id, nil).want(code)
	}
	r, err := audit.Verify(t.Context(), n.store.Audit, rule.DefaultProject, wire.AuditHead{})
	if err != nil || len(r.Problems) != 0 || int(r.Pruned) != gone || gone == 0 || gone == len(all) {
		t.Errorf("%d of %d are gone: %+v, %v", gone, len(all), r, err)
	}
}

// evaluateArchive returns the records of a node at another time.
// Records lie in parts of a day, which the jobs make ahead and remove as a whole. The chain and packs of what is gone stay as they are where records go one by one.
func TestRecordsInParts(t *testing.T) {
	t.Parallel()
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := newNodeOn(t, s)
	seedEvaluation(n)
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	e := n.judging(nil, func(c *evaluate.Config) { c.Now = now })
	apart := false
	keep := record.Retention{Records: 3 * 24 * time.Hour, Apart: func(context.Context) (bool, error) { return apart, nil }}
	prune := func() {
		t.Helper()
		if err := e.Prune(keep)(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	parts := func(from, until time.Time, want int) {
		t.Helper()
		list, err := s.Parts.List(t.Context())
		if err != nil || len(list) != want || want > 0 && (!list[0].From.Equal(from) || !list[want-1].Until.Equal(until)) {
			t.Errorf("parts %v, %v; want %d from %s until %s", list, err, want, from, until)
		}
	}
	ask := func() string { return n.evaluates(fields{"facts": fields{"amount": 2}}).EvaluationID }
	prune()
	parts(time.Time{}, time.Time{}, 0) // an older server may still run
	apart = true
	prune()
	const day = 24 * time.Hour
	today := now().UTC().Truncate(day)
	parts(today, today.Add(8*day), 8)
	old := ask()
	clock.Add(int64(2 * day))
	young := ask()
	prune()
	parts(today, today.Add(10*day), 10)
	verify := func(pruned int64) {
		t.Helper()
		r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK))
		if len(r.Problems) != 0 || r.Pruned != pruned {
			t.Errorf("report %+v, want %d bodies pruned and no damage", r, pruned)
		}
	}
	verify(0)
	clock.Store(today.Add(3*day + day - time.Minute).UnixNano()) // three days later, but the day is not over
	prune()
	verify(0)
	clock.Add(int64(2 * time.Minute))
	prune()
	verify(1)
	parts(today.Add(day), today.Add(12*day), 11)
	n.call("GET", evaluationsPath+"/"+old, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", evaluationsPath+"/"+young, nil).want(http.StatusOK)
	// Without a limit, those that follow are as long as months.
	keep.Records = 0
	clock.Add(int64(10 * day))
	prune()
	list, err := s.Parts.List(t.Context())
	if last := list[len(list)-1]; err != nil || last.Until.Day() != 1 || !last.Until.After(now().Add(7*day)) {
		t.Errorf("the last part %v, %v; want the end of a month", last, err)
	}
}

func evaluateArchive(n *node, now func() time.Time) *record.Archive {
	s := n.store
	return record.NewArchive(record.Store{
		Updater: s, Audit: s.Audit, Feedback: s.Feedback, Projects: s.Projects, Rules: s.Rules, Retention: s.Retention, Parts: s.Parts, Edges: s.Edges, TestCases: s.TestCases,
	}, newIndex(s), now)
}
