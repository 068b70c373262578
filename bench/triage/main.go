// Command triage measures which share of broken rules is judged where many rules apply: ranking chooses the rules that are asked about
// first, and a stand-in of known recall does triage. It prints the table of docs/quality.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/ledger"
	"tenet/internal/modeleval"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

func main() {
	rules := flag.Int("rules", 2000, "rules that apply to each subject")
	filler := flag.String("filler", "", "file of JSON lines with a statement each: rules to fill up with, beside those of the cases")
	most := flag.Int("max", evaluate.MaxMaxRules, "most rules that are judged")
	recalls := flag.String("recall", "0.90,0.95,0.99", "shares of the broken rules that triage names")
	examples := flag.Bool("examples", false, "give each rule its first case that breaks it as an example, and measure the others")
	named := flag.String("named", "0.005,0.01,0.02,0.04", "shares of the other rules that triage names, for changes that keep their rule")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: triage [flags] CASES.jsonl...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), *rules, *most, *filler, *recalls, *named, *examples); err != nil {
		fmt.Fprintln(os.Stderr, "triage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, size, most int, filler, recalls, named string, examples bool) error {
	if len(files) == 0 {
		return errors.New("name files of cases")
	}
	var cases []modeleval.Case
	for _, name := range files {
		list, err := read(name)
		if err != nil {
			return err
		}
		cases = append(cases, list...)
	}
	if examples {
		var err error
		if cases, err = exemplify(cases); err != nil {
			return err
		}
	}
	more, err := statements(filler)
	if err != nil {
		return err
	}
	all, ids := rulesOf(cases, more, size)
	states := make([]store.RuleState, len(all))
	for i := range all {
		states[i].Rule = all[i]
	}
	view, err := corpus.New(1, states)
	if err != nil {
		return err
	}
	fmt.Printf("%d rules\n\n| cases | broken rules | first 10 | first 20 | first 100 |\n|---|---|---|---|---|\n", len(all))
	sets := bySet(cases, rule.Deny)
	for _, set := range sets {
		places, err := rank(ctx, view, set.cases, ids)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d |", set.name, len(places))
		for _, n := range []int{10, 20, 100} {
			within := 0
			for _, p := range places {
				if p < n {
					within++
				}
			}
			fmt.Printf(" %s |", share(within, len(places)))
		}
		fmt.Println()
	}
	fmt.Printf("\n| cases | recall of triage | judged | ruled out | not asked | ALLOW |\n|---|---|---|---|---|---|\n")
	for _, set := range sets {
		for text := range strings.SplitSeq(recalls, ",") {
			recall, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			if err := triaged(ctx, view, set, ids, recall, most); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\n| changes that keep their rule | other rules that triage names | at most judged | ALLOW |\n|---|---|---|---|\n")
	for _, set := range bySet(cases, rule.Allow) {
		for text := range strings.SplitSeq(named, ",") {
			share, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			if err := kept(ctx, view, set, share, most); err != nil {
				return err
			}
		}
	}
	return nil
}

// set is the cases of one file with one verdict.
type set struct {
	name  string
	cases []modeleval.Case
}

func bySet(cases []modeleval.Case, verdict rule.Verdict) []set {
	var out []set
	for i := range cases {
		if cases[i].Expected != verdict || cases[i].Set == "" {
			continue
		}
		if n := len(out); n == 0 || out[n-1].name != cases[i].Set {
			out = append(out, set{name: cases[i].Set})
		}
		out[len(out)-1].cases = append(out[len(out)-1].cases, cases[i])
	}
	return out
}

func read(name string) (_ []modeleval.Case, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return modeleval.Read(strings.TrimSuffix(filepath.Base(name), ".jsonl"), f)
}

// statements reads the rules to fill up with.
func statements(name string) (out []string, err error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Statement string `json:"statement"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, r.Statement)
	}
	return out, lines.Err()
}

// exemplify gives each rule its first case that breaks it as an example. Of the cases that break a rule it leaves the further ones; the others stay,
// as their rules do.
func exemplify(cases []modeleval.Case) ([]modeleval.Case, error) {
	first := map[string]int{}
	for i := range cases {
		if _, ok := first[cases[i].Rule.Statement]; !ok && cases[i].Expected == rule.Deny {
			first[cases[i].Rule.Statement] = i
		}
	}
	out := make([]modeleval.Case, 0, len(cases))
	for i := range cases {
		c := cases[i]
		k, ok := first[c.Rule.Statement]
		if !ok {
			out = append(out, c)
			continue
		}
		text, err := shown(&cases[k].Input)
		if err != nil {
			return nil, err
		}
		c.Rule.Examples = []rule.Example{{Input: text, Verdict: rule.Deny}}
		if i == k {
			c.Expected = rule.Allow // it stays for its rule, and counts for nothing
			c.Set = ""
		}
		out = append(out, c)
	}
	return out, nil
}

// shown is a subject as an example shows it.
func shown(in *subject.Input) (string, error) {
	if len(in.Facts) > 0 {
		facts, err := json.Marshal(in.Facts)
		return text.FitRunes(string(facts), rule.MaxExample, ""), err
	}
	var b strings.Builder
	for line := range strings.Lines(in.Diff) {
		if added, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++") {
			b.WriteString(added)
		}
	}
	for _, f := range in.Files {
		if f.Content != nil {
			b.WriteString(*f.Content)
		}
	}
	return text.FitRunes(b.String(), rule.MaxExample, ""), nil
}

// rulesOf returns the rules of cases, one for each statement, and more up to size; and the ids of their statements.
func rulesOf(cases []modeleval.Case, more []string, size int) ([]rule.Rule, map[string]string) {
	var out []rule.Rule
	ids := map[string]string{}
	add := func(r rule.Rule) {
		if ids[r.Statement] != "" {
			return
		}
		n := len(out) + 1
		r.ID, r.Slug, r.ProjectID, r.Version, r.Status = fmt.Sprintf("00000000-0000-7000-8000-%012d", n), fmt.Sprintf("R-%04d", n), rule.DefaultProject, n, rule.Effective
		r.Normalize()
		ids[r.Statement] = r.ID
		out = append(out, r)
	}
	for i := range cases {
		add(*cases[i].Rule)
	}
	for _, s := range more {
		if len(out) < size {
			add(rule.Rule{Statement: s, Modality: rule.Must, Severity: rule.Medium})
		}
	}
	return out, ids
}

type fixed struct{ view *corpus.View }

func (f fixed) View(context.Context, string) (*corpus.View, error) { return f.view, nil }

// oneInFifty is the share of the rules that are not broken which triage names, unless it is varied.
const oneInFifty = .02

// model is a stand-in for triage and the judge: it knows which rule is broken, names it with a given recall and a share of the others, and
// denies it if it is asked. Which it names follows from their ids, so that a run can be repeated.
type model struct {
	broken, id string  // broken is empty if no rule is
	recall     float64 // share of the broken rules that it names
	others     float64 // the same of the others
	most       int     // max_rules

	place    int // of the broken rule among those that need the judge
	judged   bool
	ruledOut bool
}

// often reports something with a given probability, always the same of the same words.
func often(share float64, words ...string) bool {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w + "\x00"))
	}
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11)/(1<<53) < share
}

func (m *model) Triage(_ context.Context, s *subject.Subject, rules []*rule.Rule) judge.Triaged {
	t := judge.Triaged{Outcomes: make([]wire.TriageOutcome, len(rules)), Examined: s.Units().Units.All(), Models: []string{"none"}, Cost: rule.Cost{Calls: 1, TriageCalls: 1}}
	for i, r := range rules {
		recall := m.others
		if r.ID == m.broken {
			m.place, recall = i, m.recall
		}
		t.Outcomes[i] = wire.TriageRuledOut
		if often(recall, m.id, r.ID) {
			t.Outcomes[i] = wire.TriageKept
		}
		if r.ID == m.broken {
			m.ruledOut = t.Outcomes[i] == wire.TriageRuledOut
		}
	}
	return t
}

func (m *model) Decide(_ context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result {
	res := judge.Result{Models: []string{"none"}}
	for _, r := range rules {
		v := rule.RuleVerdict{RuleID: r.ID, Verdict: rule.Allow, DecidedBy: rule.ByModel, Concerned: true, Reasoning: "It keeps the rule."}
		if r.ID == m.broken {
			m.judged = true
			v.Verdict, v.Reasoning = rule.Deny, "It breaks the rule."
		}
		a := ledger.NewAccount(s.Units().Units, nil)
		a.Examined(rule.ByModel, s.Units().Units.All())
		res.Verdicts, res.Accounts = append(res.Verdicts, v), append(res.Accounts, a)
	}
	return res
}

func (m *model) evaluate(ctx context.Context, view *corpus.View, c *modeleval.Case) (*rule.Evaluation, error) {
	e := evaluate.New(evaluate.Config{Views: fixed{view}, Judge: m, Checks: check.NewCache(100), Now: time.Now})
	return e.Evaluate(auth.WithActor(ctx, auth.Local("bench")), evaluate.Request{ProjectID: rule.DefaultProject, Input: c.Input, EvaluateOptions: wire.EvaluateOptions{MaxRules: m.most}})
}

// rank returns the places of the broken rules among those that need the judge.
func rank(ctx context.Context, view *corpus.View, cases []modeleval.Case, ids map[string]string) ([]int, error) {
	places := make([]int, len(cases))
	for i := range cases {
		m := &model{broken: ids[cases[i].Rule.Statement], id: cases[i].ID, recall: 1, others: oneInFifty, most: 1, place: -1}
		if _, err := m.evaluate(ctx, view, &cases[i]); err != nil {
			return nil, err
		}
		if m.place < 0 {
			return nil, fmt.Errorf("%s: triage was not asked about its rule", cases[i].ID)
		}
		places[i] = m.place
	}
	return places, nil
}

// triaged prints what becomes of the broken rules with a triage of a given recall.
func triaged(ctx context.Context, view *corpus.View, s set, ids map[string]string, recall float64, most int) error {
	judged, ruledOut, notAsked, allowed := 0, 0, 0, 0
	for i := range s.cases {
		m := &model{broken: ids[s.cases[i].Rule.Statement], id: s.cases[i].ID, recall: recall, others: oneInFifty, most: most}
		e, err := m.evaluate(ctx, view, &s.cases[i])
		if err != nil {
			return err
		}
		switch {
		case m.judged:
			judged++
		case m.ruledOut:
			ruledOut++
		default:
			notAsked++
		}
		if e.OverallVerdict == rule.Allow {
			allowed++
		}
	}
	n := len(s.cases)
	fmt.Printf("| %s | %.2f | %s | %d | %d | %d |\n", s.name, recall, share(judged, n), ruledOut, notAsked, allowed)
	return nil
}

// kept prints what becomes of changes that break nothing, with a triage that names a share of the rules.
func kept(ctx context.Context, view *corpus.View, s set, others float64, most int) error {
	allowed := 0
	for i := range s.cases {
		m := &model{id: s.cases[i].ID, others: others, most: most}
		e, err := m.evaluate(ctx, view, &s.cases[i])
		if err != nil {
			return err
		}
		if e.OverallVerdict == rule.Allow {
			allowed++
		}
	}
	fmt.Printf("| %s | %.3f | %d | %s |\n", s.name, others, most, share(allowed, len(s.cases)))
	return nil
}

// share is a share with its 95 % interval.
func share(n, of int) string {
	r := rule.Wilson(n, of)
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f (%.2f to %.2f)", r.Value, r.Low, r.High)
}
