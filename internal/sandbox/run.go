package sandbox

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// side is how many cases are tried side by side. The judge has a limit of its own, which is for calls.
const side = 64

// Run tries all test cases of a rule and keeps the results; not_found without the rule. If ctx ends first, nothing is kept.
func (b *Sandbox) Run(ctx context.Context, projectID, ref string) (wire.Report, error) {
	r, err := b.cfg.Store.Rules.Get(ctx, projectID, ref)
	if err != nil {
		return wire.Report{}, err
	}
	return b.runRule(ctx, &r)
}

// runRule tries all test cases of a rule on one of its versions, and keeps the results.
func (b *Sandbox) runRule(ctx context.Context, r *rule.Rule) (wire.Report, error) {
	cases, err := b.cfg.Store.TestCases.List(ctx, r.ProjectID, r.ID)
	if err != nil {
		return wire.Report{}, err
	}
	if err := b.tryAll(ctx, r, cases); err != nil {
		return wire.Report{}, err
	}
	if len(cases) > 0 {
		if err := b.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.TestCases.PutResults(ctx, cases) }); err != nil {
			return wire.Report{}, err
		}
	}
	return reportOf(r, cases), nil
}

// Confirmed tries the test cases that people stand by.
type Confirmed struct{ Sandbox *Sandbox }

// TryConfirmed tries the test cases of a rule that a person stands by on r, which may say something else than the rule does now. It stores
// nothing, and returns how many there are and how many have passed.
func (f Confirmed) TryConfirmed(ctx context.Context, r rule.Rule) (total, passing int, err error) {
	b := f.Sandbox
	cases, err := b.cfg.Store.TestCases.List(ctx, r.ProjectID, r.ID)
	if err != nil {
		return 0, 0, err
	}
	cases = slices.DeleteFunc(cases, func(c store.TestCase) bool { return !c.Confirmed })
	if err := b.tryAll(ctx, &r, cases); err != nil {
		return 0, 0, err
	}
	for i := range cases {
		if cases[i].LastResult == cases[i].Expected {
			passing++
		}
	}
	return len(cases), passing, nil
}

func reportOf(r *rule.Rule, cases []store.TestCase) wire.Report {
	report := wire.Report{Total: len(cases), Results: make([]wire.Case, len(cases))}
	hash := r.ContentHash()
	for i := range cases {
		report.Results[i] = caseOf(&cases[i], hash)
		if cases[i].LastResult == cases[i].Expected {
			report.Passing++
		}
	}
	report.Failing = report.Total - report.Passing
	return report
}

// tryAll tries cases on a rule, side by side, and puts the results into them.
func (b *Sandbox) tryAll(ctx context.Context, r *rule.Rule, cases []store.TestCase) error {
	hash, now := r.ContentHash(), b.instant()
	all, trying := errgroup.WithContext(ctx)
	all.SetLimit(side)
	for i := range cases {
		all.Go(func() error {
			if err := trying.Err(); err != nil {
				return err
			}
			b.tryCase(trying, r, &cases[i])
			cases[i].LastVersion, cases[i].LastHash, cases[i].LastRunAt = r.Version, hash, &now
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// tryCase tries one case. What cannot be tried has not passed, and says why.
func (b *Sandbox) tryCase(ctx context.Context, r *rule.Rule, c *store.TestCase) {
	trial, err := b.trial(ctx, r, c.SampleInput, c.InputType)
	if err != nil {
		c.LastResult, c.LastReasoning, c.LastDecidedBy, c.LastModel = string(rule.NeedsConfirmation), reason(err), string(rule.ByNone), ""
		return
	}
	c.LastResult, c.LastReasoning = string(trial.Raw), storable(trial.Verdict.Reasoning)
	c.LastDecidedBy, c.LastModel = string(trial.Verdict.DecidedBy), strings.Join(trial.Models, ", ")
}

func (b *Sandbox) trial(ctx context.Context, r *rule.Rule, text, inputType string) (rule.Trial, error) {
	s, err := ParseSample(text, inputType)
	if err != nil {
		return rule.Trial{}, err
	}
	in, err := s.input(r)
	if err != nil {
		return rule.Trial{}, err
	}
	return b.cfg.Evaluator.Try(ctx, *r, in, true)
}

// maxReasoning bounds the reasoning that is kept, in bytes.
const maxReasoning = 4000

func storable(text string) string {
	if len(text) > maxReasoning {
		text = text[:maxReasoning]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
}

// Count gives rules of a project their Tests, and the Findings of what makes them hard to judge.
func (b *Sandbox) Count(ctx context.Context, projectID string, rules []rule.Rule) error {
	ids := make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
	}
	counts, err := b.cfg.Store.TestCases.Count(ctx, projectID, ids)
	if err != nil {
		return err
	}
	contradictory, err := b.cfg.Store.TestCases.Contradictory(ctx, projectID, ids)
	if err != nil {
		return err
	}
	byRule := make(map[string][]store.TestCount, len(rules))
	for _, c := range counts {
		byRule[c.RuleID] = append(byRule[c.RuleID], c)
	}
	for i := range rules {
		r := &rules[i]
		var cases lint.Cases
		r.Tests, cases = sum(byRule[r.ID], r.ContentHash())
		cases.Contradictory = slices.Contains(contradictory, r.ID)
		r.Findings = lint.Rule(r, cases)
	}
	return nil
}

// sum adds up the counts of the test cases of a rule. hash is that of what it says now.
func sum(counts []store.TestCount, hash string) (*rule.Tests, lint.Cases) {
	tests, cases := &rule.Tests{}, lint.Cases{}
	for i := range counts {
		c := &counts[i]
		if i == 0 {
			cases.Verdict = rule.Verdict(c.Expected)
		} else if string(cases.Verdict) != c.Expected {
			cases.Verdict = ""
		}
		tests.Total += c.Total
		if c.LastHash == hash {
			tests.Passing += c.Passing()
		}
		if c.LastRunAt != nil && (tests.LastRunAt == nil || tests.LastRunAt.Before(*c.LastRunAt)) {
			tests.LastRunAt = c.LastRunAt
		}
	}
	cases.Total = tests.Total
	return tests, cases
}
