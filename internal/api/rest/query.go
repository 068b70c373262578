package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// parseQuery reads the query and replaces it by its canonical form, so that every later reader reads the same.
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

// checkQuery refuses parameters that the operation does not have, and those that are empty (?dry_run may mean true),
// repeated or not text: the server ignores no part of a request.
func (e *Endpoint) checkQuery(query url.Values) error {
	if e.query == nil || len(query) == 0 {
		return nil
	}
	var problems rule.Problems
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		list, ok := e.query[name]
		switch {
		case !ok:
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

// PageOf returns a page of a list.
func PageOf[T any](q wire.PageQuery, items []T, total int) wire.Page[T] {
	if items == nil {
		items = []T{}
	}
	return wire.Page[T]{Items: items, Total: total, Page: q.Page, PageSize: q.PageSize}
}

// Slice returns the page of a list that is in memory as a whole.
func Slice[T any](q wire.PageQuery, all []T, err error) (wire.Page[T], error) {
	from := min(q.Offset(), len(all))
	to := min(from+q.PageSize, len(all))
	return PageOf(q, all[from:to], len(all)), err
}

// EnumParam returns the value of an enumeration that a parameter names in any letter case, or "" for an absent one.
func EnumParam[T ~string](p *rule.Problems, name, value string, all []T) T {
	if value == "" {
		return ""
	}
	v, ok := rule.Parse(value, all)
	if !ok {
		p.Add(name, "is %q; use one of %s", Clip(value, maxValue), rule.Names(all))
	}
	return v
}
