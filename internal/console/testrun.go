package console

import (
	"context"
	"slices"

	"github.com/a-h/templ"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// testRun is the view of a run of the test cases of a rule.
type testRun struct {
	wire.TestRun

	rule  rule.Rule
	cases []wire.Case // once it has ended
}

// startTests runs the test cases of a rule in the background, and leads to the page of the run.
func startTests(p *page) error {
	current, err := client.Get(p.ctx, p.api, op.GetRule.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	run, err := client.Call(p.ctx, p.api, op.StartTestRun, wire.RunFilter{RuleIDs: []string{current.ID}})
	if err != nil {
		return err
	}
	return p.redirect(p.at("rules", current.ID, "tests", run.ID))
}

// readTestRun reads the run that an address names; it is not found under another rule.
func readTestRun(ctx context.Context, p *page) (v testRun, err error) {
	if v.rule, err = client.Get(ctx, p.api, op.GetRule.At(p.r.PathValue("id"))); err != nil {
		return v, err
	}
	if v.TestRun, err = client.Get(ctx, p.api, op.GetTestRun.At(p.r.PathValue("run"))); err != nil {
		return v, err
	}
	if !slices.Contains(v.Filter.RuleIDs, v.rule.ID) {
		return v, rule.NotFound("test run", v.ID)
	}
	if v.ended() {
		v.cases, err = client.Get(ctx, p.api, op.ListTestCases.At(v.rule.ID))
	}
	return v, err
}

// ended reports whether the run will not change any more.
func (v *testRun) ended() bool { return v.State != "queued" && v.State != "running" }

// testRunPage shows a run, live until it has ended.
func testRunPage(p *page) error {
	v, err := readTestRun(p.ctx, p)
	if err != nil {
		return err
	}
	return p.show(head{Title: v.rule.Label() + ", test run", Nav: "rules"}, testRunView(p, &v))
}

// liveTestRun streams the state of a run to its page, until it has ended.
func liveTestRun(p *page) error {
	ended := false
	return streamUntil(p, &ended, func(ctx context.Context) (templ.Component, error) {
		v, err := readTestRun(ctx, p)
		ended = err == nil && v.ended()
		return testRunState(p, &v), err
	})
}

// failing counts the cases that do not pass.
func (v *testRun) failing() int {
	n := 0
	for _, c := range v.cases {
		if c.Passing != nil && !*c.Passing {
			n++
		}
	}
	return n
}
