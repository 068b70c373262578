package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/search"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// queryRoutes are the searches whose parameters are in the query.
func (s Search) queryRoutes(r *rest.Router) {
	searchExamples["temporal"].on(rest.Handle(r, searchOperation(op.SearchTemporal.Route(), "temporal", "Find the rules in force at a time",
		"Their status is EFFECTIVE or APPROVED, and their effective_period contains as_of, in their current versions."), s.temporal))
	searchExamples["citation"].on(rest.Handle(r, searchOperation(op.SearchCitation.Route(), "citation", "Find the rules that refer to a source",
		"Finds the source in the address, section, kind, document id or quote of a source reference, in any letter case. Addresses "+
			"are compared without scheme, www and a slash at the end."),
		func(ctx context.Context, in *wire.CitationQuery) (searchOutput, error) {
			return s.find(ctx, &in.SearchQuery, in.PageQuery, in.Source, func(among search.Among, page search.Page) (search.Result, error) {
				return s.Search.Citation(ctx, among, in.Source, page)
			})
		}))
	searchExamples["subject"].on(rest.Handle(r, searchOperation(op.SearchSubject.Route(), "subject", "Find the rules for a kind of person",
		"Every value must be a segment of the rule's scope, in any letter case; * matches any segment."), s.subject))
	searchExamples["conflict"].on(rest.Handle(r, searchOperation(op.SearchConflict.Route(), "conflict", "Find the rules that conflict with a rule",
		"Rules with a CONFLICTS_WITH relationship to or from the rule, and suggested conflicts; state distinguishes them."), s.conflict))
}

func (s Search) temporal(ctx context.Context, in *wire.TemporalQuery) (searchOutput, error) {
	asOf, err := parseInstant(in.AsOf)
	if err != nil {
		return searchOutput{}, rest.InvalidField("as_of", "%s", err.Error())
	}
	return s.find(ctx, &in.SearchQuery, in.PageQuery, in.Q, func(among search.Among, page search.Page) (search.Result, error) {
		return s.Search.Temporal(ctx, among, asOf, in.Q, page)
	})
}

// instants are the forms of ISO 8601 that a time may have; without a zone it is in UTC.
var instants = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02",
	"20060102T150405Z0700", "20060102",
}

// parseInstant parses a date or a time. A + that was not escaped in the query arrives as a blank, and is put back.
func parseInstant(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	if day, clock, ok := strings.Cut(s, "T"); ok {
		s = day + "T" + strings.Replace(clock, " ", "+", 1)
	}
	for _, form := range instants {
		t, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
			return t, errors.New("must be a time in the years 1 to 9999")
		}
		return t, nil
	}
	return time.Time{}, errors.New("must be a date or time of ISO 8601, such as 2026-01-31 or 2026-01-31T09:30:00Z")
}

func (s Search) subject(ctx context.Context, in *wire.SubjectQuery) (searchOutput, error) {
	return s.find(ctx, &in.SearchQuery, in.PageQuery, profileText(in.Profile), func(among search.Among, page search.Page) (search.Result, error) {
		return s.Search.Profile(ctx, among, in.Profile, page)
	})
}

// profileText is a profile as the envelope repeats it.
func profileText(p wire.Profile) string {
	var parts []string
	for _, a := range []struct{ name, value string }{
		{"role", p.Role}, {"location", p.Location}, {"employment_type", p.EmploymentType}, {"department", p.Department},
	} {
		if a.value != "" {
			parts = append(parts, a.name+"="+a.value)
		}
	}
	return strings.Join(parts, " ")
}

type conflictOutput struct {
	UsedSnapshot
	Body wire.RuleConflicts
}

func (s Search) conflict(ctx context.Context, in *wire.RuleConflictQuery) (conflictOutput, error) {
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return conflictOutput{}, err
	}
	id, conflicts, err := s.Search.Conflicts(ctx, among, in.RuleID)
	return conflictOutput{used, wire.RuleConflicts{RuleID: id, Conflicts: conflicts, Total: len(conflicts)}}, err
}
