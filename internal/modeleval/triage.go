package modeleval

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// TriageFigures measure triage on the cases whose subject breaks the rule. Each of them is put among rules of other cases, and
// triage should name it.
type TriageFigures struct {
	// Others is how many rules of other cases went along at most.
	Others int `json:"others"`
	// Violating counts the cases. Of their rules triage has named those Kept, left out those RuledOut, and given no usable answer
	// about those Open, which then are judged or not asked about.
	Violating int `json:"violating"`
	Kept      int `json:"kept"`
	RuledOut  int `json:"ruled_out"`
	Open      int `json:"open"`
	// Recall is Kept among Violating; null for none.
	Recall *float64 `json:"recall"`
	// OthersRuledOut is the share of the other rules that triage has ruled out; null for none.
	OthersRuledOut *float64 `json:"others_ruled_out"`
	// Cost is not part of that of the judgements. USD is the cost of its tokens; nil without prices.
	Cost rule.Cost `json:"cost"`
	USD  *float64  `json:"usd,omitempty"`
}

// triaged is the triage of one violating case.
type triaged struct {
	id      string
	c       *Case
	rules   []*rule.Rule
	outcome wire.TriageOutcome
	// given counts the other rules, ruledOut those of them that were ruled out.
	given, ruledOut int
	cost            rule.Cost
}

// newTriages returns the cases that expect a DENY, each with the rules of at most others other cases: those whose statements have the
// smallest hashes with its id, so that the same cases always get the same rules.
func newTriages(cases []Case, others int) []*triaged {
	if others <= 0 {
		return nil
	}
	byStatement := map[string]*rule.Rule{}
	for i := range cases {
		if r := cases[i].Rule; byStatement[r.Statement] == nil {
			byStatement[r.Statement] = r
		}
	}
	var out []*triaged
	for i := range cases {
		c := &cases[i]
		if c.Expected != rule.Deny {
			continue
		}
		type other struct {
			hash [sha256.Size]byte
			rule *rule.Rule
		}
		var list []other
		for statement, r := range byStatement {
			if statement != c.Rule.Statement {
				list = append(list, other{sha256.Sum256([]byte(c.ID + "\x00" + statement)), r})
			}
		}
		slices.SortFunc(list, func(a, b other) int { return bytes.Compare(a.hash[:], b.hash[:]) })
		t := &triaged{id: c.ID, c: c, rules: []*rule.Rule{c.Rule}, given: min(others, len(list))}
		for _, o := range list[:t.given] {
			t.rules = append(t.rules, o.rule)
		}
		out = append(out, t)
	}
	return out
}

func (t *triaged) run(ctx context.Context, d Decider) {
	outcomes, cost := d.Triage(ctx, t.c.Subject, t.rules)
	t.outcome, t.cost = wire.TriageOpen, cost
	for i, outcome := range outcomes {
		switch {
		case i == 0:
			t.outcome = cmp.Or(outcome, wire.TriageOpen)
		case outcome == wire.TriageRuledOut:
			t.ruledOut++
		}
	}
}

// takeTriage adds the figures of triage to the report.
func (r *Report) takeTriage(list []*triaged, others int) {
	if others <= 0 {
		return
	}
	f := &TriageFigures{Others: others, Violating: len(list)}
	outcomes := map[string]wire.TriageOutcome{}
	given, ruledOut := 0, 0
	for _, t := range list {
		outcomes[t.id] = t.outcome
		switch t.outcome {
		case wire.TriageKept:
			f.Kept++
		case wire.TriageRuledOut:
			f.RuledOut++
		case wire.TriageOpen:
			f.Open++
		}
		given, ruledOut = given+t.given, ruledOut+t.ruledOut
		f.Cost.Add(t.cost)
	}
	f.Recall, f.OthersRuledOut = share(f.Kept, f.Violating), share(ruledOut, given)
	for i := range r.Results {
		r.Results[i].Triage = outcomes[r.Results[i].ID]
	}
	r.Triage = f
}

func (f *TriageFigures) write(b *strings.Builder) {
	table(b, [][]string{
		{"triage", "violating", "kept", "ruled out", "open", "recall", "others ruled out", "calls", "tokens sent", "received"},
		{
			fmt.Sprintf("among %d others", f.Others), fmt.Sprint(f.Violating), fmt.Sprint(f.Kept), fmt.Sprint(f.RuledOut), fmt.Sprint(f.Open), percent(f.Recall),
			percent(f.OthersRuledOut), fmt.Sprint(f.Cost.Calls), fmt.Sprint(f.Cost.InputTokens), fmt.Sprint(f.Cost.OutputTokens),
		},
	})
	if f.USD != nil {
		fmt.Fprintf(b, "The tokens of triage cost %.4f USD.\n\n", *f.USD)
	}
}
