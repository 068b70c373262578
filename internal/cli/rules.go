package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// rulesCommands are `tenet rules ...`.
type rulesCommands struct {
	List  rulesListCommand  `cmd:"" data:"read" help:"List rules."`
	Get   rulesGetCommand   `cmd:"" data:"read" help:"Show a rule."`
	Nodes rulesNodesCommand `cmd:"" data:"read" help:"List the federation nodes at which a rule holds, is overridden or silenced."`

	Applicable rulesApplicableCommand `cmd:"" data:"read" help:"List the rules that would be asked about files or a payment, and why."`

	Import rulesImportCommand `cmd:"" help:"Create and update rules from files: all, or none."`
	Export rulesExportCommand `cmd:"" help:"Write the rules as a file, in a stable order."`
	Plan   rulesPlanCommand   `cmd:"" help:"Show the changes that apply would make."`
	Schema rulesSchemaCommand `cmd:"" help:"Print the JSON Schema of rule files, for editors."`
	Lint   rulesLintCommand   `cmd:"" help:"List wording that makes rules hard to judge."`
	Health rulesHealthCommand `cmd:"" help:"Show the health score of a rule, from 0 to 100."`
	Apply  rulesApplyCommand  `cmd:"" help:"Change the rules to match the files, after showing the changes."`

	New     rulesNewCommand     `cmd:"" help:"Write a new rule: in the editor, by flags, or from a file."`
	Edit    rulesEditCommand    `cmd:"" help:"Change rules in the editor, or fields of theirs by flags."`
	Submit  rulesSubmitCommand  `cmd:"" help:"Hand drafts in for review."`
	Approve rulesApproveCommand `cmd:"" help:"Approve rules in review."`
	Publish rulesPublishCommand `cmd:"" help:"Make approved rules EFFECTIVE."`
	Retire  rulesRetireCommand  `cmd:"" help:"End rules."`
	History rulesHistoryCommand `cmd:"" data:"read" help:"List the versions of rules and what each has changed."`
	Diff    rulesDiffCommand    `cmd:"" data:"read" help:"Compare two versions of a rule, or what has changed in many since a date."`

	Pending          rulesPendingCommand     `cmd:"" data:"read" help:"List the revisions of rules in force that wait for a second person."`
	ApproveRevision  approveRevisionCommand  `cmd:"" help:"Put a revision that somebody else has proposed into force."`
	RejectRevision   rejectRevisionCommand   `cmd:"" help:"Reject a revision that somebody else has proposed."`
	WithdrawRevision withdrawRevisionCommand `cmd:"" help:"Withdraw a revision of one's own."`

	Conflicts rulesConflictsCommand `cmd:"" help:"List rules that contradict each other, or one rule."`
}

// ruleFilter are the flags that select rules.
type ruleFilter struct {
	Status   string   `placeholder:"STATUS" help:"Only rules with this status, such as EFFECTIVE."`
	Severity string   `placeholder:"LEVEL" help:"Only rules of this severity."`
	Modality string   `placeholder:"MODALITY" help:"Only rules of this modality."`
	Scope    string   `placeholder:"PATH" help:"Only rules in this scope and below."`
	Tag      []string `placeholder:"TAG" help:"Only rules with this tag; may be repeated."`
}

func (f *ruleFilter) filter() client.RuleFilter {
	return client.RuleFilter{
		Status: rule.Status(f.Status), Severity: rule.Severity(f.Severity), Modality: rule.Modality(f.Modality), Scope: f.Scope, Tags: f.Tag,
	}
}

type rulesListCommand struct {
	ruleFilter

	output
}

func (k *rulesListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	rules, err := c.AllRules(ctx, k.filter())
	return show(s, k.output, rules, err, printRules)
}

// printRules prints a table whose last column, the statement, is cut to the width of the terminal.
func printRules(s *session, rules []rule.Rule) error {
	return list(s, "there are no rules", "RULE\tSTATUS\tSEVERITY\tMODALITY\tDECIDED BY\tSTATEMENT", rules, func(r *rule.Rule) []any {
		return []any{cmp.Or(r.Slug, r.ID), r.Status, r.Severity, r.Modality, decider(r), r.Statement}
	})
}

// decider names the part that decides a rule.
func decider(r *rule.Rule) string {
	switch {
	case !r.Judged():
		return "-"
	case r.Check == nil:
		return "model"
	case r.Check.Decides == rule.DenyOnly:
		return "check, model"
	}
	return "check"
}

// line puts text on one line and takes out what a terminal would obey.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}

type rulesGetCommand struct {
	Rule string `arg:"" help:"Id or slug, such as SEC-003."`
	output
}

func (k *rulesGetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	r, err := c.Rule(ctx, k.Rule)
	return show(s, k.output, r, err, printRule)
}

// printRule shows a rule for people; what is empty is left out.
func printRule(s *session, r rule.Rule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.bold(cmp.Or(r.Slug, r.ID)), line(r.Statement))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-12s", name)), line(value))
		}
	}
	row("id", r.ID)
	row("version", fmt.Sprintf("%d, by %s at %s", r.Version, r.UpdatedBy, r.UpdatedAt.Format("2006-01-02 15:04:05Z07:00")))
	row("status", string(r.Status))
	row("severity", string(r.Severity))
	row("modality", string(r.Modality))
	row("enforcement", string(r.Enforcement))
	if !r.MayBeWaived() {
		row("waivable", "no")
	}
	row("decided by", decider(&r))
	row("scope", strings.Join(r.Scope, ", "))
	row("tags", strings.Join(r.Tags, ", "))
	row("owner", r.Owner)
	row("rationale", r.Rationale)
	for _, e := range r.Exceptions {
		row("exception", e)
	}
	for _, e := range r.Examples {
		row("example", strings.Join(strings.Fields(string(e.Verdict)+" "+e.Input+" "+e.Note), " "))
	}
	for _, ref := range r.SourceRefs {
		row("source", strings.Join(strings.Fields(strings.Join([]string{ref.Kind, ref.URI, ref.DocumentID, ref.Section, ref.Quote}, " ")), " "))
	}
	if a := r.AppliesTo; a != nil {
		row("paths", strings.Join(a.Paths, ", "))
		row("not paths", strings.Join(a.ExcludePaths, ", "))
		row("repositories", strings.Join(a.Repositories, ", "))
		row("kinds", strings.Join(a.Kinds, ", "))
		row("tools", strings.Join(a.Tools, ", "))
	}
	if k := r.Check; k != nil {
		row("when", k.When)
		row("cel", k.CEL)
		if k.Pattern != nil {
			row("pattern", k.Pattern.Regex)
			row("unless", k.Pattern.Unless)
		}
		row("message", k.Message)
		row("fix", k.Fix)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
