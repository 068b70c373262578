package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const githubSecret = "what GitHub signs with"

var ingestSecret = signature.NewSecret()

// taken has a node's evaluator judge what was taken in.
type taken struct{ n *node }

func (e taken) Known(ctx context.Context, projectID string, n ingest.Named) (bool, error) {
	_, err := e.n.store.Submissions.Get(ctx, projectID, n.SubmissionID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		_, err = e.n.store.Submissions.GetByKey(ctx, projectID, n.Key)
	}
	if rule.CodeOf(err) == rule.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

func (e taken) Submit(ctx context.Context, n ingest.Named, c ingest.Change) error {
	_, err := e.n.cfg.answering.Later(ctx, evaluate.Named{SubmissionID: n.SubmissionID, Key: n.Key, BodyHash: n.BodyHash}, evaluate.Request{
		ProjectID: c.ProjectID, EvaluateOptions: wire.EvaluateOptions{Mode: rule.Posthoc},
		Submitted: &wire.Submitted{Kind: wire.CodeChange, Of: &wire.CodeChangeSubject{Kind: wire.CodeChange, Diff: c.Diff, Repository: c.Repository, Intent: c.Intent}},
	})
	return err
}

// github is GitHub's API with one pull request.
type github struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // path, Accept and Authorization
}

func newGitHub(t testing.TB) *github {
	g := &github{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked = append(g.asked, r.URL.Path+" "+r.Header.Get("Accept")+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+password\n")
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *github) questions() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.asked...)
}

func hubSignature(secret, body string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// fromGitHub sends a signed event.
func (n *node) fromGitHub(event, delivery, body string) *reply {
	n.t.Helper()
	return n.call("POST", ingestPath+"/github", body, "X-GitHub-Event", event, "X-GitHub-Delivery", delivery, "X-Hub-Signature-256", hubSignature(githubSecret, body))
}

// fromElsewhere sends a signed submission.
func (n *node) fromElsewhere(id string, at time.Time, body string) *reply {
	n.t.Helper()
	signed, err := signature.Sign(id, at, []byte(body), ingestSecret)
	if err != nil {
		n.t.Fatal(err)
	}
	return n.call("POST", ingestPath+"/generic", body, "Webhook-Id", id, "Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10), "Webhook-Signature", signed)
}

// carriesOut does the background work of a node until the test ends.
func (n *node) carriesOut() {
	n.t.Helper()
	runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Poll: 10 * time.Millisecond, Handlers: map[string]job.Handler{
		evaluate.JobKind: n.cfg.Evaluator.HandleSubmission, ingest.GitHubKind: n.cfg.Ingest.FetchDiff,
	}})
	runner.Start()
	n.t.Cleanup(func() {
		if err := runner.Stop(context.Background()); err != nil {
			n.t.Error(err)
		}
	})
}

// evaluated waits until a submission is completed.
func (n *node) evaluated(id string) *rule.Evaluation {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		r := n.call("GET", submissionsPath+"/"+id, nil)
		if r.status == http.StatusOK {
			if s := into[wire.SubmissionState](r); s.Status == wire.Completed {
				return s.Evaluation
			}
		}
	}
	n.t.Fatalf("%s is not evaluated", id)
	return nil
}

func TestPullRequestsAreTakenIn(t *testing.T) {
	t.Parallel()
	onBoth(t, testPullRequests)
}

func testPullRequests(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"statement": "No passwords.", "status": "EFFECTIVE", "severity": "HIGH", "check": fields{"pattern": fields{"regex": "password"}}}).want(http.StatusCreated)
	n.makeKey(auth.Admin, store.AllProjects)
	viewer := n.makeKey(auth.Viewer, rule.DefaultProject)
	event := func(edit string) string {
		return fmt.Sprintf(`{"action":"opened","number":7,"diff_url":"http://169.254.169.254/","pull_request":{"title":"Harmless","updated_at":%q,`+
			`"diff_url":"http://169.254.169.254/","url":"http://127.0.0.1:1/"},"repository":{"full_name":"acme/pay.ments","url":"http://127.0.0.1:1/"}%s}`,
			time.Now().UTC().Format(time.RFC3339), edit)
	}
	body := event("")
	r := into[wire.Receipt](n.fromGitHub("pull_request", "d-1", body).want(http.StatusAccepted))
	if r.Status != "accepted" || r.SubmissionID != "github:d-1" {
		t.Fatalf("accepted: %+v", r)
	}
	n.fromGitHub("pull_request", "d-1", body).want(http.StatusAccepted)
	n.carriesOut()
	n.key = viewer
	e := n.evaluated("github:d-1")
	if e.Mode != rule.Posthoc || e.OverallVerdict != rule.Deny || len(e.Violations) != 1 || e.Violations[0].Locations[0].FilePath != "x.go" {
		t.Errorf("the evaluation: %+v", e)
	}
	n.key = ""
	if again := into[wire.Receipt](n.fromGitHub("pull_request", "d-1", body).want(http.StatusAccepted)); again != r {
		t.Errorf("the same delivery again: %+v", again)
	}
	// GitHub does not sign the id of the delivery, so that of a replay may be any.
	n.fromGitHub("pull_request", "d-2", body).want(http.StatusAccepted)
	for event, want := range map[string]string{"ping": "ignored", "push": "ignored"} {
		if r := into[wire.Receipt](n.fromGitHub(event, "d-3", "{}").want(http.StatusAccepted)); r.Status != want || r.Reason == "" {
			t.Errorf("%s: %+v", event, r)
		}
	}
	n.key = viewer
	n.idle(evaluate.JobKind, ingest.GitHubKind)
	list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil).want(http.StatusOK))
	if list.Total != 1 || list.Items[0].Repository != "acme/pay.ments" || list.Items[0].Actor != "ingest:github" {
		t.Errorf("evaluations: %+v", list)
	}
	for _, q := range n.github.questions() {
		if q != "/api/v3/repos/acme/pay.ments/pulls/7 application/vnd.github.diff Bearer the token" {
			t.Errorf("GitHub was asked for %s", q)
		}
	}
	if len(n.github.questions()) == 0 {
		t.Error("GitHub was not asked")
	}
	n.key = ""
	for name, r := range map[string]*reply{
		"no signature":   n.call("POST", ingestPath+"/github", body, "X-GitHub-Event", "pull_request", "X-GitHub-Delivery", "d-4"),
		"another secret": n.call("POST", ingestPath+"/github", body, "X-GitHub-Event", "pull_request", "X-GitHub-Delivery", "d-4", "X-Hub-Signature-256", hubSignature("x", body)),
		"an old event":   n.fromGitHub("pull_request", "d-4", strings.Replace(body, time.Now().UTC().Format("2006-"), "2001-", 1)),
	} {
		if r.wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated); r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: 401 without a challenge", name)
		}
	}
	n.fromGitHub("pull_request", "../x", body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "X-GitHub-Delivery")
	n.fromGitHub("pull_request", "d-5", "no JSON").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "body")
}

func TestSignedSubmissionsAreTakenIn(t *testing.T) {
	t.Parallel()
	onBoth(t, testSigned)
}

func testSigned(t *testing.T, n *node) {
	n.makeProject("pay")
	n.makeKey(auth.Admin, store.AllProjects)
	viewer := n.makeKey(auth.Viewer, rule.DefaultProject)
	now := time.Now()
	data, err := json.Marshal(fields{"subject": fields{"kind": "transaction", "amount": 5}, "mode": "posthoc"})
	if err != nil {
		t.Fatal(err)
	}
	body := string(data)
	r := n.fromElsewhere("msg_1", now, body).want(http.StatusAccepted)
	if s := into[wire.SubmissionState](r); s.SubmissionID != "webhook:msg_1" || r.header.Get("Location") != submissionsPath+"/webhook:msg_1" {
		t.Errorf("accepted: %s %v", r.body, r.header)
	}
	n.carriesOut()
	n.key = viewer
	if e := n.evaluated("webhook:msg_1"); e.Mode != rule.Posthoc {
		t.Errorf("evaluated: %+v", e)
	}
	n.key = ""
	if s := into[wire.SubmissionState](n.fromElsewhere("msg_1", now, body).want(http.StatusAccepted)); s.Status != wire.Completed {
		t.Errorf("again: %+v", s)
	}
	n.fromElsewhere("msg_1", now, strings.Replace(body, "5", "6", 1)).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.fromElsewhere("msg_2", now.Add(-6*time.Minute), body).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.fromElsewhere("msg_2", now.Add(6*time.Minute), body).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.call("POST", ingestPath+"/generic", body).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.fromElsewhere("msg 2", now, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "webhook-id")
	n.fromElsewhere("msg_3", now, `{"subject":{"kind":"x"}}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "subject.kind")
	n.fromElsewhere("msg_3", now, strings.Replace(body, `{`, `{"project_id":"pay",`, 1)).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.fromElsewhere("msg_4", now, `{"a":1,"a":2}`).wantProblem(http.StatusBadRequest, rule.CodeInvalid)
	if strings.Contains(n.log.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
	// The key of an administrator is no signature.
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	n.call("POST", ingestPath+"/generic", body).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
}

// What the header tells to be unsigned is refused before a byte of its body is read.
func TestUnsignedBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) {
		in, err := ingest.New(ingest.Config{Now: time.Now, GitHubSecret: githubSecret})
		if err != nil {
			t.Fatal(err)
		}
		c.Ingest = in
	})
	for path, want := range map[string]int{"/github": http.StatusUnauthorized, "/generic": http.StatusServiceUnavailable} {
		body := &countingReader{}
		n.call("POST", ingestPath+path, body).want(want)
		if body.n > 0 {
			t.Errorf("%s: %d bytes were read", path, body.n)
		}
	}
}

// countingReader is a body without an end.
type countingReader struct{ n int }

func (r *countingReader) Read(p []byte) (int, error) {
	r.n += len(p)
	return len(p), nil
}

func TestNothingIsTakenInWithoutASecret(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) {
		in, err := ingest.New(ingest.Config{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		c.Ingest = in
	})
	for path, setting := range map[string]string{"/github": "TENET_INGEST_GITHUB_SECRET", "/generic": "TENET_INGEST_SECRET"} {
		for _, header := range []string{"", hubSignature("", "{}")} {
			p := n.call("POST", ingestPath+path, "{}", "X-Hub-Signature-256", header, "X-GitHub-Event", "ping").wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
			if !strings.Contains(p.Detail, setting) {
				t.Errorf("%s: %s", path, p.Detail)
			}
		}
	}
}
