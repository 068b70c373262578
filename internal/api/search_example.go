package api

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/store"
)

// searchExample is a request and its answer as /docs shows them. A request that is nil has its parameters in the query, where
// each has an example of its own.
type searchExample struct{ request, answer any }

// exampleOf puts an example into the description of an operation.
func exampleOf(op *huma.Operation, e searchExample) {
	if e.request != nil {
		op.RequestBody.Content[jsonType].Example = e.request
	}
	op.Responses["200"].Content[jsonType].Example = e.answer
}

var exampleTime = time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)

var exampleRule = rule.Rule{
	ID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f", ProjectID: rule.DefaultProject, Slug: "DATA-007", Version: 3,
	Statement: "Customer data must be encrypted at rest.", Modality: rule.Must, Severity: rule.High,
	Scope: []string{"engineering/emea/germany"}, Tags: []string{"privacy"}, Rationale: "Lost disks must not become lost data.",
	SourceRefs: []rule.SourceRef{{Kind: "law", URI: "GDPR", Section: "Art. 32"}}, Status: rule.Effective, Enforcement: rule.Enforce,
	CreatedAt: exampleTime, CreatedBy: "key:compliance", AuthoredBy: "key:compliance", UpdatedAt: exampleTime, UpdatedBy: "key:compliance",
}

// examplePage is a page that holds the example rule.
func examplePage(query string, mode search.Mode, item search.Item) RuleSearch {
	item.Rule = exampleRule
	return RuleSearch{Items: []search.Item{item}, Total: 1, Page: 1, PageSize: 20, Query: query, Mode: mode}
}

var searchExamples = map[string]searchExample{
	"fulltext": {
		map[string]any{"query": "encrypt customer data", "severity": "HIGH", "tags": []string{"privacy"}, "page_size": 10},
		examplePage("encrypt customer data", search.Keyword, search.Item{Score: 7.42, Highlights: []search.Highlight{
			{Field: "statement", Start: 0, End: 8}, {Field: "statement", Start: 9, End: 13}, {Field: "statement", Start: 22, End: 31},
		}}),
	},
	"vector": {
		map[string]any{"query": "keep personal records secret", "scope": "engineering"},
		examplePage("keep personal records secret", search.Vector, search.Item{Score: 0.81}),
	},
	"hybrid": {
		map[string]any{"query": "keep personal records secret", "modality": "MUST"},
		degradedExample(examplePage("keep personal records secret", search.Keyword, search.Item{Score: 3.1}),
			"there is no embedding service, so rules were found by their words alone"),
	},
	"category": {
		map[string]any{"severity": "HIGH", "scope": "engineering", "tags": []string{"privacy"}, "status": "EFFECTIVE"},
		examplePage("", "", search.Item{Score: 1}),
	},
	"context": {
		map[string]any{"facts": "A contractor wants to copy customer records to a laptop.", "scope": "engineering/emea"},
		examplePage("A contractor wants to copy customer records to a laptop.", search.Hybrid, search.Item{
			Score: 1, Reason: "The copy on the laptop is customer data at rest.",
		}),
	},
	"temporal": {nil, examplePage("retention", search.Keyword, search.Item{Score: 2.3})},
	"citation": {nil, examplePage("GDPR Art. 32", "", search.Item{Score: 1})},
	"subject":  {nil, examplePage("location=emea/germany", "", search.Item{Score: 1})},
	"conflict": {nil, RuleConflicts{
		RuleID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e70", Total: 1, Conflicts: []search.Conflict{{
			Rule: exampleRule, Relationship: rule.ConflictsWith, Reason: "One demands what the other forbids.", DetectedAt: exampleTime,
			State: store.ConflictSuggested, Confidence: 0.95, ConflictID: "0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e71",
		}},
	}},
}

func degradedExample(page RuleSearch, reason string) RuleSearch {
	page.Degraded = &search.Degraded{Reason: reason}
	return page
}
