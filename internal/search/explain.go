package search

import (
	"strings"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// markAll adds all of a text to the highlights of a rule.
func markAll(it *wire.RuleSearchItem, field string, index int, text string) {
	it.Highlights = append(it.Highlights, wire.Highlight{Field: field, Index: index, End: utf8.RuneCountInString(text)})
}

// matchedWords lists the words of a query as they occur in a rule, and marks those in its slug, tags and examples; statement and
// rationale are marked already.
func matchedWords(it *wire.RuleSearchItem, query string) []string {
	if query == "" {
		return nil
	}
	var words []string
	seen := map[string]bool{}
	add := func(word string) {
		if key := strings.ToLower(word); !seen[key] && len(words) < maxMatchedWords {
			seen[key] = true
			words = append(words, word)
		}
	}
	r := &it.Rule
	for _, h := range it.Highlights {
		of := r.Statement
		switch h.Field {
		case "statement":
		case "rationale":
			of = r.Rationale
		default:
			continue
		}
		add(string([]rune(of)[h.Start:h.End]))
	}
	m := corpus.NewMarker(query)
	other := func(field string, index int, text string) {
		for _, sp := range m.Spans(field, text) {
			start := utf8.RuneCountInString(text[:sp.Start])
			it.Highlights = append(it.Highlights, wire.Highlight{
				Field: field, Index: index, Start: start, End: start + utf8.RuneCountInString(text[sp.Start:sp.End]),
			})
			add(text[sp.Start:sp.End])
		}
	}
	other("slug", 0, r.Slug)
	for i, tag := range r.Tags {
		other("tags", i, tag)
	}
	for i := range r.Examples {
		other("examples.input", i, r.Examples[i].Input)
	}
	return words
}

// explainSource says which source of a rule answers to a citation, and marks it.
func explainSource(it *wire.RuleSearchItem, cited string) {
	for i := range it.Rule.SourceRefs {
		ref := &it.Rule.SourceRefs[i]
		parts := corpus.Cited(ref, cited)
		if len(parts) == 0 {
			continue
		}
		it.Matched = append(it.Matched, wire.Match{Kind: "citation", Text: "refers to " + sourceName(ref)})
		for _, part := range parts {
			switch part {
			case "uri":
				markAll(it, "source_refs.uri", i, ref.URI)
			case "section":
				markAll(it, "source_refs.section", i, ref.Section)
			case "quote":
				markAll(it, "source_refs.quote", i, ref.Quote)
			}
		}
	}
}

// sourceName is the name of a source for people.
func sourceName(ref *rule.SourceRef) string {
	for _, name := range []string{strings.TrimSpace(ref.URI + " " + ref.Section), ref.DocumentID, ref.Kind} {
		if name != "" {
			return name
		}
	}
	return "a source that has only a quote"
}

// facetsOf brings counts into the form of the API.
func facetsOf(f corpus.Facets) wire.Facets {
	list := func(counts []corpus.Count) []wire.FacetCount {
		out := make([]wire.FacetCount, len(counts))
		for i, c := range counts {
			out[i] = wire.FacetCount(c)
		}
		return out
	}
	return wire.Facets{
		Status: list(f.Status), Severity: list(f.Severity), Modality: list(f.Modality), Enforcement: list(f.Enforcement),
		HasCheck: list(f.Check), Scope: list(f.Scope), Tags: list(f.Tags), Owner: list(f.Owner),
	}
}
