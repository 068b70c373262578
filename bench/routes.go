package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// routeClients send requests at the same time to a route.
const routeClients = 16

// scopeRules are the rules of each scope, and broadRules those that hold in the scope of all broad ones as well.
const (
	scopeRules = 100
	broadRules = 5000
)

// route is a kind of request whose cost is to follow the size of its answer, not that of the corpus.
type route struct {
	name, method, path string
	// body makes the i-th body; nil for none.
	body func(i int) []byte
	// from is the least corpus in which the route has what it looks for.
	from int
	// vary has the path take i in the place of its %d.
	vary func(i int) int
}

func (r *route) request(n, i int) (method, path string, body []byte) {
	path = r.path
	if r.vary != nil {
		path = fmt.Sprintf(path, r.vary(i)%n)
	}
	if r.body != nil {
		body = r.body(i)
	}
	return r.method, path, body
}

// same returns what makes the same body each time.
func same(v any) func(int) []byte {
	body := encode(v)
	return func(int) []byte { return body }
}

// routes are measured in this order; those that change rules come last.
var routes = []route{
	{name: "search by severity and status", method: http.MethodPost, path: "/api/v1/search/category", body: same(map[string]any{"severity": "HIGH", "status": "EFFECTIVE"})},
	{name: "search by label", method: http.MethodPost, path: "/api/v1/search/category", body: same(map[string]any{"tags": []string{"a loan"}})},
	{name: "search by scope", method: http.MethodPost, path: "/api/v1/search/category", body: same(map[string]any{"scope": "unit3"})},
	{name: "search by date", method: http.MethodPost, path: "/api/v1/search/temporal?as_of=2026-03-01"},
	{name: "search by date and words", method: http.MethodPost, path: "/api/v1/search/temporal?as_of=2026-03-01&q=refund+%d", vary: func(i int) int { return 1000 + i*97 }},
	{name: "search by words", method: http.MethodPost, path: "/api/v1/search/fulltext", body: func(i int) []byte {
		return encode(map[string]any{"query": topics[i%len(topics)] + " above " + strconv.Itoa(1000+i%900)})
	}},
	{name: "search by a source", method: http.MethodPost, path: "/api/v1/search/citation?source=Handbook+%d", vary: func(i int) int { return i % 50 }},
	{name: "search by people", method: http.MethodPost, path: "/api/v1/search/subject?department=unit%d", vary: func(i int) int { return i % 10 }},
	{name: "search box, words", method: http.MethodGet, path: "/api/v1/search?q=approve+refund+%d", vary: func(i int) int { return 1000 + i*97 }},
	{name: "search box, empty", method: http.MethodGet, path: "/api/v1/search"},
	{name: "list", method: http.MethodGet, path: "/api/v1/rules"},
	{name: "list by status, severity, check", method: http.MethodGet, path: "/api/v1/rules?status=EFFECTIVE&severity=HIGH&has_check=true"},
	{name: "list by severity, the highest first", method: http.MethodGet, path: "/api/v1/rules?sort=-severity"},
	{name: "list by change, the newest first", method: http.MethodGet, path: "/api/v1/rules?sort=-updated_at"},
	{name: "list by name, page 40", method: http.MethodGet, path: "/api/v1/rules?sort=slug&page=40"},
	{name: "list by a part of the text", method: http.MethodGet, path: "/api/v1/rules?q=(rule+%d)", vary: func(i int) int { return i * 97 }},
	{name: "list by owner", method: http.MethodGet, path: "/api/v1/rules?owner=team-3"},
	{name: "one rule", method: http.MethodGet, path: "/api/v1/rules/B-%06d", vary: func(i int) int { return i * 97 }},
	{name: "applicable, 100 rules", method: http.MethodPost, path: "/api/v1/evaluate/applicable-rules", body: func(i int) []byte {
		return fmt.Appendf(nil, `{"scope":"unit%d"}`, i%10)
	}},
	{name: "applicable, 5,000 rules", method: http.MethodPost, path: "/api/v1/evaluate/applicable-rules", body: same(map[string]any{"scope": "broad"}), from: 2 * broadRules},
	{name: "a new rule", method: http.MethodPost, path: "/api/v1/rules", body: func(i int) []byte {
		return fmt.Appendf(nil, `{"statement":"A gift above %d must be shown to a second person before it is taken.","severity":"LOW","scope":["new"]}`, i)
	}},
	{name: "a change of a rule", method: http.MethodPatch, path: "/api/v1/rules/B-%06d", vary: func(i int) int { return i * 97 }, body: func(i int) []byte {
		return fmt.Appendf(nil, `{"rationale":"Written by request %d."}`, i)
	}},
}

// routeCorpus is a corpus of n rules, a hundred in each scope, with owners and sources.
func routeCorpus(n int) []map[string]any {
	rules := corpus(n, max(1, n/scopeRules))
	for i, r := range rules {
		r["owner"] = fmt.Sprintf("team-%d", i%40)
		r["source_refs"] = []map[string]any{{"kind": "policy", "uri": fmt.Sprintf("Handbook %d", i%50), "section": strconv.Itoa(i % 7)}}
		if i < broadRules && n >= 2*broadRules {
			r["scope"] = append(r["scope"].([]string), "broad")
		}
	}
	return rules
}

// routesAt is one column of the table of routes.
type routesAt struct {
	rules int
	cells map[string]string
	notes []string
}

// byRoute measures each route at several sizes of the corpus.
func byRoute(ctx context.Context, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	routes := slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return !only.MatchString(r.name) })
	var columns []routesAt
	for text := range strings.SplitSeq(o.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return fmt.Errorf("-sizes: %q is no number of rules", text)
		}
		c, err := routesWith(ctx, o, n, routes)
		if err != nil {
			return fmt.Errorf("%d rules: %w", n, err)
		}
		columns = append(columns, c)
	}
	fmt.Printf("## Routes, %d clients, %s each: requests/s; p50; p99 in ms\n\n| request |", routeClients, o.duration)
	for _, c := range columns {
		fmt.Printf(" %d rules |", c.rules)
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("---|", len(columns)))
	for i := range routes {
		fmt.Printf("| %s |", routes[i].name)
		for _, c := range columns {
			fmt.Printf(" %s |", c.cells[routes[i].name])
		}
		fmt.Println()
	}
	fmt.Println()
	for _, c := range columns {
		for _, note := range c.notes {
			fmt.Printf("%d rules: %s\n", c.rules, note)
		}
	}
	return nil
}

// routesWith measures routes in a corpus of n rules, after a restart.
func routesWith(ctx context.Context, o options, n int, routes []route) (routesAt, error) {
	out := routesAt{rules: n, cells: map[string]string{}}
	s, err := start(ctx, o, "--no-seed")
	if err != nil {
		return out, err
	}
	defer s.stop()
	if _, err := s.importRules(ctx, routeCorpus(n)); err != nil {
		return out, err
	}
	if err := cancelSearches(ctx, s); err != nil {
		return out, err
	}
	if err := s.settle(ctx); err != nil {
		return out, err
	}
	s.down()
	first, err := firstAnswer(ctx, s)
	if err != nil {
		return out, err
	}
	before, err := s.rss()
	if err != nil {
		return out, err
	}
	out.notes = append(out.notes, fmt.Sprintf("first search answered %.2f s after the start, with %d MiB resident", first.Seconds(), before>>20))
	for i := range routes {
		r := &routes[i]
		if n < r.from {
			continue
		}
		got, err := s.loadOf(ctx, routeClients, o.duration, numbered(func(i int) (string, string, []byte) { return r.request(n, i) }))
		if err != nil {
			return out, fmt.Errorf("%s: %w", r.name, err)
		}
		out.cells[r.name] = fmt.Sprintf("%.0f; %.1f; %.1f", got.rate, got.ms(0.5), got.ms(0.99))
	}
	memory, err := s.rss()
	if err != nil {
		return out, err
	}
	out.notes = append(out.notes, fmt.Sprintf("%d MiB resident after all routes", memory>>20))
	return out, nil
}

// firstAnswer starts the server and asks it for a search without a pause until it answers one. It returns the time since the start.
func firstAnswer(ctx context.Context, s *server) (time.Duration, error) {
	began := time.Now()
	if err := s.run(ctx, strings.TrimPrefix(s.url, "http://")); err != nil {
		return 0, err
	}
	for time.Since(began) < time.Minute {
		if answered, err := searched(ctx, s); err != nil || answered {
			return time.Since(began), err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, fmt.Errorf("no search was answered within a minute")
}

// searched reports whether the server answers a search.
func searched(ctx context.Context, s *server) (bool, error) {
	status, _, err := s.post(ctx, "/api/v1/search/fulltext", []byte(`{"query":"refund above 1000"}`))
	if err != nil {
		return false, ctx.Err() // it does not listen yet
	}
	return status == http.StatusOK, nil
}

// cancelSearches cancels the jobs that look for conflicts among the imported rules: they take minutes, and are not what is measured.
func cancelSearches(ctx context.Context, s *server) error {
	for _, state := range []string{"queued", "running"} {
		answer, err := s.get(ctx, "/api/v1/jobs?kind=conflicts.find&page_size=100&state="+state)
		if err != nil {
			return err
		}
		var page struct {
			Items []struct {
				ID int64 `json:"id"`
			} `json:"items"`
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		if _ = answer.Body.Close(); err != nil {
			return err
		}
		for _, job := range page.Items {
			status, text, err := s.post(ctx, fmt.Sprintf("/api/v1/jobs/%d/cancel", job.ID), nil)
			if err != nil {
				return err
			}
			if status/100 != 2 && status != http.StatusConflict { // it has just ended
				return fmt.Errorf("cancelling job %d answered %d: %.300s", job.ID, status, text)
			}
		}
	}
	return nil
}
