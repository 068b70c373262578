package corpus_test

import (
	"fmt"
	"strings"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func from(n int, statement, section string) store.RuleState {
	return newRule(n, func(r *rule.Rule) {
		r.Statement, r.SourceRefs = statement, []rule.SourceRef{{Kind: "law", URI: "GEN", Section: section}}
	})
}

func TestACitedPassageIsFoundFirst(t *testing.T) {
	v := view(t,
		from(1, "A firm must keep records of its rules.", "Rule 3.2.1(a)"),
		from(2, "Every rule of a firm is a rule under rule 3 and rule 2 and rule 1.", "Rule 9.1.1"),
		from(3, "Clients are told of fees.", "3.2.1 (b)"),
		from(4, "Fees are fair.", "3.2.10"),
		from(5, "Security of processing is appropriate to the risk.", "Article 32(1)"),
		says(6, "3.2.1(c) Complaints are answered within 8 weeks.", ""),
		newRule(7, func(r *rule.Rule) {
			r.Statement, r.Status, r.SourceRefs = "Retired.", rule.Retired, []rule.SourceRef{{Kind: "law", Section: "3.2.1(a)"}}
		}),
	)
	inForce := corpus.Filter{Statuses: []rule.Status{rule.Effective}}
	for query, want := range map[string]string{
		"Rule 3.2.1(a)":                       "R-1",
		"what does rule 3.2.1 (a) say":        "R-1",
		"3.2.1(b)":                            "R-3",
		"3.2.1":                               "R-6 R-3 R-1",
		"GDPR Art. 32":                        "R-5",
		"§ 32(1)":                             "R-5",
		"under section 3.2.1(c), which weeks": "R-6",
	} {
		hits, total := v.Keyword(query, inForce, 0, 10)
		if got := names(hits); got != want && !strings.HasPrefix(got, want+" ") {
			t.Errorf("%q finds %s, want %s first", query, got, want)
		}
		var paged []corpus.Hit
		for i := range total {
			one, _ := v.Keyword(query, inForce, i, 1)
			paged = append(paged, one...)
		}
		if names(paged) != names(hits) {
			t.Errorf("%q: pages have %s, one list %s", query, names(paged), names(hits))
		}
	}
	for _, query := range []string{"within 8 weeks", "TLS 1.2", "2026-03-01", "99.9%", "10.000", `"rule 3.2.1(a)"`, "how are fees and complaints told to clients under rule 3.2.1(a)"} {
		if hits, _ := v.Keyword(query, inForce, 0, 1); len(hits) > 0 && hits[0].Rule.Slug == "R-1" {
			t.Errorf("%q cites nothing", query)
		}
	}
}

func TestADefinitionIsFoundFirst(t *testing.T) {
	list := []store.RuleState{says(1, "\"Retail Client\" means a client who is not professional.", "")}
	for i := range 20 {
		list = append(list, says(i+2, fmt.Sprintf("A retail client, retail client or retail client %d is told what does matter.", i), ""))
	}
	v := view(t, list...)
	for _, query := range []string{"What does Retail Client mean?", "what is meant by \"retail client\"", "definition of retail client", "define retail client"} {
		if hits, _ := v.Keyword(query, corpus.Filter{}, 0, 1); names(hits) != "R-1" {
			t.Errorf("%q finds %s first", query, names(hits))
		}
	}
}
