package search

import (
	"fmt"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// shelf100k is a corpus of 100,000 rules; every tenth names a source, and every hundredth is for managers.
func shelf100k(b *testing.B) *Searcher {
	b.Helper()
	nouns := []string{"payment", "customer", "password", "backup", "invoice", "contract", "server", "laptop", "key", "report", "vendor", "record"}
	verbs := []string{"encrypted", "approved", "logged", "rotated", "reviewed", "retained", "deleted", "signed", "tested", "archived"}
	rules := make([]rule.Rule, 100_000)
	for i := range rules {
		r := words(fmt.Sprintf("Every %s of unit%d must be %s before the %s is %s.",
			nouns[i%12], i%997, verbs[i/12%10], nouns[i/120%12], verbs[i/7%10]))
		r.Scope = []string{fmt.Sprintf("dept%d/region%d", i%40, i%7)}
		if i%10 == 0 {
			r.SourceRefs = []rule.SourceRef{{Kind: "law", URI: fmt.Sprintf("https://example.com/law/%d", i%500), Section: "Art. 1"}}
		}
		if i%100 == 0 {
			r.Scope = append(r.Scope, "role:manager")
		}
		rules[i] = r
	}
	return New(Config{Views: shelve(b, rules...)})
}

// BenchmarkSearch measures each search among 100,000 rules.
func BenchmarkSearch(b *testing.B) {
	s := shelf100k(b)
	ctx, a := b.Context(), Among{ProjectID: "p"}
	box := func(text string) (Result, error) {
		r, err := s.Box(ctx, a, Box{Text: text, Mode: wire.Keyword, Page: first})
		return r.Result, err
	}
	for _, bench := range []struct {
		name string
		run  func() (Result, error)
	}{
		{"fulltext", func() (Result, error) {
			return s.Fulltext(ctx, a, Query{Text: "customer payment unit12 encrypted", Page: first})
		}},
		{"box by words", func() (Result, error) { return box("customer payment unit12 encrypted") }},
		{"box by citation and date", func() (Result, error) {
			return box("customer https://example.com/law/40 in force on 2026-01-01")
		}},
		{"box of all", func() (Result, error) { return box("") }},
		{"category", func() (Result, error) {
			return s.Category(ctx, a, Filter{Severity: rule.Medium, Scope: "dept3"}, first)
		}},
		{"temporal", func() (Result, error) { return s.Temporal(ctx, a, time.Unix(1_700_000_000, 0), "", first) }},
		{"citation", func() (Result, error) { return s.Citation(ctx, a, "https://example.com/law/40", first) }},
		{"subject", func() (Result, error) {
			return s.Profile(ctx, a, wire.Profile{Role: "manager", Location: "region3"}, first)
		}},
		{"conflict", func() (Result, error) {
			_, list, err := s.Conflicts(ctx, a, "00000000-0000-7000-8000-000000000007")
			return Result{Total: len(list) + 1}, err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if r, err := bench.run(); err != nil || r.Total == 0 {
					b.Fatal(r.Total, err)
				}
			}
		})
	}
}
