package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// runStored runs the test cases that are kept with the rules the filter finds.
func (k *testCommand) runStored(ctx context.Context, s *session, c *client.Client) error {
	found, total, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	t := k.newTestRun(s, total)
	defer t.end()
	for i := range found {
		r := &found[i]
		if r.Tests == nil || r.Tests.Total == 0 {
			continue
		}
		result, err := client.Get(ctx, c, op.RunTestCases.At(r.ID))
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(r.Slug, r.ID), err)
		}
		for j := range result.Results {
			if err := t.add(outcomeOf(cmp.Or(r.Slug, r.ID), &result.Results[j])); err != nil {
				return err
			}
		}
	}
	return t.conclude()
}

// find finds the rules that the filter names, and counts their test cases.
func (k *testCommand) find(ctx context.Context, c *client.Client) (found []rule.Rule, cases int, err error) {
	all, err := c.AllRules(ctx, client.RuleFilter{Tags: k.Tag})
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		if !k.selects(&all[i]) {
			continue
		}
		found = append(found, all[i])
		if all[i].Tests != nil {
			cases += all[i].Tests.Total
		}
	}
	if len(found) == 0 {
		return nil, 0, fmt.Errorf("there is no file and no rule %q", k.Cases)
	}
	return found, cases, nil
}

// runSnapshot runs the test cases on the rules as they are in a snapshot.
func (k *testCommand) runSnapshot(ctx context.Context, s *session, c *client.Client) error {
	id, err := findSnapshot(ctx, c, k.Snapshot)
	if err != nil {
		return err
	}
	filter := wire.RunFilter{SnapshotID: id, Tags: k.Tag}
	if k.Cases != "" {
		found, _, err := k.find(ctx, c)
		if err != nil {
			return err
		}
		for i := range found {
			filter.RuleIDs = append(filter.RuleIDs, found[i].ID)
		}
	}
	run, err := client.Call(ctx, c, op.StartTestRun, filter)
	if err != nil {
		return err
	}
	run, err = await(ctx, s, "testing", run, func() (wire.TestRun, error) { return client.Get(ctx, c, op.GetTestRun.At(run.ID)) },
		func(r *wire.TestRun) (string, wire.Progress) { return r.State, r.Progress })
	switch {
	case err != nil:
		return err
	case run.Result == nil:
		return fmt.Errorf("the test run has %s: %s", run.State, run.Error)
	case run.Result.Total == 0:
		return fmt.Errorf("the rules of snapshot %s have no test cases", id)
	case k.Format == "json":
		err = (&testRun{s: s, k: k}).write(func(w io.Writer) error { return printJSON(w, run.Result) })
	default:
		err = paged(s, func() error { return printRun(s, run.Result) })
	}
	if err == nil && run.Result.Failing > 0 {
		return exit(exitFound)
	}
	return err
}

// printRun sums up a run over many rules.
func printRun(s *session, r *wire.RunResult) error {
	for i := range r.Failures {
		o := &r.Failures[i]
		if _, err := fmt.Fprintf(s.out, "%s %s: %s\n  want %s, got %s\n  %s\n", s.red("FAIL"), s.bold(o.RuleID), line(o.Name), o.ExpectedVerdict,
			o.Result(), line(o.LastReasoning)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.out, "%s of %s: %d passed, %d failed\n", amount(r.Total, "case"), amount(r.Rules, "rule"), r.Passing, r.Failing)
	return err
}

// selects reports whether the filter names a rule. Retired rules must be named by their id.
func (k *testCommand) selects(r *rule.Rule) bool {
	if strings.EqualFold(k.Cases, r.ID) {
		return true
	}
	if r.Status == rule.Retired || r.Status == rule.Superseded {
		return false
	}
	matches, err := path.Match(k.Cases, r.Slug)
	return k.Cases == "" || (err == nil && matches)
}

func outcomeOf(name string, c *wire.Case) report.Test {
	return report.Test{
		Rule: name, Name: c.Name, Passed: c.Result() == c.ExpectedVerdict, Want: string(c.ExpectedVerdict), Got: string(c.Result()), Reason: c.LastReasoning,
	}
}
