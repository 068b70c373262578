package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Rules of each project under mixed load: the evaluated ones, and drafts that are edited.
const (
	loadRules  = 200
	loadDrafts = 50
)

// scenario is a kind of request in the mixed load.
type scenario struct {
	name  string
	share int // of 100 requests
	send  func(ctx context.Context, s *server, project string, n int) error
}

// mixed are the scenarios; their shares make 100.
var mixed = []scenario{
	{"evaluate facts", 40, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodPost, "/api/v1/evaluate?project_id="+project, factsRequest(n), http.StatusOK)
	}},
	{"evaluate a diff", 15, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodPost, "/api/v1/evaluate?project_id="+project, diffRequest(n), http.StatusOK)
	}},
	{"evaluate, as a stream", 5, streamed},
	{"submission", 10, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodPost, "/api/v1/submissions", encode(map[string]any{
			"project_id": project, "submission_id": fmt.Sprintf("load-%s-%d", project, n), "scope": "unit0/desk",
			"subject": map[string]any{"kind": "transaction", "transaction_type": "payment", "amount": 500 + n%400, "currency": "EUR"},
		}), http.StatusOK)
	}},
	{"search, full text", 10, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodPost, "/api/v1/search/fulltext?project_id="+project, encode(map[string]any{"query": topics[n%len(topics)] + " above " + strconv.Itoa(1000+n%loadRules)}), http.StatusOK)
	}},
	{"search, category", 5, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodPost, "/api/v1/search/category?project_id="+project, encode(map[string]any{"severity": []string{"HIGH", "CRITICAL"}[n%2], "status": "EFFECTIVE"}), http.StatusOK)
	}},
	{"list evaluations", 10, func(ctx context.Context, s *server, project string, n int) error {
		return s.ask(ctx, http.MethodGet, "/api/v1/evaluations?verdict=DENY&page_size=20&project_id="+project, nil, http.StatusOK)
	}},
	{"edit a rule", 5, func(ctx context.Context, s *server, project string, n int) error {
		body := encode(map[string]any{"rationale": fmt.Sprintf("Written by request %d.", n)})
		return s.ask(ctx, http.MethodPatch, fmt.Sprintf("/api/v1/rules/D-%06d?project_id=%s", n%loadDrafts, project), body, http.StatusOK)
	}},
}

// streamed evaluates and reads the stream of verdicts to its end.
func streamed(ctx context.Context, s *server, project string, n int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/v1/evaluate?project_id="+project, bytes.NewReader(factsRequest(n)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	answer, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	ended := false
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		ended = ended || lines.Text() == "event: done"
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !ended {
		return errors.New("the stream ended without its last event")
	}
	return nil
}

// ask sends a request and reads the answer.
func (s *server) ask(ctx context.Context, method, path string, body []byte, want int) error {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != want {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, path, answer.StatusCode, text)
	}
	return err
}

// mixedLoad measures the scenarios together, on nodes of one database, for each number of nodes.
func mixedLoad(ctx context.Context, o options) error {
	for text := range strings.SplitSeq(o.nodes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > 20 {
			return fmt.Errorf("-nodes: %q is no number from 1 to 20", text)
		}
		if n > 1 && o.databaseURL == "" {
			return errors.New("several nodes need PostgreSQL: name an empty database with -database-url")
		}
		if err := mixedOn(ctx, o, n); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func mixedOn(ctx context.Context, o options, nodes int) error {
	database := "SQLite"
	if o.databaseURL != "" {
		database = "PostgreSQL"
	}
	var list []*server
	for range nodes {
		s, err := start(ctx, o, "--no-seed")
		if err != nil {
			return err
		}
		defer s.stop()
		list = append(list, s)
	}
	projects := make([]string, o.projects)
	for i := range projects {
		projects[i] = fmt.Sprintf("load-%d-%03d", nodes, i) // apart from those of another number of nodes on the same database
		if err := fillProject(ctx, list[0], projects[i]); err != nil {
			return err
		}
	}
	if err := list[0].settle(ctx, projects...); err != nil { // the search for conflicts that each import begins
		return err
	}
	if _, err := o.drive(ctx, list, projects, o.duration/5); err != nil { // warms caches
		return err
	}
	r, err := o.drive(ctx, list, projects, o.duration)
	if err != nil {
		return err
	}
	fmt.Printf("## %d nodes on %s, %d projects of %d rules, %d clients, %s\n\n%s\n", nodes, database, len(projects), loadRules+loadDrafts, o.clients, o.duration, r.table())
	for _, project := range projects[:min(3, len(projects))] {
		if err := list[len(list)-1].whole(ctx, project); err != nil {
			return err
		}
	}
	return nil
}

// fillProject makes a project with rules in force and drafts.
func fillProject(ctx context.Context, s *server, project string) error {
	if err := s.ask(ctx, http.MethodPost, "/api/v1/projects", encode(map[string]any{"id": project}), http.StatusCreated); err != nil {
		return err
	}
	rules := corpus(loadRules, 10)
	for i, r := range corpus(loadDrafts, 10) {
		r["slug"], r["status"] = fmt.Sprintf("D-%06d", i), "DRAFT"
		rules = append(rules, r)
	}
	return s.ask(ctx, http.MethodPost, "/api/v1/rules/import?project_id="+project, encode(map[string]any{"rules": rules}), http.StatusOK)
}

// whole checks the audit chain of a project.
func (s *server) whole(ctx context.Context, project string) error {
	answer, err := s.get(ctx, "/api/v1/audit/verify?project_id="+project)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	var report struct {
		Entries  int64 `json:"entries"`
		Problems []any `json:"problems"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&report); err != nil {
		return err
	}
	if len(report.Problems) > 0 || report.Entries == 0 {
		return fmt.Errorf("the audit chain of %s: %d entries, problems %v", project, report.Entries, report.Problems)
	}
	return nil
}

// measured holds the times of answered requests by scenario, and the errors.
type measured struct {
	times  map[string][]time.Duration
	failed map[string]int
	first  error // one of them
	took   time.Duration
}

// drive has each client send requests one after the other, each to its node and to the projects by turns.
func (o options) drive(ctx context.Context, nodes []*server, projects []string, d time.Duration) (*measured, error) {
	all := &measured{times: map[string][]time.Duration{}, failed: map[string]int{}}
	var mu sync.Mutex
	var clients sync.WaitGroup
	began := time.Now()
	for c := range o.clients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 23)) //nolint:gosec // repeatable
			times, failed := map[string][]time.Duration{}, map[string]int{}
			var first error
			for n := 0; time.Since(began) < d && ctx.Err() == nil; n++ {
				one := pick(random.IntN(100))
				at := time.Now()
				// Numbers of requests differ between the runs of a database, so that no submission is one that was sent before.
				err := one.send(ctx, nodes[c%len(nodes)], projects[(c+n*o.clients)%len(projects)], int(began.UnixMicro()%1e9)*1000+n*o.clients+c)
				if err != nil {
					failed[one.name]++
					first = err
					continue
				}
				times[one.name] = append(times[one.name], time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			for name, list := range times {
				all.times[name] = append(all.times[name], list...)
			}
			for name, n := range failed {
				all.failed[name] += n
			}
			if all.first == nil {
				all.first = first
			}
		})
	}
	clients.Wait()
	all.took = time.Since(began)
	if len(all.times) == 0 {
		return nil, fmt.Errorf("no request was answered: %w", errors.Join(all.first, ctx.Err()))
	}
	return all, nil
}

// pick chooses a scenario by a number below 100.
func pick(n int) scenario {
	for _, one := range mixed {
		if n -= one.share; n < 0 {
			return one
		}
	}
	return mixed[0]
}

// table shows throughput and percentiles by scenario and of all.
func (m *measured) table() string {
	var b strings.Builder
	b.WriteString("| request | requests/s | p50 ms | p90 ms | p99 ms | worst ms | failed |\n|---|---|---|---|---|---|---|\n")
	row := func(name string, times []time.Duration, failed int) {
		slices.Sort(times)
		at := func(q float64) float64 {
			if len(times) == 0 {
				return 0
			}
			return float64(times[min(int(q*float64(len(times))), len(times)-1)].Microseconds()) / 1000
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.1f | %.1f | %.1f | %.1f | %d |\n", name, float64(len(times))/m.took.Seconds(), at(0.5), at(0.9), at(0.99), at(1), failed)
	}
	failed := 0
	for _, one := range mixed {
		row(one.name, m.times[one.name], m.failed[one.name])
		failed += m.failed[one.name]
	}
	row("all", slices.Concat(slices.Collect(maps.Values(m.times))...), failed)
	if m.first != nil {
		fmt.Fprintf(&b, "\nOne of the failures: %v\n", m.first)
	}
	return b.String()
}
