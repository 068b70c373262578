package search

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// shelf gives one view for every project.
type shelf struct{ view *corpus.View }

func (s *shelf) View(context.Context, string) (*corpus.View, error) { return s.view, nil }

// shelve makes a view of rules, whose ids and missing fields are filled in.
func shelve(t testing.TB, rules ...rule.Rule) *shelf {
	t.Helper()
	states := make([]store.RuleState, len(rules))
	for i, r := range rules {
		r.ID = fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
		r.Version, r.CreatedAt = 1, time.Unix(1_700_000_000, 0)
		r.Normalize()
		states[i] = store.RuleState{Rule: r}
	}
	view, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{view}
}

// embedded gives a shelf's rules their vectors.
func (s *shelf) embedded(t testing.TB, e interface {
	ID() string
	Embed(context.Context, []string) ([][]float32, error)
},
) *shelf {
	t.Helper()
	var list []store.Embedding
	for entry := range s.view.All() {
		vectors, err := e.Embed(t.Context(), []string{corpus.EmbeddingText(entry.Rule)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, store.Embedding{Model: e.ID(), TextHash: corpus.TextHash(entry.Rule), Vector: vectors[0]})
	}
	return &shelf{s.view.WithVectors(e.ID(), list)}
}

var first = Page{Number: 1, Size: 20}

func words(statement string) rule.Rule {
	return rule.Rule{Statement: statement, Status: rule.Effective}
}

// slugsOf lists what was found.
func statements(r Result) []string {
	out := []string{}
	for _, item := range r.Items {
		out = append(out, item.Rule.Statement)
	}
	return out
}

// Every search heeds what it shall search among.
func TestKeepNarrowsEverySearch(t *testing.T) {
	t.Parallel()
	keep, drop := words("Payments are logged."), words("Payments are taxed.")
	for _, r := range []*rule.Rule{&keep, &drop} {
		r.Scope, r.SourceRefs = []string{"fin"}, []rule.SourceRef{{Kind: "law", URI: "BGB"}}
	}
	keep.Tags = []string{"keep"}
	s := New(Config{Views: shelve(t, keep, drop)})
	among := Among{ProjectID: "p", Keep: func(r *rule.Rule) bool { return len(r.Tags) > 0 }}
	q := Query{Text: "payments", Page: first}
	for name, run := range map[string]func(Among) (Result, error){
		"fulltext": func(a Among) (Result, error) { return s.Fulltext(t.Context(), a, q) },
		"hybrid":   func(a Among) (Result, error) { return s.Hybrid(t.Context(), a, q) },
		"category": func(a Among) (Result, error) { return s.Category(t.Context(), a, Filter{}, first) },
		"temporal": func(a Among) (Result, error) { return s.Temporal(t.Context(), a, time.Now(), "", first) },
		"citation": func(a Among) (Result, error) { return s.Citation(t.Context(), a, "bgb", first) },
		"profile": func(a Among) (Result, error) {
			return s.Profile(t.Context(), a, wire.Profile{Department: "FIN"}, first)
		},
		"context": func(a Among) (Result, error) { return s.Context(t.Context(), a, "payments", "", first) },
	} {
		all, err := run(Among{ProjectID: "p"})
		if err != nil || all.Total != 2 {
			t.Errorf("%s finds %d of 2: %v", name, all.Total, err)
		}
		some, err := run(among)
		if err != nil || some.Total != 1 || some.Items[0].Rule.Statement != keep.Statement {
			t.Errorf("%s finds %v among those to keep: %v", name, statements(some), err)
		}
	}
}

func TestCacheForgetsWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](2)
	c.put("a", 1)
	c.put("b", 2)
	c.get("a")
	c.put("c", 3)
	c.put("c", 4)
	for key, want := range map[string]int{"a": 1, "b": 0, "c": 4} {
		if v, ok := c.get(key); v != want || ok != (want != 0) {
			t.Errorf("%s is %d, %t", key, v, ok)
		}
	}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scope   []string
		profile wire.Profile
		want    float64
	}{
		{[]string{"sales/emea/germany"}, wire.Profile{Department: "Sales", Location: "emea/germany"}, 1},
		{[]string{"sales/emea/germany"}, wire.Profile{Location: "germany/emea"}, 0},
		{[]string{"sales/emea"}, wire.Profile{Location: "eme"}, 0},
		{[]string{"sales/*"}, wire.Profile{Department: "sales", Location: "peru"}, 0.75},
		{[]string{"*"}, wire.Profile{Role: "anyone"}, 0.5},
		{[]string{"sales/france", "legal/germany"}, wire.Profile{Department: "sales", Location: "germany"}, 0.8},
		{[]string{"role:manager"}, wire.Profile{Role: "Manager"}, 1},
		{[]string{"role:manager"}, wire.Profile{Department: "manager"}, 0},
		{[]string{"Employment_Type=full-time"}, wire.Profile{EmploymentType: "full time"}, 1},
		{nil, wire.Profile{Role: "manager"}, 0},
		{nil, wire.Profile{}, 1},
	} {
		attributes, err := attributesOf(test.profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := concerns(test.scope, attributes, map[string][]float64{}); got != test.want {
			t.Errorf("%v concerns %+v by %v, want %v", test.scope, test.profile, got, test.want)
		}
	}
}
