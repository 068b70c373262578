package api

import (
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// searchExample is a request and its answer as /docs shows them. The parameters of a nil request are in the query and have
// examples of their own.
type searchExample struct{ request, answer any }

// on puts an example into the description of an operation.
func (e searchExample) on(op *rest.Endpoint) { op.Example(e.request, e.answer) }

var exampleTime = time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)

var exampleRule = rule.Rule{
	ID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f", ProjectID: rule.DefaultProject, Slug: "DATA-007", Version: 3,
	Statement: "Customer data must be encrypted at rest.", Modality: rule.Must, Severity: rule.High,
	Scope: []string{"engineering/emea/germany"}, Tags: []string{"privacy"}, Rationale: "Lost disks must not become lost data.",
	SourceRefs: []rule.SourceRef{{Kind: "law", URI: "GDPR", Section: "Art. 32"}}, Status: rule.Effective, Enforcement: rule.Enforce,
	CreatedAt: exampleTime, CreatedBy: "key:compliance", AuthoredBy: "key:compliance", UpdatedAt: exampleTime, UpdatedBy: "key:compliance",
}

// examplePage is a page that holds the example rule.
func examplePage(query string, mode wire.SearchMode, item wire.RuleSearchItem) wire.RuleSearchPage {
	item.Rule = exampleRule
	return wire.RuleSearchPage{Items: []wire.RuleSearchItem{item}, Total: 1, Page: 1, PageSize: 20, Query: query, Mode: mode}
}

var searchExamples = map[string]searchExample{
	"fulltext": {
		map[string]any{"query": "encrypt customer data", "severity": "HIGH", "tags": []string{"privacy"}, "page_size": 10},
		examplePage("encrypt customer data", wire.Keyword, wire.RuleSearchItem{Score: 7.42, Highlights: []wire.Highlight{
			{Field: "statement", Start: 0, End: 8}, {Field: "statement", Start: 9, End: 13}, {Field: "statement", Start: 22, End: 31},
		}}),
	},
	"vector": {
		map[string]any{"query": "keep personal records secret", "scope": "engineering"},
		examplePage("keep personal records secret", wire.Vector, wire.RuleSearchItem{Score: 0.81}),
	},
	"hybrid": {
		map[string]any{"query": "keep personal records secret", "modality": "MUST"},
		degradedExample(examplePage("keep personal records secret", wire.Keyword, wire.RuleSearchItem{Score: 3.1}),
			"there is no embedding service, so rules were found by their words alone"),
	},
	"category": {
		map[string]any{"severity": "HIGH", "scope": "engineering", "tags": []string{"privacy"}, "status": "EFFECTIVE"},
		examplePage("", "", wire.RuleSearchItem{Score: 1}),
	},
	"context": {
		map[string]any{"facts": "A contractor wants to copy customer records to a laptop.", "scope": "engineering/emea"},
		examplePage("A contractor wants to copy customer records to a laptop.", wire.Hybrid, wire.RuleSearchItem{
			Score: 1, Reason: "The copy on the laptop is customer data at rest.",
		}),
	},
	"temporal": {nil, examplePage("retention", wire.Keyword, wire.RuleSearchItem{Score: 2.3})},
	"citation": {nil, examplePage("GDPR Art. 32", "", wire.RuleSearchItem{Score: 1})},
	"subject":  {nil, examplePage("location=emea/germany", "", wire.RuleSearchItem{Score: 1})},
	"conflict": {nil, wire.RuleConflicts{
		RuleID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70", Total: 1, Conflicts: []wire.RuleConflict{{
			Rule: exampleRule, Relationship: rule.ConflictsWith, Reason: "One demands what the other forbids.", DetectedAt: exampleTime,
			State: store.ConflictSuggested, Confidence: 0.95, ConflictID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e71",
		}},
	}},
}

func degradedExample(page wire.RuleSearchPage, reason string) wire.RuleSearchPage {
	page.Degraded = &wire.Degraded{Reason: reason}
	return page
}

var boxExample = searchExample{nil, wire.FoundRules{
	RuleSearchPage: examplePage("encrypt GDPR Art. 32", wire.Keyword, wire.RuleSearchItem{
		Score:   7.42,
		Matched: []wire.Match{{Kind: "citation", Text: "refers to GDPR Art. 32"}, {Kind: "words", Text: "has the words encrypted"}},
		Highlights: []wire.Highlight{
			{Field: "statement", Start: 22, End: 31}, {Field: "source_refs.uri", End: 4}, {Field: "source_refs.section", End: 7},
		},
	}),
	Reading: []wire.Reading{
		{Kind: wire.ReadWords, Text: "encrypt", Value: "encrypt", Says: "the words encrypt", Others: []wire.OtherReading{}},
		{Kind: wire.ReadCitation, Text: "GDPR Art. 32", Value: "GDPR Art. 32", Says: "refers to GDPR Art. 32", Others: []wire.OtherReading{
			{Kind: wire.ReadWords, Query: `encrypt words:"GDPR Art. 32"`},
		}},
	},
	Facets: wire.Facets{
		Status: []wire.FacetCount{{Value: "EFFECTIVE", Rules: 1}}, Severity: []wire.FacetCount{{Value: "HIGH", Rules: 1}},
		Modality: []wire.FacetCount{{Value: "MUST", Rules: 1}}, Enforcement: []wire.FacetCount{{Value: "enforce", Rules: 1}},
		HasCheck: []wire.FacetCount{{Value: "false", Rules: 1}}, Scope: []wire.FacetCount{{Value: "engineering/emea/germany", Rules: 1}},
		Tags: []wire.FacetCount{{Value: "privacy", Rules: 1}}, Owner: []wire.FacetCount{},
	},
}}
