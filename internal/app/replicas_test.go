package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/app"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// With a replica that stands still within its bound, callers see their own evaluations in lists at once, others a little later, and all of them once it is
// left out. Decisions never rest on it.
func TestListsComeFromReplicas(t *testing.T) {
	t.Parallel()
	pair := pgtest.NewPair(t)
	a := node(t, app.Options{}, map[string]string{
		"database_url": pair.Primary, "read_urls": pair.Replica, "read_staleness": "3s", "alerts": "false", "console": "false", "data": t.TempDir(),
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var root, other wire.CreatedKey
	if code := ask(t, a, "POST", "/api/v1/keys", `{"name":"root","role":"admin","project_id":"*"}`, &root); code != http.StatusCreated {
		t.Fatal(code)
	}
	as := func(key, method, path, body string, into any) int {
		t.Helper()
		return askAs(t, a, key, method, path, body, into)
	}
	if code := as(root.Secret, "POST", "/api/v1/keys", `{"name":"other","role":"reviewer","project_id":"default"}`, &other); code != http.StatusCreated {
		t.Fatal(code)
	}
	listed := func(key string) (n int) {
		t.Helper()
		var page wire.Page[wire.EvaluationSummary]
		if code := as(key, "GET", "/api/v1/evaluations", "", &page); code != http.StatusOK {
			t.Fatal(code)
		}
		return page.Total
	}
	var made wire.EvaluationSummary
	evaluate := func() {
		t.Helper()
		if code := as(root.Secret, "POST", "/api/v1/evaluate", `{"action":"rm -rf /"}`, &made); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	evaluate()
	until(t, "the replica", func() bool {
		var ready struct {
			Replicas struct {
				Total   int `json:"total"`
				LeftOut int `json:"left_out"`
			} `json:"replicas"`
		}
		return as(root.Secret, "GET", "/ready", "", &ready) == http.StatusOK && ready.Replicas.Total == 1 && ready.Replicas.LeftOut == 0
	})
	until(t, "the first evaluation for all", func() bool { return listed(root.Secret) == 1 && listed(other.Secret) == 1 })
	pair.Pause()
	evaluate()
	if n := listed(root.Secret); n != 2 {
		t.Errorf("the caller sees %d of the 2 evaluations that it asked for", n)
	}
	if n := listed(other.Secret); n != 1 {
		t.Errorf("another caller sees %d evaluations; the replica, which is within its bound, has 1", n)
	}
	until(t, "all evaluations for all", func() bool { return listed(other.Secret) == 2 })
	until(t, "the replica is named as left out", func() bool {
		var servers wire.Page[wire.Server]
		var ready struct {
			Replicas struct {
				Total   int `json:"total"`
				LeftOut int `json:"left_out"`
			} `json:"replicas"`
		}
		as(root.Secret, "GET", "/api/v1/servers", "", &servers)
		as(root.Secret, "GET", "/ready", "", &ready)
		return len(servers.Items) == 1 && len(servers.Items[0].Replicas) == 1 && servers.Items[0].Replicas[0].LeftOut != "" && ready.Replicas.Total == 1 && ready.Replicas.LeftOut == 1
	})
	pair.Resume()
	evaluate()
	until(t, "all evaluations for all", func() bool { return listed(root.Secret) == 3 && listed(other.Secret) == 3 })
}

// askAs is ask with a key, over HTTP: in process everybody is the local administrator.
func askAs(t *testing.T, a *app.App, key, method, path, body string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode
}
