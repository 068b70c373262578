package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type tryInput struct {
	Rule        string         `json:"rule,omitempty" jsonschema:"slug or id of a stored rule to try; or give a statement"`
	Statement   string         `json:"statement,omitempty" jsonschema:"text of a rule to try; with rule, tried in place of what that one says"`
	Modality    string         `json:"modality,omitempty" jsonschema:"MUST (default), MUST_NOT or SHOULD"`
	SampleCode  string         `json:"sample_code,omitempty" jsonschema:"code snippet or unified diff to try it on; or give sample_facts"`
	SamplePath  string         `json:"sample_path,omitempty" jsonschema:"path of the snippet, such as app/settings.py"`
	SampleFacts map[string]any `json:"sample_facts,omitempty" jsonschema:"facts to try it on; the key narrative holds a scenario in words"`
}

// tried is the verdict on a sample.
type tried struct {
	Verdict   string `json:"verdict" jsonschema:"ALLOW, DENY or NEEDS_CONFIRMATION"`
	Reasoning string `json:"reasoning"`
	Issue     string `json:"issue" jsonschema:"what is wrong; empty for ALLOW"`
	DecidedBy string `json:"decided_by" jsonschema:"check, model, or none: nobody could decide"`
}

type proposeInput struct {
	Statement  string   `json:"statement" jsonschema:"one duty in one or two sentences: who must or must not do what, when; measurable"`
	Modality   string   `json:"modality,omitempty" jsonschema:"MUST (default), MUST_NOT, SHOULD, MAY or INFO; it agrees with the statement"`
	Severity   string   `json:"severity,omitempty" jsonschema:"LOW, MEDIUM (default), HIGH or CRITICAL: the harm of a violation"`
	Rationale  string   `json:"rationale,omitempty" jsonschema:"why it is wanted"`
	Scope      []string `json:"scope,omitempty" jsonschema:"scope paths it holds in; leave out for everywhere"`
	Tags       []string `json:"tags,omitempty" jsonschema:"a few short labels"`
	Exceptions []string `json:"exceptions,omitempty" jsonschema:"cases that it leaves out, each in a sentence"`
}

// proposed is a draft that was stored.
type proposed struct {
	ID       string   `json:"id" jsonschema:"id of the draft"`
	Status   string   `json:"status" jsonschema:"DRAFT: it applies to nothing until a person approves it"`
	NextStep string   `json:"next_step"`
	Lint     []string `json:"lint" jsonschema:"what makes it hard to judge, and what to do about it"`
}

func (s *server) authorTools(m *mcp.Server) {
	mcp.AddTool(m, tool("try_rule", "Try a rule on a sample",
		"Try a stored rule, or the text of one, on a piece of code or on facts. Nothing is recorded and nothing changes, so this is no permission for "+
			"anything: use it to test the wording of a rule, or to learn what a rule objects to.", true),
		handle(s, func(ctx context.Context, c *client.Client, in tryInput) (*tried, string, error) {
			if in.SampleCode == "" && len(in.SampleFacts) == 0 {
				return nil, "", rule.Errorf(rule.CodeInvalid, "there is no sample; give sample_code or sample_facts")
			}
			p, err := client.Call(ctx, c, op.PlaygroundEvaluate, wire.PlaygroundRequest{
				RuleID: in.Rule, RuleStatement: in.Statement, RuleModality: rule.Modality(in.Modality), SampleCode: in.SampleCode, SamplePath: in.SamplePath,
				SampleFacts: in.SampleFacts,
			})
			if err != nil {
				return nil, "", err
			}
			out := &tried{string(p.Verdict), clip(p.Reasoning), clip(p.IssueDescription), string(p.DecidedBy)}
			return out, fmt.Sprintf("%s (decided by %s): %s", out.Verdict, out.DecidedBy, out.Reasoning), nil
		}))
	mcp.AddTool(m, tool("propose_rule", "Propose a rule",
		"Propose a new rule, when the user asks for one or you see that one is missing. It is stored as a DRAFT, which applies to nothing until a person "+
			"approves it; you cannot approve it. Look with search_rules first whether there is one already.", false),
		handle(s, func(ctx context.Context, c *client.Client, in proposeInput) (*proposed, string, error) {
			made, err := client.Call(ctx, c, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{
				Statement: in.Statement, Modality: rule.Modality(in.Modality), Severity: rule.Severity(in.Severity), Status: rule.Draft,
				Rationale: &in.Rationale, Scope: in.Scope, Tags: in.Tags, Exceptions: in.Exceptions, ChangeNote: "Proposed over MCP.",
			}})
			if err != nil {
				return nil, "", err
			}
			out := &proposed{ID: made.ID, Status: string(made.Status), Lint: []string{}, NextStep: "Tell the user that the draft waits for review; you cannot approve it."}
			for _, f := range made.Findings {
				out.Lint = append(out.Lint, f.Message)
			}
			return out, fmt.Sprintf("Stored as %s, rule %s. %s", out.Status, out.ID, out.NextStep), nil
		}))
}
