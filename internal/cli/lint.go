package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"tenet/internal/app"
	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/lint"
	"tenet/internal/rule"
)

type rulesLintCommand struct {
	ruleFilter

	Path string `arg:"" optional:"" help:"File or folder of rules and cases in YAML; without it, the stored rules."`
	output
}

func (rulesLintCommand) Help() string {
	return `Lists wording that makes rules hard to judge: vague words and escape clauses, several duties in one or none, words that bind more
or less than the modality, double negations, statements that are long or refer to other texts, no scope, no test case, and
test cases that all expect the same or contradict one another. Also lists scopes, facts and repositories that one rule
only uses and that are like a name of several others. Retired rules are left out.

    tenet rules lint
    tenet rules lint rules/ --format json

Exit codes: 0 nothing was found, 1 something was, 2 the rules could not be read.`
}

// linted is a rule with what was found.
type linted struct {
	Rule     string         `json:"rule"`
	Findings []rule.Finding `json:"findings"`
}

func (k *rulesLintCommand) Run(ctx context.Context, s *session) error {
	if k.Path != "" {
		if _, err := os.Stat(k.Path); err != nil {
			return err
		}
		return k.lintFiles(ctx, s)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		rules, err := c.AllRules(ctx, k.filter())
		if err != nil {
			return err
		}
		names := catalog.MisspeltNames(rules)
		return k.show(s, rules, func(r *rule.Rule) []rule.Finding { return append(r.Findings, names[r.ID]...) })
	})
}

// lintFiles looks at the rules of files, by way of a throw-away database, in which they are read as everywhere.
func (k *rulesLintCommand) lintFiles(ctx context.Context, s *session) (err error) {
	files, cases, err := loadTests(ctx, k.Path)
	if err != nil {
		return err
	}
	cfg, err := s.configure("", nil)
	if err != nil {
		return err
	}
	c, stop, err := s.throwAway(ctx, cfg, app.Options{Rules: files.effective()})
	if err != nil {
		return files.locate(err)
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	rules, err := c.AllRules(ctx, k.filter())
	if err != nil {
		return err
	}
	byRule := map[string][]lint.Case{}
	for i := range cases {
		n := &cases[i]
		byRule[n.Rule] = append(byRule[n.Rule], lint.Case{Name: n.Name, Input: fmt.Sprint(n.Files, n.Diff, n.Facts, n.Action), Expected: n.Expect})
	}
	names := catalog.MisspeltNames(rules)
	return k.show(s, rules, func(r *rule.Rule) []rule.Finding {
		return append(lint.Rule(r, lint.Look(byRule[r.Slug])), names[r.ID]...)
	})
}

func (k *rulesLintCommand) show(s *session, rules []rule.Rule, findings func(*rule.Rule) []rule.Finding) error {
	found, looked := []linted{}, 0
	for i := range rules {
		r := &rules[i]
		if r.Status == rule.Retired || r.Status == rule.Superseded {
			continue
		}
		looked++
		if f := findings(r); len(f) > 0 {
			found = append(found, linted{cmp.Or(r.Slug, r.ID), f})
		}
	}
	var err error
	if k.json() {
		err = printJSON(s.out, found)
	} else {
		err = paged(s, func() error { return printFindings(s, found, looked) })
	}
	if err == nil && len(found) > 0 {
		return exit(exitFound)
	}
	return err
}

func printFindings(s *session, found []linted, looked int) error {
	var b strings.Builder
	for _, l := range found {
		for _, f := range l.Findings {
			text := ""
			if f.Quote != "" {
				text = fmt.Sprintf(" %q", line(f.Quote))
			}
			fmt.Fprintf(&b, "%s %s%s: %s\n", s.bold(line(l.Rule)), s.yellow(f.Code), text, line(f.Message))
		}
	}
	fmt.Fprintf(&b, "%s looked at, %d could be clearer\n", amount(looked, "rule"), len(found))
	_, err := s.out.Write([]byte(b.String()))
	return err
}
