package corpus_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// A rule is found and ranked by its examples, which count as the rationale does.
func TestExamplesAreRead(t *testing.T) {
	long := strings.Repeat("word ", 120)
	v := view(t,
		newRule(1, func(r *rule.Rule) { r.Statement = "Invoices name a cost centre." }),
		newRule(2, func(r *rule.Rule) { r.Statement = "Travel needs an approval." }),
		newRule(3, func(r *rule.Rule) {
			r.Statement = "Open redirects are forbidden."
			r.Examples = []rule.Example{{Input: "header(location) sendTo", Verdict: rule.Deny}, {Input: "urlencode target", Verdict: rule.Allow}}
		}),
		newRule(4, func(r *rule.Rule) {
			r.Statement = "Long examples are cut."
			for range 3 {
				r.Examples = append(r.Examples, rule.Example{Input: long, Verdict: rule.Deny})
			}
			r.Examples[2].Input += "within " + long + " beyond"
		}),
	)
	hits, total := v.Keyword("sendTo", corpus.Filter{}, 0, 5)
	if total != 1 || hits[0].Rule.ID != newRule(3, nil).Rule.ID {
		t.Errorf("found %d rules by an example", total)
	}
	if _, total = v.Keyword(`"sendTo urlencode"`, corpus.Filter{}, 0, 5); total != 0 {
		t.Error("words of two examples make a phrase")
	}
	if _, total = v.Keyword("within", corpus.Filter{}, 0, 5); total != 1 {
		t.Error("the beginning of a long example is not read")
	}
	if _, total = v.Keyword("beyond", corpus.Filter{}, 0, 5); total != 0 {
		t.Error("the text of examples is not bounded")
	}
	matches := v.Applicable(&corpus.Query{Now: time.Now(), AnyKind: true, AnyPath: true, Terms: []string{"sendTo(x)", "header"}})
	if len(matches) != 4 || matches[0].Rule.ID != newRule(3, nil).Rule.ID {
		t.Errorf("the rule with the example is not first: %v", matches[0].Rule.Statement)
	}
}

// A rule ranks no lower for having examples that do not have the word.
func TestExamplesDoNotCountIntoTheLength(t *testing.T) {
	short := newRule(1, func(r *rule.Rule) { r.Statement = "Refund payments need approval." })
	long := newRule(2, func(r *rule.Rule) {
		r.Statement = "Staff who talk with customers on the phone write a note, also if the talk is about a refund."
	})
	withExamples := newRule(1, func(r *rule.Rule) {
		r.Statement = short.Rule.Statement
		for _, name := range []string{"post", "send", "book", "pay"} {
			r.Examples = append(r.Examples, rule.Example{Input: name + "Money(account, amount, currency); ledger.append(entry.of(account, amount)); return receipt", Verdict: rule.Deny})
		}
	})
	var before float64
	for _, first := range []store.RuleState{short, withExamples} {
		hits, total := view(t, first, long).Keyword("refund", corpus.Filter{}, 0, 5)
		if total != 2 || hits[0].Rule.ID != short.Rule.ID {
			t.Fatalf("with %d examples, %d rules are found and the short one is not first", len(first.Rule.Examples), total)
		}
		if before != 0 && hits[0].Score < before {
			t.Errorf("examples lower the score from %v to %v", before, hits[0].Score)
		}
		before = hits[0].Score
	}
}
