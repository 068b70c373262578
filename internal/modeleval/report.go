package modeleval

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// ReportVersion is the version of the form of a report.
const ReportVersion = 1

// Report has the figures of a run. They count judgements, of which each case has Repeat.
type Report struct {
	Version int    `json:"version"`
	Model   string `json:"model"`  // empty: no model was asked
	Prompt  string `json:"prompt"` // version of the prompts
	Cases   int    `json:"cases"`
	Repeat  int    `json:"repeat"`

	Figures
	// USD is the cost of the tokens; nil without prices.
	USD *float64 `json:"usd,omitempty"`
	// Sets has the figures of each file of cases, by name.
	Sets []Set `json:"sets"`
	// Triage has the figures of triage; nil if it was not measured.
	Triage *TriageFigures `json:"triage,omitempty"`
	// Results has every case, by id.
	Results []Result `json:"results"`
}

// Set is the figures of one file of cases.
type Set struct {
	Name string `json:"name"`
	Figures
}

// Figures measure a number of judgements.
type Figures struct {
	Judgements int `json:"judgements"`
	// Correct judgements are those as expected.
	Correct int `json:"correct"`
	// Abstained judgements are NEEDS_CONFIRMATION. Undecided are those of them that no model gave: the answer was missing,
	// unusable, or not proven.
	Abstained int `json:"abstained"`
	Undecided int `json:"undecided"`
	// FalseAllows should not have been ALLOW, FalseDenies should have been.
	FalseAllows int `json:"false_allows"`
	FalseDenies int `json:"false_denies"`
	// Accuracy is the share of correct judgements among all, AccuracyDecided among those that are no abstentions; null for
	// none.
	Accuracy        *float64 `json:"accuracy"`
	AccuracyDecided *float64 `json:"accuracy_decided"`
	// Flipped counts the cases with more than one verdict.
	Flipped int     `json:"flipped"`
	Scores  []Score `json:"scores"`

	Cost rule.Cost `json:"cost"`
	// P50MS and P95MS are the time that half, and 95 of 100, of the judgements took at most, in milliseconds.
	P50MS float64 `json:"p50_ms"`
	P95MS float64 `json:"p95_ms"`
}

// Score is how well one verdict is given. A share of nothing is null.
type Score struct {
	Verdict rule.Verdict `json:"verdict"`
	// Expected and Given count judgements; Right are those that are both.
	Expected int `json:"expected"`
	Given    int `json:"given"`
	Right    int `json:"right"`
	// Precision is Right among Given, Recall is Right among Expected, F1 is their harmonic mean.
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
}

// Result is the outcome of one case.
type Result struct {
	ID       string         `json:"id"`
	Hash     string         `json:"hash"`
	Set      string         `json:"set"`
	Expected rule.Verdict   `json:"expected"`
	Verdicts []rule.Verdict `json:"verdicts"`
	// Reason is that of the first verdict that is not as expected.
	Reason string `json:"reason,omitempty"`
	// Triage is the outcome of triage for the rule of the case, which its subject breaks; empty if it was not measured.
	Triage wire.TriageOutcome `json:"triage,omitempty"`
}

// maxReason bounds the reason in a result, in bytes.
const maxReason = 500

func measure(d Decider, cases []Case, got [][]judgement) *Report {
	r := &Report{Version: ReportVersion, Model: d.Model(), Prompt: d.Prompt(), Cases: len(cases), Sets: []Set{}, Results: []Result{}}
	bySet := map[string][]int{}
	all := make([]int, len(cases))
	for i := range cases {
		all[i] = i
		bySet[cases[i].Set] = append(bySet[cases[i].Set], i)
		r.Repeat = len(got[i])
		r.Results = append(r.Results, resultOf(&cases[i], got[i]))
	}
	slices.SortFunc(r.Results, func(a, b Result) int { return strings.Compare(a.ID, b.ID) })
	r.Figures = figures(cases, got, all)
	for name, members := range bySet {
		r.Sets = append(r.Sets, Set{name, figures(cases, got, members)})
	}
	slices.SortFunc(r.Sets, func(a, b Set) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func resultOf(c *Case, got []judgement) Result {
	out := Result{ID: c.ID, Hash: c.Hash, Set: c.Set, Expected: c.Expected}
	for _, j := range got {
		out.Verdicts = append(out.Verdicts, j.verdict)
		if j.verdict != c.Expected && out.Reason == "" {
			out.Reason = text.Clip(j.reason, maxReason, "...")
		}
	}
	return out
}

// figures measures the judgements of the cases with the given indices.
func figures(cases []Case, got [][]judgement, members []int) Figures {
	f := Figures{}
	expected, given, right := map[rule.Verdict]int{}, map[rule.Verdict]int{}, map[rule.Verdict]int{}
	var took []time.Duration
	for _, i := range members {
		want := cases[i].Expected
		if slices.ContainsFunc(got[i], func(j judgement) bool { return j.verdict != got[i][0].verdict }) {
			f.Flipped++
		}
		for _, j := range got[i] {
			f.Judgements++
			expected[want]++
			given[j.verdict]++
			took = append(took, j.took)
			f.Cost.Calls += j.cost.Calls
			f.Cost.InputTokens += j.cost.InputTokens
			f.Cost.OutputTokens += j.cost.OutputTokens
			f.Cost.CachedCalls += j.cost.CachedCalls
			switch {
			case j.verdict == want:
				right[want]++
				f.Correct++
			case j.verdict == rule.Allow:
				f.FalseAllows++
			case j.verdict == rule.Deny && want == rule.Allow:
				f.FalseDenies++
			}
			if j.by == rule.ByNone {
				f.Undecided++
			}
		}
	}
	f.Abstained = given[rule.NeedsConfirmation]
	f.Accuracy = share(f.Correct, f.Judgements)
	f.AccuracyDecided = share(f.Correct-right[rule.NeedsConfirmation], f.Judgements-f.Abstained)
	for _, v := range rule.Verdicts {
		s := Score{Verdict: v, Expected: expected[v], Given: given[v], Right: right[v]}
		s.Precision, s.Recall = share(s.Right, s.Given), share(s.Right, s.Expected)
		s.F1 = share(2*s.Right, s.Given+s.Expected)
		f.Scores = append(f.Scores, s)
	}
	slices.Sort(took)
	f.P50MS, f.P95MS = quantile(took, 0.5), quantile(took, 0.95)
	return f
}

// Price notes what the tokens cost at prices in US dollars per million tokens.
func (r *Report) Price(input, output float64) {
	usd := func(c *rule.Cost) *float64 {
		return new((float64(c.InputTokens)*input + float64(c.OutputTokens)*output) / 1e6)
	}
	r.USD = usd(&r.Cost)
	if r.Triage != nil {
		r.Triage.USD = usd(&r.Triage.Cost)
	}
}

// share is part of whole, or nil of nothing.
func share(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// quantile is the least of sorted that at least the share q of them do not exceed (the nearest rank), in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[max(rank, 1)-1].Microseconds()) / 1000
}

// WriteJSON writes the report as JSON, which [LoadReport] reads.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// maxReport bounds a report that is read.
const maxReport = 256 << 20

// LoadReport reads a report. It fails with an error of code invalid for anything else.
func LoadReport(from io.Reader) (*Report, error) {
	b, err := io.ReadAll(io.LimitReader(from, maxReport+1))
	if err != nil {
		return nil, err
	}
	var r Report
	if len(b) > maxReport {
		return nil, rule.Errorf(rule.CodeInvalid, "the report is larger than %d bytes", maxReport)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "this is no report of `tenet eval --report`: %w", err)
	}
	if r.Version != ReportVersion {
		return nil, rule.Errorf(rule.CodeInvalid, "this is no report of `tenet eval --report`, or one of another version: its version is %d, not %d", r.Version, ReportVersion)
	}
	for i := range r.Results {
		if len(r.Results[i].Verdicts) == 0 {
			return nil, rule.Errorf(rule.CodeInvalid, "the report has no verdict for the case %q", r.Results[i].ID)
		}
	}
	return &r, nil
}
