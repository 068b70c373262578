package cli

import (
	"context"
	"errors"
	"fmt"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type rulesNewCommand struct {
	Statement string   `placeholder:"TEXT" help:"What must hold. Without it, the editor opens on an empty rule."`
	File      string   `type:"filled" placeholder:"FILE" help:"Take rules from this file instead, or - for stdin; none of them may exist."`
	Slug      string   `placeholder:"SLUG" help:"Short unique name, such as SEC-003."`
	Modality  string   `placeholder:"MODALITY" help:"MUST (default), MUST_NOT, SHOULD, MAY or INFO."`
	Severity  string   `placeholder:"LEVEL" help:"LOW, MEDIUM (default), HIGH or CRITICAL."`
	Scope     []string `placeholder:"PATH" help:"Scope that the rule holds in; may be repeated."`
	Tag       []string `placeholder:"TAG" help:"Label; may be repeated."`
	Owner     string   `placeholder:"NAME" help:"Who answers for the rule."`
	Rationale string   `placeholder:"TEXT" help:"Why the rule exists."`
	Note      string   `placeholder:"TEXT" help:"Why it is made; kept with its first version."`
	output
}

// Help returns examples.
func (rulesNewCommand) Help() string {
	return `A new rule is a DRAFT, which applies to nothing; tenet rules submit hands it in. Findings on its wording go to stderr.

    tenet rules new
    tenet rules new --statement "Payments above 10000 EUR need a second approver." --slug PAY-014 --severity HIGH
    tenet rules new --file payments.yaml`
}

// newRuleText is the text on which the editor opens.
const newRuleText = `# A new rule: fill in what you need, save, and close the editor. To give up, close it without a change.
# It is a DRAFT at first. tenet rules submit, approve and publish put it into force.
rules:
  - statement: ""
    # slug: PAY-014
    modality: MUST     # MUST, MUST_NOT, SHOULD, MAY or INFO
    severity: MEDIUM   # LOW, MEDIUM, HIGH or CRITICAL
    # owner: treasury
    # scope: [finance/payments]
    # tags: [payments]
    # rationale: Why the rule exists.
    # exceptions: ["A case that the rule leaves out."]
    # applies_to: {kinds: [code_change], paths: ["src/**"], repositories: ["acme/*"]}
    # check: {pattern: {regex: '\beval\('}, message: What is wrong., fix: What to do.}
    # check: {when: "'amount' in facts", cel: "facts.amount <= 10000 || facts.approvers >= 2"}
`

// Run makes rules from flags, from a file, or in the editor.
func (k *rulesNewCommand) Run(ctx context.Context, s *session) error {
	flags := k.Slug+k.Modality+k.Severity+k.Owner+k.Rationale != "" || len(k.Scope)+len(k.Tag) > 0
	switch {
	case k.File != "" && (flags || k.Statement != ""):
		return errors.New("--file goes without the flags that write a rule: the file has them")
	case k.Statement == "" && flags:
		return errors.New("--statement is missing: what must hold?")
	case k.File != "":
		_, joined, err := openRules(ctx, s, k.File)
		if err != nil {
			return err
		}
		return s.with(ctx, needsData, func(c *client.Client) error { return k.make(ctx, s, c, joined) })
	case k.Statement == "":
		return s.with(ctx, needsData, func(c *client.Client) error { return k.inEditor(ctx, s, c) })
	}
	in := wire.RuleInput{
		Statement: k.Statement, Modality: rule.Modality(k.Modality), Severity: rule.Severity(k.Severity), Scope: k.Scope, Tags: k.Tag,
	}
	for from, to := range map[string]**string{k.Slug: &in.Slug, k.Owner: &in.Owner, k.Rationale: &in.Rationale} {
		if from != "" {
			*to = &from
		}
	}
	return s.with(ctx, needsData, func(c *client.Client) error { return k.make(ctx, s, c, &wire.RuleFile{Rules: []wire.RuleInput{in}}) })
}

func (k *rulesNewCommand) inEditor(ctx context.Context, s *session, c *client.Client) error {
	d := draft{name: "tenet-rule-*.yaml", text: []byte(newRuleText), accept: func(edited []byte) error {
		f, err := catalog.ParseYAML(edited)
		if err != nil {
			return err
		}
		if len(f.Rules) == 0 {
			return errors.New("the text has no rule")
		}
		return k.make(ctx, s, c, f)
	}}
	err := d.edit(ctx, s)
	if errors.Is(err, errUnedited) {
		s.note("no rule was made")
		return nil
	}
	return err
}

// make makes the rules of a file: all, or none. The answer to a single one has the findings on it.
func (k *rulesNewCommand) make(ctx context.Context, s *session, c *client.Client, f *wire.RuleFile) error {
	if k.Note != "" {
		for i := range f.Rules {
			f.Rules[i].ChangeNote = k.Note
		}
	}
	if len(f.Rules) == 1 && f.Defaults == nil && len(f.Cases)+len(f.Federation) == 0 {
		r, err := client.Call(ctx, c, op.CreateRule, wire.CreateRule{RuleInput: f.Rules[0]})
		return show(s, k.output, r, err, printNewRule)
	}
	result, err := client.ImportRules(ctx, c, f, wire.ImportQuery{Mode: "create"})
	return show(s, k.output, result, err, func(s *session, result rule.ImportResult) error { return printPlan(s, &result) })
}

func printNewRule(s *session, r rule.Rule) error {
	for _, f := range r.Findings {
		fmt.Fprintf(s.err, "%s %s\n", s.yellow("lint:"), line(f.Message))
	}
	_, err := fmt.Fprintf(s.out, "%s  %s\n", s.bold(line(r.Label())), r.Status)
	return err
}
