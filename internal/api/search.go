package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/search"
)

const (
	searchPath = "/api/v1/search"
	searchTag  = "Search"
)

// searchRoutes are the searches for rules. Those for documents have a file of their own.
func (s *server) searchRoutes() {
	op := func(name, summary, description string) operation {
		return operation{
			id: "search-" + name, method: http.MethodPost, path: searchPath + "/" + name, tag: searchTag, role: auth.Viewer,
			summary: summary, description: description,
		}
	}
	exampleOf(registerBody(s, op("fulltext", "Search rules by words",
		"Keyword scoring on statements and rationales. Any text is a query: quotes make a phrase, and nothing is a syntax error."),
		s.searchFulltext), searchExamples["fulltext"])
	exampleOf(registerBody(s, op("vector", "Search rules by meaning",
		"Cosine of the vectors of the query and of the rules. 503 without an embedding service."),
		s.searchVector), searchExamples["vector"])
	exampleOf(registerBody(s, op("hybrid", "Search rules by words and meaning",
		"Without an embedding service, or while it fails or is slow, rules are found by words alone, and degraded says so."),
		s.searchHybrid), searchExamples["hybrid"])
	exampleOf(registerBody(s, op("category", "Find rules by what they are",
		"All rules that the filters select, in the order they were made."), s.searchCategory), searchExamples["category"])
	situation := op("context", "Find the rules that matter in a situation",
		"A model proposes queries for the situation and judges which rules matter, and why. Without one, this is a hybrid search "+
			"for the description, and degraded says so. A scope finds the rules of it, those below it and those above it.")
	situation.role = auth.Evaluator // it may call a model
	exampleOf(registerBody(s, situation, s.searchContext), searchExamples["context"])
	exampleOf(register(s, op("temporal", "Find the rules in force at a time",
		"Their status is EFFECTIVE or APPROVED, and their effective_period contains as_of, as they are recorded now."),
		s.searchTemporal), searchExamples["temporal"])
	exampleOf(register(s, op("citation", "Find the rules that refer to a source",
		"The source stands in the address, section, kind, document id or quote of a source reference, in any letter case. Addresses "+
			"are compared without scheme, www and a slash at the end."), s.searchCitation), searchExamples["citation"])
	exampleOf(register(s, op("subject", "Find the rules for a kind of person",
		"Every value stands as a segment in the scope of the rule, in any letter case; * stands for any segment."),
		s.searchSubject), searchExamples["subject"])
	exampleOf(register(s, op("conflict", "Find the rules that conflict with a rule",
		"Rules with a CONFLICTS_WITH relationship to or from the rule, and those that one is suggested with: state tells which."), s.searchConflict), searchExamples["conflict"])
	register(s, operation{
		id: "search-status", method: http.MethodGet, path: searchPath + "/status", tag: searchTag, role: auth.Viewer,
		summary: "Tell what searches can rest on", description: "The embedding model, and how many rules have a vector of it.",
	}, s.searchStatus)
}

// SearchQuery are the parameters of every search.
type SearchQuery struct {
	ProjectQuery
	EnvironmentQuery
	NodeID string `query:"node_id" doc:"Only rules that hold at this federation node, inherited ones included."`
}

// among is what a request searches.
func (s *server) among(ctx context.Context, q *SearchQuery) (search.Among, UsedSnapshot, error) {
	view, used, err := s.released(ctx, q.Environment)
	return search.Among{ProjectID: project(ctx), View: view, NodeID: q.NodeID}, used, err
}

// PageBody asks for a page in a body.
type PageBody struct {
	Page     int `json:"page,omitempty" nullable:"true" minimum:"1" maximum:"1000000000" default:"1" doc:"Page, from 1."`
	PageSize int `json:"page_size,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"20" doc:"Items per page."`
}

// query is the page with its defaults.
func (p PageBody) query() PageQuery {
	q := PageQuery{Page: max(p.Page, 1), PageSize: p.PageSize}
	if q.PageSize == 0 {
		q.PageSize = 20
	}
	return q
}

// search is the page as package search knows it.
func (q PageQuery) search() search.Page { return search.Page{Number: q.Page, Size: q.PageSize} }

// SearchFilter are the fields that select rules in a body.
type SearchFilter struct {
	Modality rule.Modality `json:"modality,omitempty" nullable:"true" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"Modality, in any letter case."`
	Severity rule.Severity `json:"severity,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity, in any letter case."`
	Scope    string        `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope path: a finds the rules of a, a/b and a/b/c."`
	Tags     []string      `json:"tags,omitempty" nullable:"true" maxItems:"64" doc:"Labels that the rule must all have, in any letter case."`
	Status   rule.Status   `json:"status,omitempty" nullable:"true" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Status, in any letter case; absent means all but SUPERSEDED and RETIRED."`
}

// filter reads the fields; the body has been checked against their enumerations.
func (f *SearchFilter) filter() (search.Filter, error) {
	var p rule.Problems
	out := search.Filter{
		Modality: enumParam(&p, "modality", string(f.Modality), rule.Modalities),
		Severity: enumParam(&p, "severity", string(f.Severity), rule.Severities),
		Status:   enumParam(&p, "status", string(f.Status), rule.Statuses),
		Scope:    f.Scope,
	}
	for i, tag := range f.Tags {
		if tag = strings.TrimSpace(tag); tag == "" {
			p.Add(fmt.Sprintf("tags[%d]", i), "is empty")
		}
		out.Tags = append(out.Tags, tag)
	}
	return out, p.Err("the request body is invalid")
}

// FulltextRequest is the body of a search by words.
type FulltextRequest struct {
	Query string `json:"query" maxLength:"10000" doc:"Words to look for." example:"encrypt customer data"`
	SearchFilter
	PageBody
}

// VectorRequest is the body of a search by meaning.
type VectorRequest struct {
	Query  string    `json:"query,omitempty" nullable:"true" maxLength:"10000" doc:"What to look for; needed unless there is a vector." example:"keep personal records secret"`
	Vector []float64 `json:"vector,omitempty" nullable:"true" doc:"What to look for as 768 numbers, made by the embedding model of the rules. Absent, the query is embedded."`
	SearchFilter
	PageBody
}

// HybridRequest is the body of a search by words and meaning.
type HybridRequest struct {
	Query  string    `json:"query" maxLength:"10000" doc:"What to look for." example:"keep personal records secret"`
	Vector []float64 `json:"vector,omitempty" nullable:"true" doc:"The meaning to look for as 768 numbers, made by the embedding model of the rules. Absent, the query is embedded."`
	SearchFilter
	PageBody
}

// CategoryRequest is the body of a search by what rules are.
type CategoryRequest struct {
	SearchFilter
	PageBody
}

// ContextRequest is the body of a search by situation.
type ContextRequest struct {
	Facts string `json:"facts" maxLength:"20000" doc:"The situation, in words." example:"A contractor wants read access to the production database for a week."`
	Scope string `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope of the situation; absent means every scope."`
	PageBody
}

// RuleSearch is the envelope of every search for rules.
type RuleSearch struct {
	Items    []search.Item    `json:"items" nullable:"false" doc:"Rules of this page, the best first."`
	Total    int              `json:"total" doc:"Rules on all pages."`
	Page     int              `json:"page" doc:"This page, from 1."`
	PageSize int              `json:"page_size" doc:"Items per page."`
	Query    string           `json:"query" doc:"What was looked for."`
	Mode     search.Mode      `json:"mode,omitempty" enum:"keyword,vector,hybrid" doc:"How rules were ranked; absent where neither words nor meaning counted."`
	Degraded *search.Degraded `json:"degraded,omitempty" doc:"Present if the search had to do without something."`
}

type searchOutput struct {
	UsedSnapshot
	Body RuleSearch
}

// found wraps a page of results.
func found(q PageQuery, query string, used UsedSnapshot, r search.Result, err error) (*searchOutput, error) {
	if err != nil {
		return nil, err
	}
	return &searchOutput{used, RuleSearch{
		Items: r.Items, Total: r.Total, Page: q.Page, PageSize: q.PageSize, Query: query, Mode: r.Mode, Degraded: r.Degraded,
	}}, nil
}

type textSearch func(context.Context, search.Among, search.Query) (search.Result, error)

// searchText runs one of the searches for a text.
func (s *server) searchText(ctx context.Context, in *SearchQuery, run textSearch, query string, vector []float64, f SearchFilter, page PageBody) (*searchOutput, error) {
	filter, err := f.filter()
	if err != nil {
		return nil, err
	}
	among, used, err := s.among(ctx, in)
	if err != nil {
		return nil, err
	}
	q := page.query()
	r, err := run(ctx, among, search.Query{Text: query, Vector: vector, Filter: filter, Page: q.search()})
	return found(q, query, used, r, err)
}

func (s *server) searchFulltext(ctx context.Context, in *struct{ SearchQuery }, body *FulltextRequest) (*searchOutput, error) {
	return s.searchText(ctx, &in.SearchQuery, s.cfg.Search.Fulltext, body.Query, nil, body.SearchFilter, body.PageBody)
}

func (s *server) searchVector(ctx context.Context, in *struct{ SearchQuery }, body *VectorRequest) (*searchOutput, error) {
	return s.searchText(ctx, &in.SearchQuery, s.cfg.Search.Vector, body.Query, body.Vector, body.SearchFilter, body.PageBody)
}

func (s *server) searchHybrid(ctx context.Context, in *struct{ SearchQuery }, body *HybridRequest) (*searchOutput, error) {
	return s.searchText(ctx, &in.SearchQuery, s.cfg.Search.Hybrid, body.Query, body.Vector, body.SearchFilter, body.PageBody)
}

func (s *server) searchCategory(ctx context.Context, in *struct{ SearchQuery }, body *CategoryRequest) (*searchOutput, error) {
	filter, err := body.filter()
	if err != nil {
		return nil, err
	}
	q := body.query()
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Search.Category(ctx, among, filter, q.search())
	return found(q, "", used, r, err)
}

func (s *server) searchContext(ctx context.Context, in *struct{ SearchQuery }, body *ContextRequest) (*searchOutput, error) {
	q := body.query()
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Search.Context(ctx, among, body.Facts, body.Scope, q.search())
	return found(q, body.Facts, used, r, err)
}

type searchStatusOutput struct{ Body search.Status }

func (s *server) searchStatus(ctx context.Context, _ *struct{ ProjectQuery }) (*searchStatusOutput, error) {
	status, err := s.cfg.Search.Status(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &searchStatusOutput{status}, nil
}
