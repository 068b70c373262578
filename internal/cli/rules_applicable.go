package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type rulesApplicableCommand struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files of a change, as paths from the root of their repository."`

	Kind        string `placeholder:"KIND" help:"Another subject than files: transaction, business_event, communication, decision_request, document, action or facts."`
	Facts       string `type:"filled" placeholder:"FILE" help:"JSON object of facts, or the file that holds it; - reads it from stdin. Needs --explain."`
	Scope       string `type:"filled" placeholder:"PATH" help:"Scope of the subject, such as finance/payments."`
	Repository  string `type:"filled" placeholder:"NAME" help:"Repository of the files."`
	Node        string `type:"filled" placeholder:"NODE" help:"Federation node: its id, or its name or path of names."`
	Environment string `type:"filled" placeholder:"NAME" help:"Environment whose deployed rules are meant: production, staging or development."`

	Explain     bool   `help:"List all rules with the reason why each applies, is left out or overridden."`
	Rule        string `type:"filled" placeholder:"RULE" help:"Explain this rule alone: its id or slug."`
	Part        string `placeholder:"PART" help:"With --explain, only rules that are: applies, context, overridden, not_concerned or left_out."`
	SeverityMin string `placeholder:"LEVEL" help:"With --explain, least severity that would be asked: LOW (default), MEDIUM, HIGH or CRITICAL."`
	Page        int    `default:"1" placeholder:"N" help:"With --explain, page, from 1."`
	PageSize    int    `default:"50" placeholder:"N" help:"With --explain, rules per page, up to 100."`
	output
}

func (rulesApplicableCommand) Help() string {
	return `Lists the rules that an evaluation would ask, best ranked first; nothing is evaluated. What is not given is left open: without files,
the rules about all files are listed.

  tenet rules applicable src/pay/refund.go --repository acme/ledger
  tenet rules applicable src/pay/refund.go --rule SEC-003
  tenet rules applicable --kind transaction --facts '{"amount": 25000}' --scope finance/payments --explain`
}

func (k *rulesApplicableCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	req, err := k.request(ctx, s, c)
	if err != nil {
		return err
	}
	if k.Explain || k.Rule != "" {
		found, err := client.Call(ctx, c, op.ExplainRules, req)
		return show(s, k.output, found, err, printExplained)
	}
	rules, err := client.Call(ctx, c, op.ApplicableRules, req.ApplicableRequest)
	return show(s, k.output, rules, err, printRules)
}

// request reads the flags.
func (k *rulesApplicableCommand) request(ctx context.Context, s *session, c *client.Client) (wire.ExplainRequest, error) {
	req := wire.ExplainRequest{
		ApplicableRequest: wire.ApplicableRequest{FilePaths: k.Paths, Repository: k.Repository, Scope: k.Scope, Environment: k.Environment},
		SubjectKind:       wire.SubjectKind(k.Kind), SeverityMin: rule.Severity(k.SeverityMin), Part: wire.RulePart(k.Part), Rule: k.Rule,
		Page: k.Page, PageSize: k.PageSize,
	}
	if !k.Explain && k.Rule == "" && (k.Kind != "" || k.Facts != "" || k.Part != "" || k.SeverityMin != "") {
		return req, errors.New("--kind, --facts, --part and --severity-min go with --explain")
	}
	if k.Facts != "" {
		text, err := readFacts(ctx, k.Facts, s.in)
		if err != nil {
			return req, err
		}
		if req.Facts, err = exactObject(text); err != nil {
			return req, err
		}
	}
	if k.Node != "" {
		node, err := findNode(ctx, c, k.Node)
		if err != nil {
			return req, err
		}
		req.NodeID = node.ID
	}
	return req, nil
}

// partWords name the parts of rules for people.
var partWords = map[wire.RulePart]string{
	wire.PartApplies: "asked", wire.PartContext: "context", wire.PartOverridden: "overridden", wire.PartNotConcerned: "not concerned", wire.PartLeftOut: "left out",
}

// printExplained shows rules, each with its part and the conditions that decide it.
func printExplained(s *session, found wire.ExplainedRules) error {
	var counts []string
	for _, part := range wire.RuleParts {
		if n := *found.Counts.Of(part); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, partWords[part]))
		}
	}
	if len(counts) > 0 {
		s.note("rules: %s", strings.Join(counts, ", "))
	}
	if found.NodePath != "" {
		s.note("rules of the node %s", line(found.NodePath))
	}
	err := list(s, "there is no such rule", "RULE\tPART\tSEVERITY\tWHY", found.Items, func(r *wire.ExplainedRule) []any {
		return []any{cmp.Or(r.RuleSlug, r.RuleID), partWords[r.Part], r.Severity, whyPart(r)}
	})
	if err == nil {
		s.nextPage("rules", found.Page, found.PageSize, len(found.Items), found.Total)
	}
	return err
}

// whyPart joins the conditions that decide: those that are not met for a rule that is not asked, else all but the status.
func whyPart(r *wire.ExplainedRule) string {
	var texts []string
	asked := r.Part == wire.PartApplies
	for _, reason := range r.Reasons {
		if !asked && reason.Met == wire.MetNo || asked && reason.About != "status" || r.Part == wire.PartContext && reason.About == "status" {
			texts = append(texts, reason.Text)
		}
	}
	return cmp.Or(strings.Join(texts, "; "), "it holds everywhere")
}

// exactObject reads a JSON object whose numbers keep their digits.
func exactObject(text json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	out := map[string]any{}
	return out, d.Decode(&out)
}
