package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"tenet/internal/search"
)

// The searches whose parameters stand in the query.

func (s *server) searchTemporal(ctx context.Context, in *struct {
	SearchQuery
	AsOf string `query:"as_of" required:"true" doc:"The time, in ISO 8601; a date is its first instant, and a time without zone is in UTC." example:"2026-01-31"`
	Q    string `query:"q" maxLength:"10000" doc:"Words to look for among the rules in force." example:"retention"`
	PageQuery
},
) (*searchOutput, error) {
	asOf, err := parseInstant(in.AsOf)
	if err != nil {
		return nil, invalidField("as_of", "%s", err.Error())
	}
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Search.Temporal(ctx, among, asOf, in.Q, in.search())
	return found(in.PageQuery, in.Q, used, r, err)
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

func (s *server) searchCitation(ctx context.Context, in *struct {
	SearchQuery
	Source string `query:"source" required:"true" maxLength:"4000" doc:"Address, name or section of the source." example:"GDPR Art. 32"`
	PageQuery
},
) (*searchOutput, error) {
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Search.Citation(ctx, among, in.Source, in.search())
	return found(in.PageQuery, in.Source, used, r, err)
}

func (s *server) searchSubject(ctx context.Context, in *struct {
	SearchQuery
	Role           string `query:"role" maxLength:"256" doc:"What the person is." example:"manager"`
	Location       string `query:"location" maxLength:"256" doc:"Where the person works." example:"emea/germany"`
	EmploymentType string `query:"employment_type" maxLength:"256" doc:"How the person is employed." example:"contractor"`
	Department     string `query:"department" maxLength:"256" doc:"Where the person belongs." example:"finance"`
	PageQuery
},
) (*searchOutput, error) {
	profile := search.Profile{Role: in.Role, Location: in.Location, EmploymentType: in.EmploymentType, Department: in.Department}
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Search.Profile(ctx, among, profile, in.search())
	return found(in.PageQuery, profileText(profile), used, r, err)
}

// profileText is a profile as the envelope repeats it.
func profileText(p search.Profile) string {
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

// RuleConflicts is the answer of a search by conflict.
type RuleConflicts struct {
	RuleID    string            `json:"rule_id" format:"uuid" doc:"The rule."`
	Conflicts []search.Conflict `json:"conflicts" nullable:"false" doc:"Rules that conflict with it, the earliest noted first."`
	Total     int               `json:"total" doc:"How many there are."`
}

type conflictOutput struct {
	UsedSnapshot
	Body RuleConflicts
}

func (s *server) searchConflict(ctx context.Context, in *struct {
	SearchQuery
	RuleID string `query:"rule_id" required:"true" doc:"Id or slug of the rule." example:"SEC-003"`
},
) (*conflictOutput, error) {
	among, used, err := s.among(ctx, &in.SearchQuery)
	if err != nil {
		return nil, err
	}
	id, conflicts, err := s.cfg.Search.Conflicts(ctx, among, in.RuleID)
	if err != nil {
		return nil, err
	}
	return &conflictOutput{used, RuleConflicts{RuleID: id, Conflicts: conflicts, Total: len(conflicts)}}, nil
}
