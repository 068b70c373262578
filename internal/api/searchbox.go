package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// boxRoute is the search in one box.
func (s Search) boxRoute(r *rest.Router) {
	boxExample.on(rest.Handle(r, rest.Operation{
		ID: "search", Route: op.SearchBox.Route(), Role: auth.Viewer, Summary: "Search rules in one box",
		Description: "Reads words, citations, names of rules and dates out of one text, reports how it read them and how each piece could be read " +
			"otherwise, and finds the rules that all pieces select. Each rule comes with the reasons why it was found and the places of the matches, " +
			"and facets count the rules on all pages. Without an embedding service, or while it fails or is slow, words are compared as words, and degraded says so.",
	}, s.box))
}

type boxOutput struct {
	UsedSnapshot
	Body wire.FoundRules
}

func (s Search) box(ctx context.Context, in *wire.BoxQuery) (out boxOutput, err error) {
	b := search.Box{Text: in.Q, Plain: in.Plain, Page: search.Page{Number: in.Page, Size: in.PageSize}}
	if b.Filter, err = boxFilter(&in.BoxFilter); err != nil {
		return out, err
	}
	var p rule.Problems
	b.Mode = rest.EnumParam(&p, "mode", string(in.Mode), wire.SearchModes)
	if err := p.Err("the query is invalid"); err != nil {
		return out, err
	}
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return out, err
	}
	found, err := s.Search.Box(ctx, among, b)
	if err != nil {
		return out, err
	}
	return boxOutput{used, wire.FoundRules{
		RuleSearchPage: wire.RuleSearchPage{
			Items: found.Items, Total: found.Total, Page: in.Page, PageSize: in.PageSize, Query: in.Q, Mode: found.Mode, Degraded: found.Degraded,
		},
		Reading: found.Reading, Facets: found.Facets,
	}}, nil
}

// boxFilter reads the parameters that select rules.
func boxFilter(in *wire.BoxFilter) (search.Filter, error) {
	f := ruleFilter{
		Modality: in.Modality, Severity: in.Severity, Status: in.Status, Enforcement: in.Enforcement, Scope: in.Scope, Tags: in.Tags, Owner: in.Owner,
		HasCheck: in.HasCheck, SourceKind: in.SourceKind, DocumentID: in.DocumentID,
	}
	g, err := f.filter()
	return search.Filter{
		Modality: g.Modality, Severity: g.Severity, Status: g.Status, Enforcement: g.Enforcement, Scope: g.Scope, Tags: g.Tags, Owner: g.Owner,
		Checked: g.Checked, SourceKind: g.SourceKind, DocumentID: g.DocumentID,
	}, err
}
