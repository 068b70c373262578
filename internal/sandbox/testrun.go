package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
)

// RunKind is the kind of the jobs that run the test cases of many rules.
const RunKind = "tests.run"

// Views gives the corpus view of a project.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Snapshots gives the rules of snapshots.
type Snapshots interface {
	// View returns the view of a snapshot, or not_found.
	View(ctx context.Context, projectID, id string) (*corpus.View, error)
}

// RunFilter selects the rules of a run; empty fields select everything. Retired and superseded rules are left out unless
// they are named or their status is asked for.
type RunFilter struct {
	// SnapshotID takes the rules as they are in a snapshot. What their cases give there is their latest result, so that it is stale
	// for a rule that says something else by now.
	SnapshotID string `json:"snapshot_id,omitempty" doc:"Run on the rules as they are in this snapshot, instead of the live ones."`

	RuleIDs  []string      `json:"rule_ids,omitempty" maxItems:"1000" doc:"Ids or slugs; an unknown one is 404."`
	Tags     []string      `json:"tags,omitempty" doc:"Labels that a rule must all have."`
	Status   rule.Status   `json:"status,omitempty" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Status, in any letter case."`
	Severity rule.Severity `json:"severity,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity, in any letter case."`
	Scope    string        `json:"scope,omitempty" doc:"Scope path: a finds the rules of a, a/b and a/b/c."`
}

func (f *RunFilter) normalize() error {
	var p rule.Problems
	if f.Status != "" {
		known, ok := rule.Parse(string(f.Status), rule.Statuses)
		if !ok {
			p.Add("status", "is %q; use one of %s", string(f.Status), rule.Names(rule.Statuses))
		}
		f.Status = known
	}
	if f.Severity != "" {
		known, ok := rule.Parse(string(f.Severity), rule.Severities)
		if !ok {
			p.Add("severity", "is %q; use one of %s", string(f.Severity), rule.Names(rule.Severities))
		}
		f.Severity = known
	}
	f.Scope = rule.CleanScope(f.Scope)
	return p.Err("the filter is invalid")
}

func (f *RunFilter) matches(r *rule.Rule) bool {
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

// TestRun is one run over the test cases of many rules, in the background.
type TestRun struct {
	ID         string       `json:"id" doc:"Identifier."`
	JobID      int64        `json:"job_id" doc:"The job that runs it."`
	State      string       `json:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"State of the job; succeeded means that all cases were run, whether they pass or not."`
	Progress   job.Progress `json:"progress" doc:"Rules done, and rules there are."`
	Filter     RunFilter    `json:"filter" doc:"Which rules."`
	CreatedAt  time.Time    `json:"created_at" doc:"When it was asked for."`
	CreatedBy  string       `json:"created_by" doc:"Actor that asked for it."`
	FinishedAt *time.Time   `json:"finished_at,omitempty" doc:"When it had finished."`
	Error      string       `json:"error,omitempty" doc:"Why it failed."`
	Result     *RunResult   `json:"result,omitempty" doc:"What it has found, once it has finished."`
}

// RunResult sums up a run.
type RunResult struct {
	Rules    int    `json:"rules" doc:"Rules with test cases."`
	Total    int    `json:"total" doc:"Cases run."`
	Passing  int    `json:"passing" doc:"Cases whose result is the expected verdict."`
	Failing  int    `json:"failing" doc:"The others."`
	Failures []Case `json:"failures" nullable:"false" doc:"The first 100 failing cases."`
}

// maxFailures bounds the failing cases that the result of a run shows.
const maxFailures = 100

// StartRun asks for a run over the rules that a filter finds. It goes on in the background. The error is invalid for a bad
// filter, not_found without the project.
func (b *Sandbox) StartRun(ctx context.Context, projectID string, f RunFilter) (TestRun, error) {
	if err := f.normalize(); err != nil {
		return TestRun{}, err
	}
	view, err := b.view(ctx, projectID, f.SnapshotID)
	if err != nil {
		return TestRun{}, err
	}
	if err := known(view, f.RuleIDs); err != nil {
		return TestRun{}, err
	}
	run, err := b.runs.Start(ctx, projectID, auth.ActorFrom(ctx).Name, f)
	return testRunOf(run), err
}

func testRunOf(r job.Run[RunFilter, RunResult]) TestRun {
	if r.Result != nil {
		r.Progress = job.Progress{Done: r.Result.Rules, Total: r.Result.Rules}
	}
	return TestRun{
		ID: r.ID, JobID: r.JobID, State: r.State, Progress: r.Progress, Filter: r.Request, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
		FinishedAt: r.FinishedAt, Error: r.Error, Result: r.Result,
	}
}

// view is the live view of a project, or that of a snapshot.
func (b *Sandbox) view(ctx context.Context, projectID, snapshotID string) (*corpus.View, error) {
	if snapshotID != "" {
		return b.cfg.Snapshots.View(ctx, projectID, snapshotID)
	}
	return b.cfg.Views.View(ctx, projectID)
}

// known returns not_found for the first of refs that names no rule: a run over nothing must not pass for one that passes.
func known(view *corpus.View, refs []string) error {
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
func (b *Sandbox) GetRun(ctx context.Context, projectID, id string) (TestRun, error) {
	run, err := b.runs.Get(ctx, projectID, id)
	return testRunOf(run), err
}

// HandleRun is the handler of the jobs of [RunKind].
func (b *Sandbox) HandleRun(ctx context.Context, j job.Job, progress func(done, total int)) error {
	return b.runs.Handle(ctx, j, progress)
}

// runAll runs the test cases of all rules that a filter finds. Results are kept rule by rule, so that a run that is
// interrupted loses none, and begins anew.
func (b *Sandbox) runAll(ctx context.Context, projectID string, f RunFilter, progress func(done, total int)) (RunResult, error) {
	rules, err := b.tested(ctx, projectID, &f)
	if err != nil {
		return RunResult{}, err
	}
	result := RunResult{Rules: len(rules), Failures: []Case{}}
	for i, r := range rules {
		progress(i, len(rules))
		report, err := b.runRule(ctx, r)
		if err != nil {
			return result, err
		}
		result.add(&report)
	}
	progress(len(rules), len(rules))
	return result, nil
}

func (t *RunResult) add(r *Report) {
	t.Total, t.Passing, t.Failing = t.Total+r.Total, t.Passing+r.Passing, t.Failing+r.Failing
	for i := range r.Results {
		if c := r.Results[i]; c.LastResult != c.ExpectedVerdict && len(t.Failures) < maxFailures {
			t.Failures = append(t.Failures, c)
		}
	}
}

// tested lists the rules that a filter finds and that have test cases, in the order they were made.
func (b *Sandbox) tested(ctx context.Context, projectID string, f *RunFilter) ([]*rule.Rule, error) {
	view, err := b.view(ctx, projectID, f.SnapshotID)
	if err != nil {
		return nil, err
	}
	var rules []*rule.Rule
	var ids []string
	for e := range view.All() {
		if f.matches(e.Rule) {
			rules, ids = append(rules, e.Rule), append(ids, e.Rule.ID)
		}
	}
	counts, err := b.cfg.Store.CountTests(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, c := range counts {
		has[c.RuleID] = true
	}
	return slices.DeleteFunc(rules, func(r *rule.Rule) bool { return !has[r.ID] }), nil
}
