package app

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"tenet/internal/agent"
	"tenet/internal/catalog"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/search"
)

// declaredAgents reads the file of agents that the settings name.
func (a *App) declaredAgents() ([]agent.Declared, error) {
	if a.cfg.AgentsFile == "" {
		return nil, nil
	}
	f, err := os.Open(a.cfg.AgentsFile)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "agents_file: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	data, err := io.ReadAll(io.LimitReader(f, agent.MaxDeclaredFile+1))
	if err != nil {
		return nil, err
	}
	return agent.ParseDeclared(data)
}

// restPrefix is where agents are served besides /agent; empty if nowhere.
func (a *App) restPrefix() string {
	if a.cfg.RESTPrefix == "off" {
		return ""
	}
	return a.cfg.RESTPrefix
}

// agentEvaluator has agents' subjects judged like all others.
type agentEvaluator struct{ *evaluate.Evaluator }

// Evaluate implements agent.Evaluator.
func (e agentEvaluator) Evaluate(ctx context.Context, req *agent.Request) (*rule.Evaluation, error) {
	return e.Evaluator.Evaluate(ctx, evaluate.Request{
		ProjectID: req.ProjectID, Input: req.Input, NodeID: req.NodeID, Environment: req.Environment, Mode: req.Mode, Decided: req.Decided,
		MaxRules: evaluate.MaxMaxRules, // an intent does not say how many
	})
}

// agentRules finds the rules that agents look at.
type agentRules struct {
	evaluator *evaluate.Evaluator
	searcher  *search.Searcher
	released  evaluate.Released
}

// Find implements agent.Rules. What agents say rests on the rules that apply, as an evaluation would find them: not on one that another
// overrides.
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
	for i := range list {
		apply[list[i].ID] = list[i].Severity.Rank() >= q.SeverityMin.Rank()
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

// agentDrafts keeps what the agent author writes.
type agentDrafts struct {
	catalog *catalog.Catalog
	sandbox *sandbox.Sandbox
}

// Save implements agent.Drafts.
func (d agentDrafts) Save(ctx context.Context, projectID string, draft agent.Draft, cases []agent.DraftCase) (rule.Rule, error) {
	made, err := d.catalog.Create(ctx, projectID, catalog.Input{
		Statement: draft.Statement, Modality: draft.Modality, Severity: draft.Severity, Status: rule.Draft, Scope: draft.Scope, Tags: draft.Tags,
		Rationale: &draft.Rationale, Exceptions: draft.Exceptions, ChangeNote: "Drafted by the agent author.",
	})
	if err != nil {
		return made, err
	}
	for _, c := range cases {
		if _, err := d.sandbox.AddCase(ctx, projectID, made.ID, sandbox.NewCase{
			Name: c.Name, SampleInput: c.Sample, InputType: c.Type, ExpectedVerdict: c.Expected, Origin: sandbox.Generated,
		}); err != nil && rule.CodeOf(err) != rule.CodeInvalid { // a sample that is no sample is shown in the answer, and not kept
			return made, err
		}
	}
	return made, nil
}

// Try implements agent.Drafts.
func (d agentDrafts) Try(ctx context.Context, draft agent.Draft, c agent.DraftCase) (rule.Verdict, error) {
	sample := sandbox.Sample{Code: c.Sample}
	if c.Type == sandbox.Facts {
		sample = sandbox.Sample{Facts: map[string]any{"narrative": c.Sample}}
		if strings.HasPrefix(strings.TrimSpace(c.Sample), "{") {
			sample.Facts = nil
			if err := json.Unmarshal([]byte(c.Sample), &sample.Facts); err != nil {
				return "", rule.Errorf(rule.CodeInvalid, "the sample is not a JSON object of facts")
			}
		}
	}
	trial, err := d.sandbox.Play(ctx, draft.Rule(), sample)
	return trial.Raw, err
}
