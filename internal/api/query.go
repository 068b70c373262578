package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
)

// parseQuery reads the query and puts its canonical form in place, so that all who read it later read the same.
func parseQuery(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, withStatus(http.StatusBadRequest, "query", "the query is malformed: parameters are joined by & and escaped with %%")
	}
	r.URL.RawQuery = query.Encode()
	return query, nil
}

// checkQuery refuses parameters that the operation does not have, that are empty (was ?dry_run meant as true?), repeated or
// not text: nothing of a request is ignored in silence.
func (p *plan) checkQuery(query url.Values) error {
	if p.query == nil || len(query) == 0 {
		return nil
	}
	var problems rule.Problems
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := query[name]
		list, known := p.query[name]
		switch {
		case !known:
			problems.Add(name, "is not a parameter of this operation")
		case len(values) > 1 && !list:
			problems.Add(name, "is given %d times", len(values))
		case slices.Contains(values, ""):
			problems.Add(name, "has no value; leave it out or give it one")
		case slices.ContainsFunc(values, func(v string) bool { return strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) }):
			problems.Add(name, "holds a NUL character or is not valid UTF-8")
		}
	}
	return problems.Err("the query is invalid")
}

// ProjectQuery is the parameter of every operation on one project.
type ProjectQuery struct {
	ProjectID string `query:"project_id" doc:"Project; the key's own, or default, if absent." example:"default"`
}

// PageQuery are the parameters of every list.
type PageQuery struct {
	Page     int `query:"page" default:"1" minimum:"1" maximum:"1000000000" doc:"Page, from 1."`
	PageSize int `query:"page_size" default:"20" minimum:"1" maximum:"100" doc:"Items per page."`
}

// Page is the envelope of every list.
type Page[T any] struct {
	Items    []T `json:"items" nullable:"false" doc:"Items of this page."`
	Total    int `json:"total" doc:"Items on all pages."`
	Page     int `json:"page" doc:"This page, from 1."`
	PageSize int `json:"page_size" doc:"Items per page."`
}

type pageOutput[T any] struct{ Body Page[T] }

// pageOf wraps the items of a page.
func pageOf[T any](q PageQuery, items []T, total int) *pageOutput[T] {
	if items == nil {
		items = []T{}
	}
	return &pageOutput[T]{Page[T]{Items: items, Total: total, Page: q.Page, PageSize: q.PageSize}}
}

// slicePage is the page of a list that is known as a whole.
func slicePage[T any](q PageQuery, all []T) *pageOutput[T] {
	from := min((q.Page-1)*q.PageSize, len(all))
	to := min(from+q.PageSize, len(all))
	return pageOf(q, all[from:to], len(all))
}

// enumParam finds the value of an enumeration that a parameter names in any letter case; an absent one is empty.
func enumParam[T ~string](p *rule.Problems, name, value string, all []T) T {
	if value == "" {
		return ""
	}
	v, ok := rule.Parse(value, all)
	if !ok {
		p.Add(name, "is %q; use one of %s", cut(value, maxValue), rule.Names(all))
	}
	return v
}

// timeParam parses a time; an absent one is nil.
func timeParam(p *rule.Problems, name, value string) *time.Time {
	if value == "" {
		return nil
	}
	t, err := parseTime(value)
	if err != nil {
		p.Add(name, "%s", err.Error())
		return nil
	}
	return &t
}
