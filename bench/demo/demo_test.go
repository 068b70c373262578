package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func quiet(string, ...any) {}

// TestYear makes a small year, and looks whether every screen of a console would have something to show.
func TestYear(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	o := options{data: dir, evaluations: 200, seed: 1, end: time.Now(), report: quiet}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o); err != nil {
		t.Errorf("running again, with the database there: %v", err)
	}
	y := newYear(o)
	if err := y.open(t.Context(), dir, nil, app.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = y.app.Stop(context.WithoutCancel(t.Context())) })
	c := y.as("test")
	count := func(what string, want, total int, err error) {
		t.Helper()
		if err != nil || total < want {
			t.Errorf("%d %s (%v), want %d or more", total, what, err, want)
		}
	}
	evaluations := func(what string, want int, f client.EvaluationFilter) {
		t.Helper()
		page, err := c.Evaluations(t.Context(), f)
		count("evaluations "+what, want, page.Total, err)
	}
	evaluations("in all", o.evaluations, client.EvaluationFilter{})
	evaluations("that are old", 10, client.EvaluationFilter{Until: o.end.AddDate(0, -10, 0)})
	evaluations("that deny", 5, client.EvaluationFilter{Verdict: "DENY"})
	evaluations("to be confirmed", 2, client.EvaluationFilter{Verdict: "NEEDS_CONFIRMATION"})
	evaluations("of code", 10, client.EvaluationFilter{SubjectKind: wire.CodeChange, Repository: "acme/platform-web"})
	evaluations("of finance", 50, client.EvaluationFilter{Scope: "finance"})
	rules, err := client.Get(t.Context(), c, op.ListRules)
	count("rules", allRules, rules.Total, err)
	review, err := client.Get(t.Context(), c, op.ListRules.Where(client.RuleFilter{Status: rule.Review}))
	count("rules in review", 5, review.Total, err)
	tree, err := client.Get(t.Context(), c, op.ListNodes)
	count("teams", 3, len(tree.Nodes[0].Children), err)
	conflicts, err := client.Get(t.Context(), c, op.ListConflicts)
	count("conflicts", 2, conflicts.Total, err)
	alerts, err := client.Get(t.Context(), c, op.ListAlerts)
	count("alerts", 2, alerts.Total, err)
	scans, err := client.Get(t.Context(), c, op.ListScans)
	count("scans", 1, scans.Total, err)
	waivers, err := client.Get(t.Context(), c, op.ListWaivers)
	count("waivers", 2, waivers.Total, err)
	snapshots, err := client.Get(t.Context(), c, op.ListSnapshots)
	count("snapshots", 12, snapshots.Total, err)
	production, err := client.Get(t.Context(), c, op.GetEnvironment.At("production"))
	count("deployments, with a rollback", 12, len(production.History), err)
	queried := wire.ApprovalQuery{States: []string{"pending"}}
	approvals, err := client.Get(t.Context(), c, op.ListApprovals.Where(queried))
	count("approvals that wait", 3, approvals.Total, err)
	queried.States = []string{"used"}
	approvals, err = client.Get(t.Context(), c, op.ListApprovals.Where(queried))
	count("approvals that were used", 12, approvals.Total, err)
	agents, err := client.Get(t.Context(), c, op.ListActing)
	count("agents", 3, agents.Total, err)
	keys, err := client.Get(t.Context(), c, op.ListKeys)
	count("keys", 4, keys.Total, err)
	if _, open, err := y.app.Rules(t.Context()); err != nil || open {
		t.Errorf("the console needs a key: %v, %v", open, err)
	}
	fleet, err := client.Get(t.Context(), c, op.ListFleet)
	count("edges", 3, fleet.Total, err)
	holds, err := client.Get(t.Context(), c, op.ListHolds)
	count("legal holds", 2, holds.Total, err)
	webhooks, err := client.Get(t.Context(), c, op.ListPolicies)
	count("webhooks", 3, webhooks.Total, err)
	simulations, err := client.Get(t.Context(), c, op.ListSimulations)
	count("simulations", 1, simulations.Total, err)
	waiting, err := client.Get(t.Context(), c.InProject(warehouse), op.ListRuleRevisions.At("SHIP-002"))
	count("revisions that wait", 1, len(waiting.Items), err)
	report, err := client.Get(t.Context(), c, op.VerifyAudit)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the chain: %+v, %v", report.Problems, err)
	}
}

// TestEqualSeeds checks that equal seeds ask the same questions and get the same answers.
func TestEqualSeeds(t *testing.T) {
	t.Parallel()
	live := func(seed uint64) (map[rule.Verdict]int, string) {
		y := newYear(options{evaluations: 48, seed: seed, end: time.Now(), report: quiet})
		if err := y.open(t.Context(), t.TempDir(), nil, app.Options{Now: y.clock}); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = y.app.Stop(context.WithoutCancel(t.Context())) }()
		if err := y.past(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := y.as("test").Evaluations(t.Context(), client.EvaluationFilter{Words: "pmt"})
		return y.verdicts, fmt.Sprint(page.Total, len(y.denials), y.waivers, err)
	}
	first, firstPayments := live(7)
	again, againPayments := live(7)
	if !maps.Equal(first, again) || firstPayments != againPayments {
		t.Errorf("one seed: %v with %s, then %v with %s", first, firstPayments, again, againPayments)
	}
}
