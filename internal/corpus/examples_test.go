package corpus_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
)

// A rule is found and ranked by its examples, which count as the rationale does.
func TestExamplesAreRead(t *testing.T) {
	long := strings.Repeat("word ", 400)
	v := view(t,
		newRule(1, func(r *rule.Rule) { r.Statement = "Invoices name a cost centre." }),
		newRule(2, func(r *rule.Rule) { r.Statement = "Travel needs an approval." }),
		newRule(3, func(r *rule.Rule) {
			r.Statement = "Open redirects are forbidden."
			r.Examples = []rule.Example{{Input: "header(location) sendTo", Verdict: rule.Deny}, {Input: "urlencode target", Verdict: rule.Allow}}
		}),
		newRule(4, func(r *rule.Rule) {
			r.Statement = "Long examples are cut."
			for range 5 {
				r.Examples = append(r.Examples, rule.Example{Input: long, Verdict: rule.Deny})
			}
			r.Examples[4].Input = "beyond " + long
		}),
	)
	hits, total := v.Keyword("sendTo", corpus.Filter{}, 0, 5)
	if total != 1 || hits[0].Rule.ID != newRule(3, nil).Rule.ID {
		t.Errorf("found %d rules by an example", total)
	}
	if _, total = v.Keyword(`"sendTo urlencode"`, corpus.Filter{}, 0, 5); total != 0 {
		t.Error("words of two examples make a phrase")
	}
	if _, total = v.Keyword("beyond", corpus.Filter{}, 0, 5); total != 0 {
		t.Error("the text of examples is not bounded")
	}
	matches := v.Applicable(&corpus.Query{Now: time.Now(), AnyKind: true, AnyPath: true, Terms: []string{"sendTo(x)", "header"}})
	if len(matches) != 4 || matches[0].Rule.ID != newRule(3, nil).Rule.ID {
		t.Errorf("the rule with the example is not first: %v", matches[0].Rule.Statement)
	}
}
