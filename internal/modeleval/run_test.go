package modeleval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/modeleval"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// script decides by the id of the rule: the verdicts of its entry in turn, and what takes no verdict is not decided.
type script struct {
	mu    sync.Mutex
	calls map[string]int
	by    map[string]string // id to letters: A, D, N for the model's verdicts, X for undecided
	now   time.Time
	hook  func()
}

func (s *script) Model() string  { return "fake:model" }
func (s *script) Prompt() string { return "v1" }

func (s *script) Decide(_ context.Context, _ *subject.Subject, r *rule.Rule) (rule.RuleVerdict, rule.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != nil {
		s.hook()
	}
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	n := s.calls[r.ID]
	s.calls[r.ID]++
	letters := s.by[r.ID]
	v := rule.RuleVerdict{DecidedBy: rule.ByModel, Reasoning: "said of " + r.ID}
	switch letters[n%len(letters)] {
	case 'A':
		v.Verdict = rule.Allow
	case 'D':
		v.Verdict = rule.Deny
	case 'N':
		v.Verdict = rule.NeedsConfirmation
	default:
		v.Verdict, v.DecidedBy = rule.NeedsConfirmation, rule.ByNone
	}
	return v, rule.Cost{Calls: 2, InputTokens: 100, OutputTokens: 10}
}

// Triage keeps rules that are denied, rules out those that are allowed, and finds nothing out about the others.
func (s *script) Triage(_ context.Context, _ *subject.Subject, rules []*rule.Rule) ([]wire.TriageOutcome, rule.Cost) {
	out := make([]wire.TriageOutcome, len(rules))
	for i, r := range rules {
		switch s.by[r.ID][0] {
		case 'D':
			out[i] = wire.TriageKept
		case 'A':
			out[i] = wire.TriageRuledOut
		}
	}
	return out, rule.Cost{Calls: 1, InputTokens: 1000, OutputTokens: 10, TriageCalls: 1}
}

func TestRecallOfTriage(t *testing.T) {
	// Expected D D D D A A A; triage says kept, ruled out, open, kept, ruled out, kept, ruled out.
	s := &script{by: map[string]string{"c0": "D", "c1": "A", "c2": "X", "c3": "D", "c4": "A", "c5": "D", "c6": "A"}}
	cases := labelled(t, "DDDDAAA")
	for i := range cases {
		cases[i].Rule.Statement = fmt.Sprintf("Statement %d.", i)
	}
	seen := 0
	r := run(t, s, cases, modeleval.Options{Others: 5, Progress: func(done, all int) {
		if seen = done; all != 7+4 {
			t.Errorf("progress %d of %d", done, all)
		}
	}})
	f := r.Triage
	if f == nil || f.Violating != 4 || f.Kept != 2 || f.RuledOut != 1 || f.Open != 1 || !near(f.Recall, 0.5) || f.Cost.Calls != 4 || seen != 11 {
		t.Fatalf("triage %+v, progress %d", f, seen)
	}
	if f.OthersRuledOut == nil || *f.OthersRuledOut < 0.3 || *f.OthersRuledOut > 0.6 {
		t.Errorf("others ruled out %v", *f.OthersRuledOut)
	}
	if r.Cost.Calls != 14 || r.Results[1].Triage != wire.TriageRuledOut || r.Results[4].Triage != "" {
		t.Errorf("cost %+v, results %+v", r.Cost, r.Results)
	}
	r.Price(1, 1)
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b, nil, false); err != nil || !strings.Contains(b.String(), "| among 5 others | 4         | 2    | 1         | 1    | 50 %") ||
		!strings.Contains(b.String(), "The tokens of triage cost 0.0040 USD.") {
		t.Errorf("%v\n%s", err, b.String())
	}
	// A run that rules more broken rules out.
	worse := &script{by: map[string]string{"c0": "A", "c1": "A", "c2": "X", "c3": "D", "c4": "A", "c5": "D", "c6": "A"}}
	c, err := modeleval.Compare(r, run(t, worse, cases, modeleval.Options{Others: 5}))
	if err != nil || c.Triaged != 4 || c.Triage.Before != 3 || c.Triage.After != 2 || c.Triage.Lost != 1 || c.Triage.Gained != 0 {
		t.Errorf("compared %+v, %v", c, err)
	}
	if c, err := modeleval.Compare(r, run(t, worse, cases, modeleval.Options{})); err != nil || c.Triaged != 0 {
		t.Errorf("compared %+v, %v", c, err)
	}
}

// labelled makes cases: expected verdicts by id, as letters.
func labelled(t *testing.T, expected string) []modeleval.Case {
	t.Helper()
	var text strings.Builder
	for i, letter := range expected {
		verdict := map[rune]rule.Verdict{'A': rule.Allow, 'D': rule.Deny, 'N': rule.NeedsConfirmation}[letter]
		fmt.Fprintf(&text, `{"id":"c%d","statement":"s","facts":{"a":1},"expected":"%s"}`+"\n", i, verdict)
	}
	return read(t, text.String())
}

func run(t *testing.T, s *script, cases []modeleval.Case, o modeleval.Options) *modeleval.Report {
	t.Helper()
	r, err := modeleval.Run(t.Context(), s, cases, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(x *float64, want float64) bool { return x != nil && math.Abs(*x-want) < 1e-9 }

func TestFiguresOfARun(t *testing.T) {
	// Expected A A D D D N; given A D D A X N.
	s := &script{by: map[string]string{"c0": "A", "c1": "D", "c2": "D", "c3": "A", "c4": "X", "c5": "N"}}
	r := run(t, s, labelled(t, "AADDDN"), modeleval.Options{})
	f := r.Figures
	if r.Model != "fake:model" || r.Prompt != "v1" || r.Cases != 6 || r.Repeat != 1 || f.Judgements != 6 || f.Correct != 3 || f.Abstained != 2 ||
		f.Undecided != 1 || f.FalseAllows != 1 || f.FalseDenies != 1 || f.Flipped != 0 {
		t.Errorf("got %+v", f)
	}
	if !near(f.Accuracy, 0.5) || !near(f.AccuracyDecided, 0.5) {
		t.Errorf("accuracy %v, of decided %v", *f.Accuracy, *f.AccuracyDecided)
	}
	want := []struct {
		v                      rule.Verdict
		precision, recall, sum float64
	}{{rule.Allow, 1. / 2, 1. / 2, 1. / 2}, {rule.Deny, 1. / 2, 1. / 3, 2. / 5}, {rule.NeedsConfirmation, 1. / 2, 1, 2. / 3}}
	for i, w := range want {
		if s := f.Scores[i]; s.Verdict != w.v || !near(s.Precision, w.precision) || !near(s.Recall, w.recall) || !near(s.F1, w.sum) {
			t.Errorf("%s: %v %v %v, want %+v", s.Verdict, *s.Precision, *s.Recall, *s.F1, w)
		}
	}
	if f.Cost != (rule.Cost{Calls: 12, InputTokens: 600, OutputTokens: 60}) {
		t.Errorf("cost %+v", f.Cost)
	}
	if r.Price(2, 30); !near(r.USD, (600*2+60*30)/1e6) {
		t.Errorf("price %v", *r.USD)
	}
	if got := r.Results[3]; got.ID != "c3" || got.Reason != "said of c3" || r.Results[0].Reason != "" {
		t.Errorf("results %+v", r.Results)
	}
}

func TestSharesOfNothingAreNone(t *testing.T) {
	r := run(t, &script{by: map[string]string{"c0": "X"}}, labelled(t, "D"), modeleval.Options{})
	if r.AccuracyDecided != nil || r.Scores[0].Precision != nil || r.Scores[0].Recall != nil || r.Scores[0].F1 != nil || !near(r.Scores[1].Recall, 0) {
		t.Errorf("got %+v", r.Figures)
	}
}

func TestRepeatsShowFlipsAndAreCountedOnePerJudgement(t *testing.T) {
	s := &script{by: map[string]string{"c0": "AAD", "c1": "D", "c2": "NX"}}
	r := run(t, s, labelled(t, "ADD"), modeleval.Options{Repeat: 3, Parallel: 1})
	if r.Flipped != 1 || r.Judgements != 9 || r.Correct != 5 || r.Abstained != 3 || fmt.Sprint(r.Results[0].Verdicts) != "[ALLOW ALLOW DENY]" {
		t.Errorf("got %+v with %v", r.Figures, r.Results)
	}
}

func TestSetsAreMeasuredApart(t *testing.T) {
	cases := labelled(t, "AD")
	cases[0].Set, cases[1].Set = "two", "one"
	r := run(t, &script{by: map[string]string{"c0": "A", "c1": "A"}}, cases, modeleval.Options{})
	if len(r.Sets) != 2 || r.Sets[0].Name != "one" || !near(r.Sets[0].Accuracy, 0) || r.Sets[1].Name != "two" || !near(r.Sets[1].Accuracy, 1) {
		t.Errorf("got %+v", r.Sets)
	}
}

func TestLatenciesAreNearestRanks(t *testing.T) {
	s := &script{by: map[string]string{}, now: time.Unix(0, 0)}
	var expected string
	for i := range 20 {
		s.by[fmt.Sprintf("c%d", i)] = "A"
		expected += "A"
	}
	steps := 0
	s.hook = func() { steps++; s.now = s.now.Add(time.Duration(steps) * time.Second) } // 1 s, 2 s, ... 20 s
	r := run(t, s, labelled(t, expected), modeleval.Options{Parallel: 1, Now: func() time.Time { return s.now }})
	if r.P50MS != 10_000 || r.P95MS != 19_000 {
		t.Errorf("p50 %v, p95 %v", r.P50MS, r.P95MS)
	}
}

func TestProgressCountsUpToAll(t *testing.T) {
	var seen []int
	s := &script{by: map[string]string{"c0": "A", "c1": "A", "c2": "A"}}
	run(t, s, labelled(t, "AAA"), modeleval.Options{Repeat: 2, Parallel: 3, Progress: func(done, all int) {
		if seen = append(seen, done); all != 6 {
			t.Errorf("%d of %d", done, all)
		}
	}})
	if fmt.Sprint(seen) != "[0 1 2 3 4 5 6]" {
		t.Errorf("told %v", seen)
	}
}

func TestAnInterruptedRunMeasuresNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{by: map[string]string{"c0": "A", "c1": "A", "c2": "A"}, hook: cancel}
	if r, err := modeleval.Run(ctx, s, labelled(t, "AAA"), modeleval.Options{Parallel: 1, Repeat: 50}); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestReportsSurviveJSON(t *testing.T) {
	r := run(t, &script{by: map[string]string{"c0": "A", "c1": "X"}}, labelled(t, "AD"), modeleval.Options{})
	var b, again bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := modeleval.LoadReport(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.WriteJSON(&again); err != nil || again.String() != text {
		t.Errorf("%v: became\n%s, was\n%s", err, again.String(), text)
	}
	for _, bad := range []string{"", "[]", "{}", `{"version":2}`, `{"version":1,"results":[{"id":"a"}]}`} {
		if _, err := modeleval.LoadReport(strings.NewReader(bad)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMarkdownIsSafeAndTellsWhatWentWrong(t *testing.T) {
	cases := labelled(t, "AD")
	cases[0].ID, cases[0].Rule.ID = "a|b\n\x1b[31m<script>", "c0"
	r := run(t, &script{by: map[string]string{"c0": "D", "c1": "D"}}, cases, modeleval.Options{})
	var b strings.Builder
	if err := r.WriteMarkdown(&b, nil, true); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"# fake:model", "2 cases, judged once each", "| some | 2      | 50 %  |", "| a/b [31m‹script>", "said of c0", "1 of 2 cases"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.ContainsRune(got, 0x1b) || strings.Contains(got, "<script") {
		t.Errorf("got\n%q", got)
	}
	b.Reset()
	if err := r.WriteMarkdown(&b, nil, false); err != nil || strings.Contains(b.String(), "said of") {
		t.Errorf("the short form lists cases:\n%s", &b)
	}
}
