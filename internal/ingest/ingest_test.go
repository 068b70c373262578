package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/ingest"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// evaluator notes what it is given.
type evaluator struct {
	known map[string]bool
	got   []ingest.Change
	names []ingest.Named
	actor string
	err   error // of Submit
}

func (e *evaluator) Known(_ context.Context, _ string, n ingest.Named) (bool, error) {
	return e.known[n.SubmissionID] || e.known[n.Key], nil
}

func (e *evaluator) Submit(ctx context.Context, n ingest.Named, c ingest.Change) error {
	e.got, e.names, e.actor = append(e.got, c), append(e.names, n), auth.ActorFrom(ctx).Name
	return e.err
}

// queue keeps what is enqueued.
type queue struct {
	args []json.RawMessage
	keys []string
}

func (q *queue) Update(_ context.Context, fn func(store.Tx) error) error {
	return fn(store.Tx{Projects: projects{}})
}

// projects knows the project default.
type projects struct{ store.ProjectTx }

func (projects) Get(_ context.Context, id string) (rule.Project, error) {
	if id != rule.DefaultProject {
		return rule.Project{}, rule.NotFound("project", id)
	}
	return rule.Project{ID: id}, nil
}

func (q *queue) Enqueue(_ context.Context, _ store.Tx, _, _ string, args any, o job.Options) (int64, error) {
	data, err := json.Marshal(args)
	q.args, q.keys = append(q.args, data), append(q.keys, o.UniqueKey)
	return int64(len(q.args)), err
}

func newIngest(t *testing.T, e *evaluator, edit func(*ingest.Config)) (*ingest.Ingest, *queue) {
	t.Helper()
	q := &queue{}
	c := ingest.Config{Store: q, Queue: q, Evaluator: e, Now: func() time.Time { return noon }}
	if edit != nil {
		edit(&c)
	}
	in, err := ingest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return in, q
}

func event(action, repository string, number int, at time.Time) []byte {
	b, _ := json.Marshal(map[string]any{
		"action": action, "number": number, "pull_request": map[string]any{"title": strings.Repeat("é", 2000), "updated_at": at}, "repository": map[string]any{"full_name": repository},
	})
	return b
}

func TestOnlyCheckedNamesReachTheAddress(t *testing.T) {
	in, q := newIngest(t, &evaluator{}, nil)
	for _, repository := range []string{
		"", "acme", "acme/", "/pay", "acme/pay/x", "../pay", "acme/..", "acme/.", "./.", "acme/pay?x", "acme/pay#x", "acme/pay%2f..", "acme/pa y", "acme/pay\n", "acme\\x/pay",
		"-acme/pay", "acmé/pay", "acme/" + strings.Repeat("x", 101), "evil.example@acme/pay", "acme.x/pay",
	} {
		_, err := in.GitHub(t.Context(), "pull_request", "d", event("opened", repository, 1, noon))
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", repository, err)
		}
	}
	for _, number := range []int{0, -1, 1 << 40} {
		if _, err := in.GitHub(t.Context(), "pull_request", "d", event("opened", "acme/pay", number, noon)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%d: %v", number, err)
		}
	}
	for _, repository := range []string{"acme/pay", "a-c_me/.github", "a/x..y"} {
		if r, err := in.GitHub(t.Context(), "pull_request", "d", event("opened", repository, 1, noon)); err != nil || r.Status != "accepted" {
			t.Errorf("%q: %+v, %v", repository, r, err)
		}
	}
	if len(q.args) != 3 || q.keys[0] != "d" {
		t.Errorf("%d jobs, keys %v", len(q.args), q.keys)
	}
}

func TestWhichPullRequestsAreEvaluated(t *testing.T) {
	e := &evaluator{known: map[string]bool{"github:known": true}}
	in, q := newIngest(t, e, nil)
	for action, want := range map[string]string{"opened": "accepted", "synchronize": "accepted", "reopened": "accepted", "closed": "ignored", "labeled": "ignored", "": "ignored"} {
		if r, err := in.GitHub(t.Context(), "pull_request", "d-"+action, event(action, "a/b", 1, noon)); err != nil || r.Status != want {
			t.Errorf("%s: %+v, %v", action, r, err)
		}
	}
	if r, err := in.GitHub(t.Context(), "pull_request", "known", event("opened", "a/b", 1, noon)); err != nil || r.Status != "accepted" {
		t.Errorf("a known one: %+v, %v", r, err)
	}
	if len(q.args) != 3 {
		t.Errorf("%d jobs", len(q.args))
	}
	for at, ok := range map[time.Time]bool{noon.Add(-72 * time.Hour): true, noon.Add(-74 * time.Hour): false} {
		_, err := in.GitHub(t.Context(), "pull_request", "d", event("opened", "a/b", 1, at))
		if (err == nil) != ok || (err != nil && rule.CodeOf(err) != rule.CodeUnauthenticated) {
			t.Errorf("from %s: %v", at, err)
		}
	}
	if _, err := in.GitHub(t.Context(), "pull_request", "d", []byte(`{"action":"opened","number":1,"pull_request":{},"repository":{"full_name":"a/b"}}`)); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("without a time: %v", err)
	}
}

// A setting that names no project is told to GitHub, instead of being noticed by nobody.
func TestAProjectThatIsNotThere(t *testing.T) {
	in, q := newIngest(t, &evaluator{}, func(c *ingest.Config) { c.ProjectID = "none" })
	r, err := in.GitHub(t.Context(), "pull_request", "d-1", event("opened", "o/r", 1, noon))
	if rule.CodeOf(err) != rule.CodeNotFound || len(q.args) != 0 {
		t.Errorf("%+v, %v, %d jobs", r, err, len(q.args))
	}
}

func TestFetchingADiff(t *testing.T) {
	var answer http.HandlerFunc
	var followed bool
	mux := http.NewServeMux()
	mux.HandleFunc("/api/repos/acme/pay/pulls/7", func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { followed = true })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	say := func(code int, pairs ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				w.Header().Set(pairs[i], pairs[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, "diff")
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   rule.Code
	}{
		"a diff":       {say(200), ""},
		"down":         {say(502), rule.CodeUnavailable},
		"rate limit":   {say(403, "Retry-After", "60"), rule.CodeUnavailable},
		"rate limit 2": {say(403, "X-RateLimit-Remaining", "0"), rule.CodeUnavailable},
		"rate limit 3": {say(429), rule.CodeUnavailable},
		"forbidden":    {say(403), rule.CodeInvalid},
		"no access":    {say(404), rule.CodeInvalid},
		"too much":     {say(406), rule.CodeInvalid},
		"redirect":     {say(301, "Location", server.URL+"/elsewhere"), rule.CodeInvalid},
		"large":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 101)) }, rule.CodeInvalid},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50")
			fmt.Fprint(w, "x")
		}, rule.CodeUnavailable},
		"as it allows":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100)) }, ""},
		"without token": {say(401), rule.CodeInvalid},
	} {
		e := &evaluator{}
		in, q := newIngest(t, e, func(c *ingest.Config) { c.GitHubURL, c.GitHubToken, c.MaxDiff = server.URL+"/api/", "s3cret", 100 })
		if _, err := in.GitHub(t.Context(), "pull_request", "d", event("opened", "acme/pay", 7, noon)); err != nil {
			t.Fatal(err)
		}
		answer = c.answer
		err := in.FetchDiff(t.Context(), wire.Job{ProjectID: "p", Args: q.args[0]}, func(int, int) {})
		if rule.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s tells the token", name)
		}
		if done := len(e.got) == 1; done != (c.code == "") {
			t.Errorf("%s: submitted %v", name, done)
			continue
		}
		if c.code != "" {
			continue
		}
		if got := e.got[0]; got.ProjectID != "p" || got.Repository != "acme/pay" || len([]rune(got.Intent)) != 1000 || got.Diff == "" ||
			e.names[0].SubmissionID != "github:d" || len(e.names[0].BodyHash) != 64 || e.actor != "ingest:github" {
			t.Errorf("%s: %+v %+v by %s", name, got, e.names[0], e.actor)
		}
		e.known = map[string]bool{"github:d": true}
		if err := in.FetchDiff(t.Context(), wire.Job{ProjectID: "p", Args: q.args[0]}, func(int, int) {}); err != nil || len(e.got) != 1 {
			t.Errorf("%s, again: %v, %d", name, err, len(e.got))
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

// A pull request that cannot be judged as things are, such as one of a repository that two nodes claim alike, is tried again and then
// a failed job; it is never taken for one that was judged.
func TestAPullRequestThatCannotBeJudgedNow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a diff") }))
	t.Cleanup(server.Close)
	e := &evaluator{err: rule.Errorf(rule.CodeConflict, "two nodes claim it")}
	in, q := newIngest(t, e, func(c *ingest.Config) { c.GitHubURL = server.URL })
	body := event("opened", "a/b", 1, noon)
	if _, err := in.GitHub(t.Context(), "pull_request", "d", body); err != nil {
		t.Fatal(err)
	}
	j := wire.Job{ProjectID: "default", Args: q.args[0]}
	if err := in.FetchDiff(t.Context(), j, func(int, int) {}); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("the job ends with %v", err)
	}
	// Once the same body is known under another delivery id, there is nothing left to do.
	e.known = map[string]bool{e.names[0].Key: true}
	if err := in.FetchDiff(t.Context(), j, func(int, int) {}); err != nil || len(e.got) != 1 {
		t.Errorf("%v, %d submitted", err, len(e.got))
	}
	if r, err := in.GitHub(t.Context(), "pull_request", "other", body); err != nil || r.Status != "accepted" || len(q.args) != 1 {
		t.Errorf("%+v, %v, %d jobs", r, err, len(q.args))
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]ingest.Config{
		"secret": {Secret: "hunter2"}, "project": {ProjectID: "No Project"}, "url": {GitHubURL: "api.github.com"}, "scheme": {GitHubURL: "file:///x"},
		"user": {GitHubURL: "https://u:p@x.example"}, "query": {GitHubURL: "https://x.example/?a"},
	} {
		if _, err := ingest.New(c); rule.CodeOf(err) != rule.CodeInvalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzGitHub(f *testing.F) {
	f.Add("d", string(event("opened", "a/b", 1, noon)))
	f.Add("", `{"action":"opened","pull_request":null}`)
	f.Add("d", `{"action":{"opened":1}}`)
	f.Fuzz(func(t *testing.T, delivery, body string) {
		q := &queue{}
		in, err := ingest.New(ingest.Config{Store: q, Queue: q, Evaluator: &evaluator{}, Now: func() time.Time { return noon }})
		if err != nil {
			t.Fatal(err)
		}
		r, err := in.GitHub(t.Context(), "pull_request", delivery, []byte(body))
		if err == nil && r.Status == "accepted" && (len(q.args) != 1 || delivery == "") {
			t.Errorf("accepted %q", body)
		}
	})
}
