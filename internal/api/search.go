package api

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Search serves the searches for rules.
type Search struct {
	Search   *search.Searcher
	Released Released
}

// Routes implements [rest.Resource].
func (s Search) Routes(r *rest.Router) {
	r = r.Tag(searchTag)
	searchExamples["fulltext"].on(rest.HandleBody(r, searchOperation(op.SearchFulltext.Route(), "fulltext", "Search rules by words",
		"Keyword scoring on statements and rationales. Quotes make a phrase; no text is a syntax error."),
		func(ctx context.Context, in *wire.SearchQuery, body *wire.FulltextRequest) (searchOutput, error) {
			return s.text(ctx, in, s.Search.Fulltext, search.Query{Text: body.Query}, &body.SearchFilter, body.PageBody)
		}))
	searchExamples["vector"].on(rest.HandleBody(r, searchOperation(op.SearchVector.Route(), "vector", "Search rules by meaning",
		"Cosine of the vectors of the query and of the rules. 503 without an embedding service."),
		func(ctx context.Context, in *wire.SearchQuery, body *wire.VectorRequest) (searchOutput, error) {
			return s.text(ctx, in, s.Search.Vector, search.Query{Text: body.Query, Vector: body.Vector}, &body.SearchFilter, body.PageBody)
		}))
	searchExamples["hybrid"].on(rest.HandleBody(r, searchOperation(op.SearchHybrid.Route(), "hybrid", "Search rules by words and meaning",
		"Without an embedding service, or while it fails or is slow, rules are found by words alone, and degraded says so."),
		func(ctx context.Context, in *wire.SearchQuery, body *wire.HybridRequest) (searchOutput, error) {
			return s.text(ctx, in, s.Search.Hybrid, search.Query{Text: body.Query, Vector: body.Vector}, &body.SearchFilter, body.PageBody)
		}))
	searchExamples["category"].on(rest.HandleBody(r, searchOperation(op.SearchCategory.Route(), "category", "Find rules by their fields",
		"All rules that the filters select, oldest first."), s.category))
	situation := searchOperation(op.SearchContext.Route(), "context", "Find the rules that matter in a situation",
		"A model proposes queries for the situation and judges which rules matter, and why. Without one, this is a hybrid search "+
			"for the description, and degraded says so. A scope finds the rules of it, those below it and those above it.")
	situation.Role = auth.Evaluator // it may call a model
	searchExamples["context"].on(rest.HandleBody(r, situation, func(ctx context.Context, in *wire.SearchQuery, body *wire.ContextRequest) (searchOutput, error) {
		return s.find(ctx, in, pageOf(body.PageBody), body.Facts, func(among search.Among, page search.Page) (search.Result, error) {
			return s.Search.Context(ctx, among, body.Facts, body.Scope, page)
		})
	}))
	s.boxRoute(r)
	s.queryRoutes(r)
	rest.Handle(r, rest.Operation{
		ID: "search-status", Route: op.SearchStatus.Route(), Role: auth.Viewer,
		Summary: "Get the state of the search services", Description: "The embedding model, and how many rules have a vector of it.",
	}, func(ctx context.Context, _ *rest.None) (wire.SearchStatus, error) {
		return s.Search.Status(ctx, rest.Project(ctx))
	})
}

func searchOperation(route, name, summary, description string) rest.Operation {
	return rest.Operation{ID: "search-" + name, Route: route, Role: auth.Viewer, Summary: summary, Description: description}
}

// among returns the rules that a request searches.
func (s Search) among(ctx context.Context, q *wire.SearchQuery) (search.Among, UsedSnapshot, error) {
	view, used, err := released(ctx, s.Released, q.Environment)
	return search.Among{ProjectID: rest.Project(ctx), View: view, NodeID: q.NodeID}, used, err
}

// pageOf is a page that a body asks for, with its defaults.
func pageOf(p wire.PageBody) wire.PageQuery {
	q := wire.PageQuery{Page: max(p.Page, 1), PageSize: p.PageSize}
	if q.PageSize == 0 {
		q.PageSize = 20
	}
	return q
}

// searchFilter reads the fields, whose values the frame has checked.
func searchFilter(f *wire.SearchFilter) (search.Filter, error) {
	var p rule.Problems
	out := search.Filter{
		Modality: rest.EnumParam(&p, "modality", string(f.Modality), rule.Modalities),
		Severity: rest.EnumParam(&p, "severity", string(f.Severity), rule.Severities),
		Status:   rest.EnumParam(&p, "status", string(f.Status), rule.Statuses),
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

type searchOutput struct {
	UsedSnapshot
	Body wire.RuleSearchPage
}

// find runs a search among the rules that a request selects, and wraps its page.
func (s Search) find(ctx context.Context, in *wire.SearchQuery, q wire.PageQuery, query string, run func(search.Among, search.Page) (search.Result, error)) (searchOutput, error) {
	among, used, err := s.among(ctx, in)
	if err != nil {
		return searchOutput{}, err
	}
	r, err := run(among, search.Page{Number: q.Page, Size: q.PageSize})
	return searchOutput{used, wire.RuleSearchPage{
		Items: r.Items, Total: r.Total, Page: q.Page, PageSize: q.PageSize, Query: query, Mode: r.Mode, Degraded: r.Degraded,
	}}, err
}

type textSearch func(context.Context, search.Among, search.Query) (search.Result, error)

// text runs one of the searches for a text.
func (s Search) text(ctx context.Context, in *wire.SearchQuery, run textSearch, q search.Query, f *wire.SearchFilter, page wire.PageBody) (searchOutput, error) {
	var err error
	if q.Filter, err = searchFilter(f); err != nil {
		return searchOutput{}, err
	}
	return s.find(ctx, in, pageOf(page), q.Text, func(among search.Among, page search.Page) (search.Result, error) {
		q.Page = page
		return run(ctx, among, q)
	})
}

func (s Search) category(ctx context.Context, in *wire.SearchQuery, body *wire.CategoryRequest) (searchOutput, error) {
	filter, err := searchFilter(&body.SearchFilter)
	if err != nil {
		return searchOutput{}, err
	}
	return s.find(ctx, in, pageOf(body.PageBody), "", func(among search.Among, page search.Page) (search.Result, error) {
		return s.Search.Category(ctx, among, filter, page)
	})
}
