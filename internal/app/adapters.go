package app

import (
	"context"
	"strings"

	"tenet/internal/agent"
	"tenet/internal/catalog"
	"tenet/internal/conflict/contradict"
	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// contradicts reports whether two rules contradict each other.
func contradicts(a, b rule.Rule) (reason string, confidence float64, ok bool) {
	f, ok := contradict.Rules(&a, &b)
	return f.Reason, f.Confidence, ok
}

// agentEvaluator evaluates agents' subjects like all others.
type agentEvaluator struct{ *evaluate.Evaluator }

// Evaluate implements agent.Evaluator.
func (e agentEvaluator) Evaluate(ctx context.Context, req *agent.Request) (*rule.Evaluation, error) {
	return e.Evaluator.Evaluate(ctx, evaluate.Request{
		ProjectID: req.ProjectID, Input: req.Input, Decided: req.Decided, ApprovalAsk: req.Ask,
		EvaluateOptions: wire.EvaluateOptions{
			NodeID: req.NodeID, Environment: req.Environment, Mode: req.Mode,
			MaxRules: evaluate.MaxMaxRules, // an intent names no limit
		},
	})
}

// agentRules finds rules for agents.
type agentRules struct {
	evaluator *evaluate.Evaluator
	searcher  *search.Searcher
	released  evaluate.Released
}

// Find implements agent.Rules. It finds only rules that apply, as an evaluation would: none that another overrides.
func (r agentRules) Find(ctx context.Context, q agent.Query) ([]rule.Rule, error) {
	in := evaluate.ApplicableQuery{ProjectID: q.ProjectID, Scope: q.Scope, NodeID: q.NodeID}
	if q.Environment != "" {
		view, _, err := r.released.Deployed(ctx, q.ProjectID, strings.ToLower(q.Environment))
		if err != nil {
			return nil, err
		}
		in.View = view
	}
	list, err := r.evaluator.Applicable(ctx, in)
	if err != nil {
		return nil, err
	}
	apply := make(map[string]bool, len(list))
	for _, one := range list {
		apply[one.ID] = one.Severity.Rank() >= q.SeverityMin.Rank()
	}
	among := search.Among{ProjectID: q.ProjectID, View: in.View, Keep: func(x *rule.Rule) bool { return apply[x.ID] }}
	filter, page := search.Filter{Tags: q.Tags}, search.Page{Number: 1, Size: q.Limit}
	var found search.Result
	if q.Text == "" {
		found, err = r.searcher.Category(ctx, among, filter, page)
	} else {
		found, err = r.searcher.Hybrid(ctx, among, search.Query{Text: q.Text, Filter: filter, Page: page})
	}
	rules := make([]rule.Rule, len(found.Items))
	for i := range found.Items {
		rules[i] = found.Items[i].Rule
	}
	return rules, err
}

// agentDrafts stores and tries the rules that the agent author writes.
type agentDrafts struct {
	catalog *catalog.Catalog
	sandbox *sandbox.Sandbox
}

// Save implements agent.Drafts.
func (d agentDrafts) Save(ctx context.Context, projectID string, draft wire.RuleDraft, cases []wire.RuleDraftCase) (rule.Rule, error) {
	made, err := d.catalog.Create(ctx, projectID, wire.RuleInput{
		Statement: draft.Statement, Modality: draft.Modality, Severity: draft.Severity, Status: rule.Draft, Scope: draft.Scope, Tags: draft.Tags,
		Rationale: &draft.Rationale, Exceptions: draft.Exceptions, ChangeNote: "Drafted by the agent author.",
	})
	if err != nil {
		return made, err
	}
	for _, c := range cases {
		if _, err := d.sandbox.AddCase(ctx, projectID, made.ID, sandbox.NewCase{
			Name: c.Name, SampleInput: c.Sample, InputType: c.Type, ExpectedVerdict: c.Expected, Origin: sandbox.Generated,
		}); err != nil && rule.CodeOf(err) != rule.CodeInvalid { // the answer shows a sample that is none, and no case is stored
			return made, err
		}
	}
	return made, nil
}

// Try implements agent.Drafts.
func (d agentDrafts) Try(ctx context.Context, draft wire.RuleDraft, c wire.RuleDraftCase) (rule.Verdict, error) {
	sample, err := sandbox.ParseSample(c.Sample, c.Type)
	if err != nil {
		return "", err
	}
	trial, err := d.sandbox.Play(ctx, draft.Rule(), sample)
	return trial.Raw, err
}

// replayer gives simulations the recorded evaluations.
type replayer struct{ evaluator *evaluate.Evaluator }

// Recent implements release.Replayer.
func (r replayer) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]release.Recorded, error) {
	list, err := r.evaluator.Recent(ctx, projectID, verdict, limit)
	out := make([]release.Recorded, len(list))
	for i, p := range list {
		out[i] = p
	}
	return out, err
}

// changes evaluates ingested changes in the background, as something that has happened: nobody waits for the answer, so a
// violation is published as an event.
type changes struct {
	evaluator   *evaluate.Evaluator
	submissions store.SubmissionReader
}

// Known implements ingest.Evaluator.
func (c changes) Known(ctx context.Context, projectID string, n ingest.Named) (bool, error) {
	_, err := c.submissions.Get(ctx, projectID, n.SubmissionID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		_, err = c.submissions.GetByKey(ctx, projectID, n.Key)
	}
	if rule.CodeOf(err) == rule.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// Submit implements ingest.Evaluator.
func (c changes) Submit(ctx context.Context, n ingest.Named, change ingest.Change) error {
	_, err := c.evaluator.Later(ctx, evaluate.Named{SubmissionID: n.SubmissionID, Key: n.Key, BodyHash: n.BodyHash}, evaluate.Request{
		ProjectID: change.ProjectID, EvaluateOptions: wire.EvaluateOptions{Mode: rule.Posthoc},
		Submitted: &wire.Submitted{Kind: subject.CodeChange, Of: &wire.CodeChangeSubject{
			Kind: subject.CodeChange, Diff: change.Diff, Repository: change.Repository, Intent: change.Intent,
		}},
	})
	return err
}
