package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func TestSearchesAskForWhatTheyAreTold(t *testing.T) {
	var target, body string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		target, body = r.Method+" "+r.URL.RequestURI(), string(b)
		_, _ = io.WriteString(w, `{"items":[{"score":0.5,"rule":{"slug":"A-1"}}],"total":3,"degraded":{"reason":"because"},"conflicts":[{"reason":"x"}]}`)
	})
	found := func(f wire.RuleSearchPage, err error) {
		t.Helper()
		if err != nil || f.Total != 3 || f.Items[0].Rule.Slug != "A-1" || f.Degraded.Reason != "because" {
			t.Errorf("found %+v, %v", f, err)
		}
	}
	filter, page := wire.SearchFilter{Severity: "HIGH", Tags: []string{"a"}}, wire.PageQuery{Page: 2, PageSize: 5}
	ctx := t.Context()
	for _, test := range []struct {
		run          func() (wire.RuleSearchPage, error)
		target, body string
	}{
		{
			func() (wire.RuleSearchPage, error) {
				return SearchRules(ctx, c, wire.Keyword, SearchQuery{Text: "x", SearchFilter: filter, PageBody: wire.PageBody(page)})
			},
			"POST /api/v1/search/fulltext", `{"query":"x","severity":"HIGH","tags":["a"],"page":2,"page_size":5}`,
		},
		{func() (wire.RuleSearchPage, error) { return SearchRules(ctx, c, wire.Hybrid, SearchQuery{Text: "x"}) }, "POST /api/v1/search/hybrid", `{"query":"x"}`},
		{func() (wire.RuleSearchPage, error) {
			return SearchRules(ctx, c, wire.Vector, SearchQuery{Vector: []float64{1}})
		}, "POST /api/v1/search/vector", `{"vector":[1]}`},
		{func() (wire.RuleSearchPage, error) {
			return Call(ctx, c, op.SearchCategory, wire.CategoryRequest{SearchFilter: wire.SearchFilter{}, PageBody: wire.PageBody(page)})
		}, "POST /api/v1/search/category", `{"page":2,"page_size":5}`},
		{func() (wire.RuleSearchPage, error) {
			return Call(ctx, c, op.SearchContext, wire.ContextRequest{Facts: "f", Scope: "s", PageBody: wire.PageBody{}})
		}, "POST /api/v1/search/context", `{"facts":"f","scope":"s"}`},
		{
			func() (wire.RuleSearchPage, error) {
				return Get(ctx, c, op.SearchTemporal.Where(wire.TemporalQuery{AsOf: "2026-01-01T00:00:00+01:00", Q: "x", PageQuery: page}))
			},
			"POST /api/v1/search/temporal?as_of=2026-01-01T00%3A00%3A00%2B01%3A00&page=2&page_size=5&q=x", "",
		},
		{func() (wire.RuleSearchPage, error) {
			return Get(ctx, c, op.SearchCitation.Where(wire.CitationQuery{Source: "a b"}))
		}, "POST /api/v1/search/citation?source=a+b", ""},
		{
			func() (wire.RuleSearchPage, error) {
				return Get(ctx, c, op.SearchSubject.Where(wire.SubjectQuery{Profile: wire.Profile{Role: "r", EmploymentType: "e"}}))
			},
			"POST /api/v1/search/subject?employment_type=e&role=r", "",
		},
	} {
		found(test.run())
		if target != test.target || body != test.body {
			t.Errorf("asked %s with %s, want %s with %s", target, body, test.target, test.body)
		}
	}
	conflicts, err := Get(ctx, c.InProject("pay"), op.SearchConflict.Where(wire.RuleConflictQuery{RuleID: "A-1"}))
	if err != nil || conflicts.Conflicts[0].Reason != "x" || target != "POST /api/v1/search/conflict?project_id=pay&rule_id=A-1" {
		t.Errorf("asked %s and got %+v, %v", target, conflicts, err)
	}
	if _, err := Get(ctx, c, op.SearchStatus); err != nil || target != "GET /api/v1/search/status" {
		t.Errorf("asked %s, %v", target, err)
	}
}

// A search changes nothing, so it is sent again where the server asks for patience.
func TestSearchIsRepeated(t *testing.T) {
	calls := 0
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(wire.RuleSearchPage{})
	})
	if _, err := SearchRules(t.Context(), c, wire.Hybrid, SearchQuery{Text: "x"}); err != nil || calls != 3 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}
