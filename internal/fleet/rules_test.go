package fleet

import (
	"fmt"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// The rules of records are found in whatever form of JSON an edge has written them, equal lists once.
func TestRulesOfRecords(t *testing.T) {
	one := `[{"rule_id":"a","version":1,"content_hash":"x"}]`
	bodies := []string{
		`{"evaluation":{"rules":[]},"rules":` + one + `,"prompt_version":"p"}`, ` { "rules" : ` + one + ` } `, `{"\u0072ules":` + one + `}`, `{"rules":[],"rules":` + one + `}`,
		`{"rules":[{"version":1,"content_hash":"x","rule_id":"a"}]}`,
	}
	var entries []store.AuditEntry
	for _, body := range bodies {
		entries = append(entries, store.AuditEntry{Kind: audit.KindEvaluation, Body: audit.Compress([]byte(body))})
	}
	used, err := rulesOf(append(entries, store.AuditEntry{Kind: audit.KindRule}))
	if err != nil || len(used) != len(bodies)+1 {
		t.Fatal(used, err)
	}
	for i, list := range used[:len(bodies)] {
		if len(list) != 1 || list[0] != (wire.RecordedRule{RuleID: "a", Version: 1, ContentHash: "x"}) {
			t.Errorf("the rules in %s are %+v", bodies[i], list)
		}
	}
	if &used[0][0] != &used[1][0] || len(used[len(bodies)]) != 0 {
		t.Error("equal lists are read twice, or an entry that is no evaluation has rules")
	}
	for _, body := range []string{``, `[]`, `{"rules":[}`, `{"rules":1}`, `{"rules":[]`, `{"rules":[{"rule_id":1}]}`} {
		if _, err := rulesOf([]store.AuditEntry{{Kind: audit.KindEvaluation, Body: audit.Compress([]byte(body))}}); err == nil {
			t.Errorf("%q is taken for a record", body)
		}
	}
}

func BenchmarkRulesOf(b *testing.B) {
	var rules, verdicts string
	for i := range 20 {
		id := fmt.Sprintf("0197f3c2-7d8e-7abc-9def-%012x", uint64(i+1)*0x9e3779b97f4a7c15>>16)
		rules += fmt.Sprintf(`,{"rule_id":%q,"version":1,"content_hash":%q}`, id, audit.BodyHash([]byte(id)))
		verdicts += fmt.Sprintf(`,{"rule_id":%q,"rule_statement":"In unit %d, a payment must be approved by a second person before it is carried out.","rule_version":1,`+
			`"severity":"HIGH","modality":"MUST","enforcement":"enforce","verdict":"ALLOW","decided_by":"check","confidence":1,"reasoning":"the check holds: facts.amount \u003c= 1000",`+
			`"issue_description":"","fix_suggestion":"","locations":[],"evidence":[],"concerned":true}`, id, i)
	}
	entries := make([]store.AuditEntry, 250)
	for i := range entries {
		body := fmt.Sprintf(`{"evaluation":{"evaluation_id":"%d","rule_verdicts":[%s]},"subject":{"facts":{"amount":%d}},"rules":[%s]}`, i, verdicts[1:], i, rules[1:])
		entries[i] = store.AuditEntry{Kind: audit.KindEvaluation, Body: audit.Compress([]byte(body))}
	}
	for b.Loop() {
		if _, err := rulesOf(entries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(entries)), "us/record")
}
