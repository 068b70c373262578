package catalog_test

import (
	"context"
	"encoding/json"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// corpora lists the kinds of the entries of a chain that count the rules, with the numbers that they have.
func corpora(t *testing.T, s store.Store) (kinds []string, counts []int) {
	t.Helper()
	entries, err := s.Audit.Entries(t.Context(), "default", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var body struct{ Corpus *store.Tally }
		b, err := audit.Body(e)
		if err != nil || json.Unmarshal(b, &body) != nil {
			t.Fatal(err)
		}
		if body.Corpus != nil {
			kinds, counts = append(kinds, e.Kind), append(counts, body.Corpus.Rules)
		}
	}
	return kinds, counts
}

func TestTheAuditChainCountsTheRules(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ctx := as(t.Context(), "ann")
		if _, err := c.Create(ctx, "default", wire.RuleInput{Slug: new("A-1"), Statement: "One."}); err != nil {
			t.Fatal(err)
		}
		two := &wire.RuleFile{Rules: []wire.RuleInput{{Slug: new("A-2"), Statement: "Two."}, {Slug: new("A-3"), Statement: "Three."}}}
		if _, err := c.Import(ctx, "default", two, catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Retire(ctx, "default", "A-1", 0); err != nil {
			t.Fatal(err)
		}
		if err := c.CountUncounted(ctx, func(context.Context, string) (bool, error) { return true, nil }); err != nil { // all are counted
			t.Fatal(err)
		}
		_, err := c.AcceptCorpus(ctx, "default", " ")
		code(t, err, rule.CodeInvalid, "accepting without a reason")
		if tally, err := c.AcceptCorpus(ctx, "default", "the disk broke"); err != nil || tally.Rules != 3 {
			t.Errorf("accepted: %+v, %v", tally, err)
		}
		kinds, counts := corpora(t, s)
		want := []string{audit.KindRule, audit.KindImport, audit.KindRule, audit.KindCorpus}
		if len(kinds) != len(want) {
			t.Fatalf("%v %v", kinds, counts)
		}
		for i, n := range []int{1, 3, 3, 3} {
			if kinds[i] != want[i] || counts[i] != n {
				t.Errorf("entry %d: %s counts %d rules", i, kinds[i], counts[i])
			}
		}
	})
}
