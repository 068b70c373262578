package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// rulesCommands are `tenet rules ...`.
type rulesCommands struct {
	List   rulesListCommand   `cmd:"" help:"List rules."`
	Get    rulesGetCommand    `cmd:"" help:"Show a rule."`
	Import rulesImportCommand `cmd:"" help:"Create and update rules from files: all, or none."`
	Export rulesExportCommand `cmd:"" help:"Write the rules as a file, in a stable order."`
	Plan   rulesPlanCommand   `cmd:"" help:"Show what apply would change."`
	Lint   rulesLintCommand   `cmd:"" help:"Tell what makes rules hard to judge."`
	Health rulesHealthCommand `cmd:"" help:"Tell how a rule fares, from 0 to 100."`
	Apply  rulesApplyCommand  `cmd:"" help:"Make the rules be as the files say, after showing what changes."`

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

	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists rules.
func (k *rulesListCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, readsData, func(c *client.Client) error {
		rules, err := c.AllRules(ctx, k.filter())
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, rules)
		}
		return s.printRules(rules)
	})
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printRules prints a table whose last column, the statement, is cut to the width of the terminal.
func (s *session) printRules(rules []rule.Rule) error {
	if len(rules) == 0 {
		s.note("there are no rules")
		return nil
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tSTATUS\tSEVERITY\tMODALITY\tDECIDED BY\tSTATEMENT")
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", label(r.Slug, r.ID), r.Status, r.Severity, r.Modality, decider(r), line(r.Statement))
	}
	return s.table(t, &b)
}

// decider tells what decides a rule.
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

// label is how people call a rule.
func label(slug, id string) string {
	if slug != "" {
		return slug
	}
	return id
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
	Rule   string `arg:"" help:"Id or slug, such as SEC-003."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run shows a rule.
func (k *rulesGetCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, readsData, func(c *client.Client) error {
		r, err := c.Rule(ctx, k.Rule)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, r)
		}
		return s.printRule(&r)
	})
}

// printRule shows a rule for people; what is empty is left out.
func (s *session) printRule(r *rule.Rule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.bold(label(r.Slug, r.ID)), line(r.Statement))
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
	row("decided by", decider(r))
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
