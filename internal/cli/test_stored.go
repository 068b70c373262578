package cli

import (
	"context"
	"fmt"
	"path"
	"strings"

	"tenet/internal/cli/report"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
)

// runStored runs the test cases that are kept with the rules the filter finds.
func (k *testCommand) runStored(ctx context.Context, s *session, c *client.Client) error {
	all, err := c.AllRules(ctx, client.RuleFilter{Tags: k.Tag})
	if err != nil {
		return err
	}
	t := k.newTestRun(s)
	found := 0
	for i := range all {
		r := &all[i]
		if !k.selects(r) {
			continue
		}
		found++
		if r.Tests == nil || r.Tests.Total == 0 {
			continue
		}
		result, err := c.RunTestCases(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", label(r.Slug, r.ID), err)
		}
		for j := range result.Results {
			if err := t.add(outcomeOf(label(r.Slug, r.ID), &result.Results[j])); err != nil {
				return err
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("there is no file and no rule %q", k.Cases)
	}
	return t.conclude()
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

func outcomeOf(name string, c *sandbox.Case) report.Test {
	return report.Test{
		Rule: name, Name: c.Name, Passed: c.LastResult == c.ExpectedVerdict, Want: string(c.ExpectedVerdict), Got: string(c.LastResult), Reason: c.LastReasoning,
	}
}
