package console

import (
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// boxFilters are the parameters of the search in one box beside its text; the API has them by the same names.
var boxFilters = []string{
	"status", "severity", "modality", "enforcement", "has_check", "scope", "tags", "owner", "source_kind", "document_id", "node_id", "environment", "mode", "plain",
}

// searchPageSize is the number of rules on a page of what was found.
const searchPageSize = 20

// found is the view of the screen.
type found struct {
	wire.FoundRules

	asked   bool       // something is looked for
	values  url.Values // the text and the filters
	place   pager
	problem string
	reply   *reply // of the model, to a question
}

// searchPage finds rules by a text and filters.
func searchPage(p *page) error {
	v := found{values: url.Values{}}
	for _, name := range append([]string{"q"}, boxFilters...) {
		for _, value := range p.r.URL.Query()[name] {
			if value != "" {
				v.values.Add(name, value)
			}
		}
	}
	if err := v.load(p, pageOf(p.r)); err != nil {
		return err
	}
	return p.show(head{Title: "Search", Nav: "search"}, searchView(p, &v))
}

// load searches, unless nothing is looked for.
func (v *found) load(p *page, number int) error {
	if v.asked = len(v.values) > 0; !v.asked {
		return nil
	}
	o := op.SearchBox.Where(wire.PageQuery{Page: number, PageSize: searchPageSize})
	maps.Copy(o.Query, v.values)
	answer, err := client.Get(p.ctx, p.api, o)
	switch code := rule.CodeOf(err); {
	case code == rule.CodeNotFound, code == rule.CodeConflict, code == rule.CodeUnavailable: // a node, an environment, an embedding service
		v.problem, err = err.Error(), nil
	default:
		v.problem, err = refusedFilter(err)
	}
	v.FoundRules, v.place = answer, pager{number, searchPageSize, len(answer.Items), answer.Total}
	return err
}

// link is the address of the screen with values changed, by name and value; an empty value removes one. The first page is shown.
func (v *found) link(p *page, pairs ...string) string {
	query := url.Values{}
	for name, values := range v.values {
		query[name] = slices.Clone(values)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		} else {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return p.at("search")
	}
	return p.at("search") + "?" + query.Encode()
}

// chosen lists the filters in use, as names and values.
func (v *found) chosen() []option {
	var list []option
	for _, name := range boxFilters {
		if value := v.values.Get(name); value != "" {
			list = append(list, option{name, strings.Join(v.values[name], ", ")})
		}
	}
	return list
}

// facet is a field with the values that it has among what was found.
type facet struct {
	name, label string
	counts      []wire.FacetCount
}

// facets lists the fields that a person can narrow the search by: those with several values, or with one in use.
func (v *found) facets() []facet {
	f := &v.Facets
	all := []facet{
		{"status", "Status", f.Status},
		{"severity", "Severity", f.Severity},
		{"modality", "Modality", f.Modality},
		{"enforcement", "Enforcement", f.Enforcement},
		{"has_check", "Check", f.HasCheck},
		{"scope", "Scope", f.Scope},
		{"tags", "Tags", f.Tags},
		{"owner", "Owner", f.Owner},
	}
	return slices.DeleteFunc(all, func(f facet) bool { return len(f.counts) < 2 && v.values.Get(f.name) == "" || len(f.counts) == 0 })
}

// facetValue is the value of a facet for people.
func facetValue(name, value string) string {
	if name == "has_check" {
		return map[string]string{"true": "With a check", "false": "Without a check"}[value]
	}
	return words(value)
}

// readingLabels name the kinds of readings for people.
var readingLabels = map[wire.ReadingKind]string{
	wire.ReadWords: "Words", wire.ReadCitation: "Citation", wire.ReadRule: "Rule", wire.ReadInForce: "In force on", wire.ReadChangedBefore: "Last changed before",
	wire.ReadChangedSince: "Last changed since", wire.ReadChangedIn: "Last changed in", wire.ReadMadeBefore: "Made before", wire.ReadMadeSince: "Made since",
	wire.ReadMadeIn: "Made in", wire.ReadIgnored: "Left out",
}

// otherLabel is the link that reads a piece otherwise.
func otherLabel(kind wire.ReadingKind) string {
	switch kind {
	case wire.ReadWords:
		return "Read it as words"
	case wire.ReadCitation:
		return "Read it as a citation"
	case wire.ReadIgnored:
		return "Leave it out"
	case wire.ReadRule, wire.ReadInForce, wire.ReadChangedBefore, wire.ReadChangedSince, wire.ReadChangedIn, wire.ReadMadeBefore, wire.ReadMadeSince, wire.ReadMadeIn:
	}
	return readingLabels[kind]
}

// searchExamples are queries that the empty screen offers.
var searchExamples = []string{"encrypt customer data", "GDPR Art. 32", "payments in force on 2025-03-01", "changed since yesterday"}

// Bounds of a text with marks, in characters.
const (
	markedText   = 600 // of a text that are shown
	markedBefore = 120 // of them before the first mark
)

// highlighted shows a text of a rule with the places that a search has found.
func highlighted(text, field string, index int, places []wire.Highlight) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		runes := []rune(text)
		from, to := 0, len(runes)
		at := slices.IndexFunc(places, func(h wire.Highlight) bool { return h.Field == field && h.Index == index })
		if len(runes) > markedText {
			if at >= 0 {
				from = max(min(places[at].Start-markedBefore, len(runes)-markedText), 0)
			}
			to = from + markedText
		}
		b.WriteString("<bdi>")
		if from > 0 {
			b.WriteString("… ")
		}
		rest := from
		for _, h := range places {
			start, end := max(h.Start, rest), min(h.End, to)
			if h.Field != field || h.Index != index || start >= end {
				continue
			}
			writeText(&b, string(runes[rest:start]))
			b.WriteString("<mark>")
			writeText(&b, string(runes[start:end]))
			b.WriteString("</mark>")
			rest = end
		}
		writeText(&b, string(runes[rest:to]))
		if to < len(runes) {
			b.WriteString(" …")
		}
		b.WriteString("</bdi>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// isMarked reports whether a search has found something in a text of a rule.
func isMarked(field string, index int, places []wire.Highlight) bool {
	return slices.ContainsFunc(places, func(h wire.Highlight) bool { return strings.HasPrefix(h.Field, field) && h.Index == index })
}

// reasonsOf joins the reasons why a rule was found. The words are marked in its texts.
func reasonsOf(it *wire.RuleSearchItem) string {
	var list []string
	for _, m := range it.Matched {
		list = append(list, m.Text)
	}
	return strings.Join(list, "; ")
}
