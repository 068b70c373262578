package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// place is a federation node of a rule file.
type place struct {
	Name      string              `json:"name"`
	Level     string              `json:"level,omitempty"`
	Rules     []string            `json:"rules,omitempty"`
	Overrides []map[string]string `json:"overrides,omitempty"`
	Repos     []string            `json:"repositories,omitempty"`
	Children  []place             `json:"children,omitempty"`
}

func federate(b *testing.B, h http.Handler, roots ...place) {
	b.Helper()
	body, err := json.Marshal(map[string]any{"federation": roots})
	if err != nil {
		b.Fatal(err)
	}
	if code, answer := post(b, h, "/api/v1/rules/import", string(body)); code != http.StatusOK {
		b.Fatalf("import: %d %.300s", code, answer)
	}
}

// slugs names the rules of a benchmark, from one number up to another.
func slugs(from, to int) []string {
	list := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint("B-", i))
	}
	return list
}

func fetch(b *testing.B, h http.Handler, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost"+path, nil))
	if w.Code != http.StatusOK {
		b.Fatalf("%s: %d %.300s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// nodeIDs are the ids of all nodes by name.
func nodeIDs(b *testing.B, h http.Handler) map[string]string {
	type tree struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Children []tree `json:"children"`
	}
	var all struct {
		Nodes []tree `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(fetch(b, h, "/api/v1/federations")), &all); err != nil {
		b.Fatal(err)
	}
	ids := map[string]string{}
	var walk func([]tree)
	walk = func(list []tree) {
		for _, n := range list {
			ids[n.Name] = n.ID
			walk(n.Children)
		}
	}
	walk(all.Nodes)
	return ids
}

// percentiles times the runs of a loop and reports their median and 99th percentile.
type percentiles []time.Duration

func (p *percentiles) time(fn func()) {
	start := time.Now()
	fn()
	*p = append(*p, time.Since(start))
}

func (p *percentiles) report(b *testing.B) {
	slices.Sort(*p)
	at := func(q float64) float64 { return float64((*p)[int(q*float64(len(*p)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

// BenchmarkEffectiveRules lists, over HTTP, what holds at a node three levels down with 5,000 rules above it: as the corpus stands,
// and each time after a rule was changed.
func BenchmarkEffectiveRules(b *testing.B) {
	h := served(b)
	var overrides []map[string]string
	for i := range 100 {
		overrides = append(overrides, map[string]string{"rule": fmt.Sprint("B-", 6000+i), "instead_of": fmt.Sprint("B-", 7*i)})
	}
	federate(b, h, place{Name: "org", Rules: slugs(0, 4000), Children: []place{{
		Name: "team", Rules: slugs(4000, 5000), Overrides: overrides, Children: []place{{Name: "repo"}},
	}}})
	path := "/api/v1/federations/" + nodeIDs(b, h)["repo"]
	if got := fetch(b, h, path+"/effective-rules"); !strings.Contains(got, `],"total":5000,"everywhere":`) {
		b.Fatalf("%.300s", got)
	}
	b.Run("unchanged", func(b *testing.B) {
		var p percentiles
		for b.Loop() {
			p.time(func() { fetch(b, h, path+"/effective-rules") })
		}
		p.report(b)
	})
	b.Run("changed", func(b *testing.B) {
		var p percentiles
		for i := 0; b.Loop(); i++ {
			if code, answer := post(b, h, "/api/v1/rules", fmt.Sprintf(`{"statement":"Another %d."}`, i)); code != http.StatusCreated {
				b.Fatal(answer)
			}
			p.time(func() { fetch(b, h, path+"/effective-rules") })
		}
		p.report(b)
	})
	b.Run("diff", func(b *testing.B) {
		var p percentiles
		for b.Loop() {
			p.time(func() { fetch(b, h, path+"/diff") })
		}
		p.report(b)
	})
}

// BenchmarkTree lists 10,000 nodes.
func BenchmarkTree(b *testing.B) {
	h := served(b)
	org := place{Name: "org"}
	for t := range 99 {
		team := place{Name: fmt.Sprint("team ", t), Repos: []string{fmt.Sprintf("acme/t%d-*", t)}}
		for r := range 100 {
			team.Children = append(team.Children, place{Name: fmt.Sprintf("repo %d-%d", t, r), Repos: []string{fmt.Sprintf("acme/t%d-r%d", t, r)}})
		}
		org.Children = append(org.Children, team)
	}
	federate(b, h, org)
	var p percentiles
	for b.Loop() {
		p.time(func() { fetch(b, h, "/api/v1/federations") })
	}
	p.report(b)
}

// BenchmarkAttach attaches rules to nodes, each by a request of its own from 32 clients.
func BenchmarkAttach(b *testing.B) {
	h := served(b)
	var roots []place
	for i := range 100 {
		roots = append(roots, place{Name: fmt.Sprint("org ", i)})
	}
	federate(b, h, roots...)
	ids := nodeIDs(b, h)
	type work struct{ node, rule int }
	next := make(chan work, 1000)
	done := make(chan struct{})
	b.Cleanup(func() { close(done) })
	go func() {
		for n := range 100 * 10_000 {
			select {
			case next <- work{n % 100, n / 100}:
			case <-done:
				return
			}
		}
	}()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := <-next
			path := "/api/v1/federations/" + ids[fmt.Sprint("org ", w.node)] + "/rules"
			if code, answer := post(b, h, path, fmt.Sprintf(`{"rule_id":"B-%d"}`, w.rule)); code != http.StatusCreated {
				b.Errorf("%d %s", code, answer)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attachments/s")
}

// BenchmarkEvaluateAtANode is BenchmarkEvaluateOverHTTP one request at a time: without a node, at a node at which the same rules
// hold, for a repository that is bound to it, and by the snapshot of the same rules that is active in an environment.
func BenchmarkEvaluateAtANode(b *testing.B) {
	h := served(b)
	federate(b, h, place{Name: "org", Rules: slugs(0, 10_000), Repos: []string{"acme/**"}, Children: []place{{
		Name: "team", Children: []place{{Name: "repo", Repos: []string{"acme/pay-api"}}},
	}}})
	id := nodeIDs(b, h)["repo"]
	var snapshot struct {
		ID string `json:"id"`
	}
	_, answer := post(b, h, "/api/v1/snapshots", `{"name":"same"}`)
	if err := json.Unmarshal([]byte(answer), &snapshot); err != nil {
		b.Fatal(err)
	}
	if code, answer := post(b, h, "/api/v1/snapshots/"+snapshot.ID+"/deploy", `{"environment":"production"}`); code != http.StatusOK {
		b.Fatalf("%d %s", code, answer)
	}
	for _, c := range []struct{ name, more string }{
		{"without", ""},
		{"node", `,"node_id":"` + id + `"`},
		{"repository", `,"repository":"acme/pay-api"`},
		{"environment", `,"environment":"production"`},
	} {
		b.Run(c.name, func(b *testing.B) {
			var p percentiles
			for i := 0; b.Loop(); i++ {
				body := fmt.Sprintf(`{"facts":{"amount":%d,"approvals":1,"reference":"P-%d","currency":"EUR"},"scope":"unit0/desk"%s}`, i%400, i, c.more)
				p.time(func() {
					if code, answer := post(b, h, "/api/v1/evaluate", body); code != http.StatusOK {
						b.Fatalf("%d %s", code, answer)
					}
				})
			}
			p.report(b)
		})
	}
}
