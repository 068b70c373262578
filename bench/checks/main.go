// Command checks measures what becomes of violations that nobody has seen once a proposed check is adopted. Stand-ins for a model propose
// checks from the half of a rule's test cases that a model is shown. It prints the table of docs/quality.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/modeleval"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/subject"
)

// sizes say how many cases of a rule are test cases; the rest is unseen.
type sizes struct{ breaking, keeping, unseen int }

func main() {
	half := flag.Int("half", 0, "take the rules of one half only: 1 or 2")
	var n sizes
	flag.IntVar(&n.breaking, "breaking", 12, "test cases of a rule that break it")
	flag.IntVar(&n.keeping, "keeping", 8, "test cases of a rule that keep it")
	flag.IntVar(&n.unseen, "unseen", 25, "most cases of each verdict that are looked at after a check is adopted")
	verbose := flag.Bool("v", false, "print checks that decide alone, and what they let through")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: checks [flags] CASES.jsonl...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), *half, n, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, half int, n sizes, verbose bool) error {
	if len(files) == 0 {
		return errors.New("name files of cases: scripts/eslint-cases makes some")
	}
	rules, err := read(files, half, n)
	if err != nil {
		return err
	}
	fmt.Printf("%d rules\n\n| proposals | rules | proposed for | decide both | unseen violations of these | denied | left to the judge | **ALLOW** | ALLOW if every proposal decided both | kept rules denied |\n|---|---|---|---|---|---|---|---|---|---|\n", len(rules))
	for _, p := range proposers {
		t := tally{verbose: verbose}
		for i := range rules {
			if err := t.add(ctx, p, &rules[i]); err != nil {
				return fmt.Errorf("%s: %w", rules[i].statement, err)
			}
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %s | %s | %s |\n", p.name, t.rules, t.proposed, t.both, t.unseen, t.denied, t.unseen-t.denied-t.allowed,
			share(t.allowed, t.unseen), share(t.unproven, t.unseen), share(t.falseDeny, t.keeping))
	}
	return nil
}

// ruleCases are a rule's test cases and those that nobody sees before a check is adopted.
type ruleCases struct {
	statement    string
	tests        []modeleval.Case
	broken, kept []modeleval.Case // unseen
}

func read(files []string, half int, n sizes) (out []ruleCases, err error) {
	byRule := map[string]map[rule.Verdict][]modeleval.Case{}
	for _, name := range files {
		cases, err := readFile(name)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			s := c.Rule.Statement
			if half != 0 && int(hash(s)%2) != half-1 || len(c.Input.Files) != 1 {
				continue
			}
			if byRule[s] == nil {
				byRule[s] = map[rule.Verdict][]modeleval.Case{}
			}
			byRule[s][c.Expected] = append(byRule[s][c.Expected], c)
		}
	}
	for statement, lists := range byRule {
		if len(lists[rule.Deny]) <= n.breaking || len(lists[rule.Allow]) <= n.keeping {
			continue
		}
		r := ruleCases{statement: statement}
		for verdict, list := range lists {
			slices.SortFunc(list, func(a, b modeleval.Case) int {
				return cmp.Or(cmp.Compare(hash(a.ID), hash(b.ID)), cmp.Compare(a.ID, b.ID))
			})
			tests, to := n.breaking, &r.broken
			if verdict == rule.Allow {
				tests, to = n.keeping, &r.kept
			}
			r.tests = append(r.tests, list[:tests]...)
			*to = list[tests:min(len(list), tests+n.unseen)]
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ruleCases) int { return cmp.Compare(a.statement, b.statement) })
	return out, nil
}

func readFile(name string) (_ []modeleval.Case, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return modeleval.Read(strings.TrimSuffix(filepath.Base(name), ".jsonl"), f)
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// tally counts what becomes of the unseen cases of the rules for which a check was adopted.
type tally struct {
	verbose                           bool
	rules, proposed, both             int
	unseen, denied, allowed, unproven int // cases that break their rule
	keeping, falseDeny                int // cases that keep it
}

func (t *tally) add(ctx context.Context, p proposer, rc *ruleCases) error {
	if p.only != nil && p.only[rc.statement] == nil {
		return nil
	}
	t.rules++
	box, r, done, err := bed(ctx, p, rc)
	if err != nil {
		return err
	}
	defer done()
	ctx = auth.WithActor(ctx, auth.Local("bench"))
	proposals, err := box.Propose(ctx, r.ProjectID, r.ID)
	if err != nil || len(proposals.Proposals) == 0 {
		return err
	}
	best := proposals.Proposals[0].Check
	for _, p := range proposals.Proposals {
		if p.Check.Decides == rule.Both {
			best = p.Check
			break
		}
	}
	t.proposed++
	if best.Decides == rule.Both {
		t.both++
		if t.verbose {
			fmt.Fprintf(os.Stderr, "%s: %s decides: %+v %s\n", p.name, rc.statement, best.Pattern, best.CEL)
		}
	} else if t.verbose {
		fmt.Fprintf(os.Stderr, "%s: %s denies: %+v %s, since %q\n", p.name, rc.statement, best.Pattern, best.CEL, proposals.Proposals[0].DenyOnly)
	}
	says := func(c *modeleval.Case, decides rule.Decides) (rule.Verdict, error) {
		r := r.Clone()
		adopted := best
		adopted.Decides = decides
		r.Check = &adopted
		trial, err := box.Play(ctx, r, sandbox.Sample{Code: *c.Input.Files[0].Content, Path: c.Input.Files[0].Path, ChecksOnly: true})
		return trial.Raw, err
	}
	for i := range rc.broken {
		t.unseen++
		got, err := says(&rc.broken[i], best.Decides)
		if err != nil {
			return err
		}
		switch got {
		case rule.Deny:
			t.denied++
		case rule.NeedsConfirmation:
		case rule.Allow:
			if t.allowed++; t.verbose {
				fmt.Fprintf(os.Stderr, "%s: lets through %s: %q\n", p.name, rc.broken[i].ID, *rc.broken[i].Input.Files[0].Content)
			}
		}
		if got, err = says(&rc.broken[i], rule.Both); err != nil {
			return err
		}
		if got == rule.Allow {
			t.unproven++
		}
	}
	for i := range rc.kept {
		t.keeping++
		got, err := says(&rc.kept[i], best.Decides)
		if err != nil {
			return err
		}
		if got == rule.Deny {
			t.falseDeny++
		}
	}
	return nil
}

// noRecord is a project in which nothing was evaluated.
type noRecord struct{}

func (noRecord) Subject(context.Context, string, string) (subject.Input, []rule.RuleVerdict, error) {
	return subject.Input{}, nil, rule.NotFound("evaluation", "")
}

func (noRecord) Past(context.Context, string, string, int) ([]subject.Past, error) { return nil, nil }

// bed is a sandbox on a database with one rule and its test cases. done removes it.
func bed(ctx context.Context, p proposer, rc *ruleCases) (box *sandbox.Sandbox, r rule.Rule, done func(), err error) {
	dir, err := os.MkdirTemp("", "checks")
	if err != nil {
		return nil, r, nil, err
	}
	s, err := sqlstore.OpenSQLite(ctx, dir, sqlstore.Options{})
	if err != nil {
		return nil, r, nil, err
	}
	done = func() {
		if err := errors.Join(s.Close(), os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "checks:", err)
		}
	}
	r = rule.Rule{
		ID: "00000000-0000-7000-8000-000000000001", ProjectID: rule.DefaultProject, Slug: "R-1", Version: 1, Statement: rc.statement,
		AppliesTo: &rule.AppliesTo{Paths: []string{"**/*.js"}},
	}
	r.Normalize()
	model := stand{p, rc.statement}
	box = sandbox.New(sandbox.Config{
		Store: sandbox.Store{Updater: s, Jobs: s.Jobs, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Model: model, Recorded: noRecord{}, Now: time.Now,
		Evaluator: evaluate.New(evaluate.Config{Checks: check.NewCache(100), Now: time.Now, Judge: judge.New(judge.Config{Model: model})}),
	})
	ctx = auth.WithActor(ctx, auth.Local("bench"))
	err = s.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Projects.Get(ctx, rule.DefaultProject); rule.CodeOf(err) == rule.CodeNotFound {
			if err := tx.Projects.Create(ctx, rule.Project{ID: rule.DefaultProject}); err != nil {
				return err
			}
		}
		return tx.Rules.Insert(ctx, 1, []rule.Rule{r})
	})
	for i := 0; err == nil && i < len(rc.tests); i++ {
		c := &rc.tests[i]
		_, err = box.AddCase(ctx, r.ProjectID, r.ID, sandbox.NewCase{Name: c.ID, SampleInput: *c.Input.Files[0].Content, ExpectedVerdict: c.Expected})
	}
	if err != nil {
		done()
		return nil, r, nil, err
	}
	return box, r, done, nil
}

// share is a share with its 95 % interval.
func share(n, of int) string {
	v := rule.Wilson(n, of)
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d, %.3f (%.3f to %.3f)", n, of, v.Value, v.Low, v.High)
}
