package corpus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// mixed makes rules that differ in every field that filters read, in several segments with deleted documents.
func mixed(t *testing.T, n int) *corpus.View {
	t.Helper()
	make := func(i, edition int) store.RuleState {
		return newRule(i, func(r *rule.Rule) {
			k := i*7 + edition
			r.Severity, r.Status, r.Modality = rule.Severities[k%4], rule.Statuses[k%6], rule.Modalities[k%5]
			r.Statement = fmt.Sprintf("Unit %d must KEEP record %d.", k%9, k)
			r.Rationale = []string{"", "Ärzte prüfen.", "because of 7 things"}[k%3]
			r.Owner, r.Tags, r.Scope = []string{"", "anna", "Bob"}[k%3], []string{fmt.Sprint("T", k%4)}, []string{fmt.Sprintf("s%d/x", k%3)}
			if k%2 == 0 {
				r.SourceRefs = []rule.SourceRef{{Kind: []string{"law", "Policy"}[k%4/2], URI: "GDPR", Section: fmt.Sprintf("Art. %d", k%40), DocumentID: fmt.Sprintf("d-%d", k%5)}}
			}
			if k%3 == 0 {
				r.Check = &rule.Check{CEL: "true"}
			}
		})
	}
	v := view(t)
	var err error
	for _, part := range [][2]int{{0, n / 2}, {n / 2, n - 5}, {n - 5, n}, {3, n / 3}} {
		var states []store.RuleState
		for i := part[0]; i < part[1]; i++ {
			states = append(states, make(i, part[0]))
		}
		if v, err = v.Apply(v.Version()+1, states); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestListsSelectByColumnsWhatTheFilterMatches(t *testing.T) {
	t.Parallel()
	v := mixed(t, 5_000)
	yes, no := true, false
	for _, f := range []corpus.Filter{
		{},
		{Text: "unit 7"},
		{Text: "ÄRZTE"},
		{Text: "R-4"},
		{Text: "record 11."},
		{Text: "holds\xff"},
		{Text: "nothing has this"},
		{Text: "unit 7", Severity: rule.High, Owner: "anna"},
		{Owner: "anna"},
		{Owner: "Anna"},
		{Checked: &yes, Scope: "s1"},
		{Checked: &no, Tags: []string{"t1"}},
		{SourceKind: "POLICY"},
		{SourceKind: "law", DocumentID: "d-4"},
		{DocumentID: "d-3"},
		{Cites: []string{"gdpr  art. 12"}},
		{Cites: []string{"Art. 3", "gdpr"}, Statuses: []rule.Status{rule.Draft, rule.Review}},
		{Text: "keep", Where: func(r *rule.Rule) bool { return strings.HasSuffix(r.ID, "7") }},
		{Where: func(r *rule.Rule) bool { return !strings.HasSuffix(r.ID, "7e") }}, // nearly all
		{Text: "d 4999."},
	} {
		var want []string
		values := map[string]map[string]int{"tags": {}, "owner": {}, "scope": {}}
		for e := range v.All() {
			if f.Matches(e.Rule) {
				want = append(want, e.Rule.ID)
				values["tags"][strings.ToLower(e.Rule.Tags[0])]++
				values["scope"][e.Rule.Scope[0]]++
				if e.Rule.Owner != "" {
					values["owner"][e.Rule.Owner]++
				}
			}
		}
		list, total := v.List(f, 0, 5_000)
		var got []string
		for _, e := range list {
			got = append(got, e.Rule.ID)
		}
		if total != len(want) || !slices.Equal(got, want) {
			t.Errorf("%+v: %d of %d rules", f, total, len(want))
		}
		page, _ := v.List(f, 7, 5)
		if got := len(page); got != min(5, max(len(want)-7, 0)) || got > 0 && page[0].Rule.ID != want[7] {
			t.Errorf("%+v: the page begins elsewhere", f)
		}
		found := corpus.Find(v, corpus.Search{Filter: f, Limit: 5_000, Facets: 3})
		if found.Total != len(want) || len(found.Hits) != len(want) {
			t.Errorf("%+v: found %d of %d", f, found.Total, len(want))
		}
		for name, counts := range map[string][]corpus.Count{"tags": found.Facets.Tags, "owner": found.Facets.Owner, "scope": found.Facets.Scope} {
			var most []corpus.Count
			for value, rules := range values[name] {
				most = append(most, corpus.Count{Value: value, Rules: rules})
			}
			slices.SortFunc(most, func(a, b corpus.Count) int { return 1000*(b.Rules-a.Rules) + strings.Compare(a.Value, b.Value) })
			if most = most[:min(3, len(most))]; !slices.Equal(counts, most) {
				t.Errorf("%+v: counts of %s %v, want %v", f, name, counts, most)
			}
		}
		for name, counts := range map[string][]corpus.Count{
			"status": found.Facets.Status, "severity": found.Facets.Severity, "modality": found.Facets.Modality, "check": found.Facets.Check,
		} {
			sum := 0
			for _, c := range counts {
				sum += c.Rules
			}
			if sum != len(want) {
				t.Errorf("%+v: the counts of %s add up to %d, want %d", f, name, sum, len(want))
			}
		}
	}
}

func TestCiting(t *testing.T) {
	t.Parallel()
	const exactly, below, within = 1, 0.75, 0.5
	for _, test := range []struct {
		ref    rule.SourceRef
		source string
		want   float64
	}{
		{rule.SourceRef{URI: "https://www.Example.com/Policy/"}, "http://example.com/policy", exactly},
		{rule.SourceRef{URI: "https://example.com/policy#s3"}, "https://example.com/policy", below},
		{rule.SourceRef{URI: "https://example.com/eu/policy"}, "policy", within},
		{rule.SourceRef{URI: "https://example.com"}, "https://example.com/policy", 0}, // the page of a site, not the site
		{rule.SourceRef{URI: "GDPR", Section: "Art. 32 (1)"}, "gdpr art. 32 (1)", exactly},
		{rule.SourceRef{URI: "GDPR", Section: "Art. 32 (1)"}, "GDPR  Art. 32", below},
		{rule.SourceRef{Quote: "Personal\n data shall be processed lawfully"}, "personal data", below},
		{rule.SourceRef{DocumentID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f"}, "0198F0A2-7C3E-7B1A-9D1E-2F6B8C4D5E6F", exactly},
		{rule.SourceRef{Kind: "law"}, "LAW", exactly},
		{rule.SourceRef{URI: "ÄRZTEKAMMER"}, "ärztekammer", exactly},
		{rule.SourceRef{}, "x", 0},
		{rule.SourceRef{URI: "GDPR"}, " ", 0},
	} {
		v := view(t, newRule(1, nil), newRule(2, func(r *rule.Rule) { r.SourceRefs = []rule.SourceRef{test.ref} }))
		got := 0.0
		hits, total := corpus.Citing(v, test.source, corpus.Filter{}, 0, 10)
		if len(hits) > 0 {
			got = hits[0].Score
		}
		if got != test.want || total != len(hits) || total > 1 {
			t.Errorf("%+v answers to %q by %v, want %v", test.ref, test.source, got, test.want)
		}
	}
}

func TestFindPutsNamedRulesFirstAndCountsAll(t *testing.T) {
	t.Parallel()
	v := view(t, says(1, "Logs must be kept for a year.", ""), says(2, "Keys must be rotated.", "Logs show who used them."),
		says(3, "Logs must not hold card numbers.", ""), says(4, "Nothing to see.", ""))
	id := func(n int) string { return newRule(n, nil).Rule.ID }
	q := corpus.Search{Text: "logs", First: []string{id(4), id(2), id(9), id(4)}, Limit: 10, Facets: 5}
	all := corpus.Find(v, q)
	if all.Total != 4 || len(all.Hits) != 4 || all.Hits[0].Rule.ID != id(4) || all.Hits[1].Rule.ID != id(2) {
		t.Fatalf("found %d: %s", all.Total, names(all.Hits))
	}
	if diff := cmp.Diff([]corpus.Count{{"EFFECTIVE", 4}}, all.Facets.Status); diff != "" {
		t.Error(diff)
	}
	for size := 1; size <= 4; size++ {
		var paged []corpus.Hit
		for from := 0; from < 6; from += size {
			q.Offset, q.Limit = from, size
			paged = append(paged, corpus.Find(v, q).Hits...)
		}
		if names(paged) != names(all.Hits) {
			t.Errorf("pages of %d have %s, want %s", size, names(paged), names(all.Hits))
		}
	}
	none := corpus.Find(v, corpus.Search{Text: "zzz", Limit: 10, Facets: 5})
	if none.Total != 0 || len(none.Facets.Status) != 0 {
		t.Errorf("%+v", none)
	}
	if near := corpus.Find(v, corpus.Search{Vector: []float32{1}, Limit: 10, Facets: 5}); near.Total != 0 || len(near.Facets.Status) != 0 {
		t.Errorf("without vectors: %+v", near)
	}
}

func TestNamesSource(t *testing.T) {
	t.Parallel()
	v := view(t, newRule(1, func(r *rule.Rule) {
		r.SourceRefs = []rule.SourceRef{{Kind: "law", URI: "GDPR", Section: "Art. 32", Quote: "appropriate measures"}}
	}))
	for name, want := range map[string]bool{"gdpr": true, "Art. 32": true, "GDPR art. 32": true, "law": false, "appropriate measures": false, "GDPR Art. 3": false, "": false} {
		if corpus.NamesSource(v, name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}
