package sandbox

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// RunKind is the kind of the jobs that run the test cases of many rules.
const RunKind = "tests.run"

// Snapshots gives the rules of snapshots.
type Snapshots interface {
	// View returns the view of a snapshot, or not_found.
	View(ctx context.Context, projectID, id string) (*corpus.View, error)
}

func normalizeFilter(f *wire.RunFilter) error {
	var p rule.Problems
	if f.Status != "" {
		parsed, ok := rule.Parse(string(f.Status), rule.Statuses)
		if !ok {
			p.Add("status", "is %q; use one of %s", string(f.Status), rule.Names(rule.Statuses))
		}
		f.Status = parsed
	}
	if f.Severity != "" {
		parsed, ok := rule.Parse(string(f.Severity), rule.Severities)
		if !ok {
			p.Add("severity", "is %q; use one of %s", string(f.Severity), rule.Names(rule.Severities))
		}
		f.Severity = parsed
	}
	f.Scope = rule.CleanScope(f.Scope)
	return p.Err("the filter is invalid")
}

func matches(f *wire.RunFilter, r *rule.Rule) bool {
	if len(f.RuleIDs) > 0 && !slices.ContainsFunc(f.RuleIDs, func(ref string) bool { return names(ref, r) }) {
		return false
	}
	if f.Status == "" && len(f.RuleIDs) == 0 && (r.Status == rule.Retired || r.Status == rule.Superseded) {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.Contains(r.Tags, tag) {
			return false
		}
	}
	return (f.Status == "" || f.Status == r.Status) && (f.Severity == "" || f.Severity == r.Severity) && rule.ScopeFinds(r.Scope, f.Scope)
}

// names reports whether ref is the id of a rule, or its slug while it is not retired.
func names(ref string, r *rule.Rule) bool {
	return strings.EqualFold(ref, r.ID) || (ref == r.Slug && r.Status != rule.Retired)
}

// maxFailures bounds the failing cases that the result of a run shows.
const maxFailures = 100

// StartRun asks for a run over the rules that a filter finds. It goes on in the background. The error is invalid for a bad
// filter, not_found without the project.
func (b *Sandbox) StartRun(ctx context.Context, projectID string, f wire.RunFilter) (wire.TestRun, error) {
	if err := normalizeFilter(&f); err != nil {
		return wire.TestRun{}, err
	}
	view, err := viewOf(ctx, &b.cfg, projectID, f.SnapshotID)
	if err != nil {
		return wire.TestRun{}, err
	}
	if err := requireRules(view, f.RuleIDs); err != nil {
		return wire.TestRun{}, err
	}
	run, err := b.runs.Start(ctx, projectID, auth.ActorFrom(ctx).Name, f)
	return testRunOf(run), err
}

func testRunOf(r job.Run[wire.RunFilter, wire.RunResult]) wire.TestRun {
	if r.Result != nil {
		r.Progress = wire.Progress{Done: r.Result.Rules, Total: r.Result.Rules}
	}
	return wire.TestRun{
		ID: r.ID, JobID: r.JobID, State: r.State, Progress: r.Progress, Filter: r.Request, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
		FinishedAt: r.FinishedAt, Error: r.Error, Result: r.Result,
	}
}

// viewOf returns the live view of a project, or that of a snapshot.
func viewOf(ctx context.Context, cfg *Config, projectID, snapshotID string) (*corpus.View, error) {
	if snapshotID != "" {
		return cfg.Snapshots.View(ctx, projectID, snapshotID)
	}
	return cfg.Views.View(ctx, projectID)
}

// requireRules returns not_found for the first of refs that names no rule: a run over nothing must not pass for one that passes.
func requireRules(view *corpus.View, refs []string) error {
	if len(refs) == 0 {
		return nil
	}
	missing := slices.Clone(refs)
	for e := range view.All() {
		missing = slices.DeleteFunc(missing, func(ref string) bool { return names(ref, e.Rule) })
	}
	if len(missing) > 0 {
		return rule.NotFound("rule", missing[0])
	}
	return nil
}

// GetRun returns a run as far as it has come, or not_found.
func (b *Sandbox) GetRun(ctx context.Context, projectID, id string) (wire.TestRun, error) {
	run, err := b.runs.Get(ctx, projectID, id)
	return testRunOf(run), err
}

// HandleRun is the handler of the jobs of [RunKind].
func (b *Sandbox) HandleRun(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	return b.runs.Handle(ctx, j, progress)
}

// runAll runs the test cases of all rules that a filter finds. Results are kept rule by rule, so that a run that is
// interrupted loses none, and begins again.
func (b *Sandbox) runAll(ctx context.Context, projectID string, f wire.RunFilter, progress func(done, total int)) (wire.RunResult, error) {
	rules, err := b.rulesWithTests(ctx, projectID, &f)
	if err != nil {
		return wire.RunResult{}, err
	}
	result := wire.RunResult{Rules: len(rules), Failures: []wire.Case{}}
	for i, r := range rules {
		progress(i, len(rules))
		report, err := b.runRule(ctx, r)
		if err != nil {
			return result, err
		}
		addReport(&result, &report)
	}
	progress(len(rules), len(rules))
	return result, nil
}

func addReport(t *wire.RunResult, r *wire.Report) {
	t.Total, t.Passing, t.Failing = t.Total+r.Total, t.Passing+r.Passing, t.Failing+r.Failing
	for i := range r.Results {
		if c := &r.Results[i]; c.Result() != c.ExpectedVerdict && len(t.Failures) < maxFailures {
			t.Failures = append(t.Failures, *c)
		}
	}
}

// rulesWithTests lists the rules that a filter finds and that have test cases, in the order they were made.
func (b *Sandbox) rulesWithTests(ctx context.Context, projectID string, f *wire.RunFilter) ([]*rule.Rule, error) {
	view, err := viewOf(ctx, &b.cfg, projectID, f.SnapshotID)
	if err != nil {
		return nil, err
	}
	var rules []*rule.Rule
	var ids []string
	for e := range view.All() {
		if matches(f, e.Rule) {
			rules, ids = append(rules, e.Rule), append(ids, e.Rule.ID)
		}
	}
	counts, err := b.cfg.Store.TestCases.Count(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, c := range counts {
		has[c.RuleID] = true
	}
	return slices.DeleteFunc(rules, func(r *rule.Rule) bool { return !has[r.ID] }), nil
}
