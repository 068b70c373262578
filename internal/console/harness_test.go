package console_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

func none(string) string { return "" }

// node is a server with the console.
type node struct {
	t    testing.TB
	url  string
	api  *client.Client // of the local administrator
	keys map[string]string
}

// newNode starts a server on a fresh database with the given settings, at least one rule, and no key.
func newNode(t testing.TB, settings map[string]string) *node {
	t.Helper()
	return newNodeIn(t, none, settings, nil)
}

// newNodeIn is newNode with environment variables, and with a clock; nil is time.Now.
func newNodeIn(t testing.TB, env func(string) string, settings map[string]string, now func() time.Time) *node {
	t.Helper()
	all := map[string]string{"listen": "127.0.0.1:0"}
	if settings["database_url"] == "" {
		all["data"] = litetest.Dir(t)
	}
	maps.Copy(all, settings)
	cfg, err := config.Load("", none, all)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: env, Rules: rules(), Version: "v-test", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil && !strings.Contains(err.Error(), "deadline") { // the browser keeps connections
			t.Error(err)
		}
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	api, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(a.Handler())})
	if err != nil {
		t.Fatal(err)
	}
	return &node{t: t, url: "http://" + a.Addr(), api: api, keys: map[string]string{}}
}

// rules are what the tests' nodes hold.
func rules() []*wire.RuleFile {
	return []*wire.RuleFile{{Rules: []wire.RuleInput{
		{
			Slug: new("SEC-001"), Statement: "Code must not call eval.", Modality: rule.MustNot, Severity: rule.High, Status: rule.Effective,
			Rationale: new("It runs text as code."), Exceptions: []string{"Notebooks."}, Tags: []string{"python", "security"}, Owner: new("appsec"),
			AppliesTo:  &rule.AppliesTo{Kinds: []string{"code_change"}},
			SourceRefs: []rule.SourceRef{{Kind: "standard", URI: "CWE-95", Quote: "Improper neutralization of directives in dynamically evaluated code."}},
			Check:      &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\(`}, Message: "eval runs text as code.", Fix: "Parse the text."},
		},
		{
			Slug: new("FIN-001"), Statement: "Payments above 10000 must have two approvers.", Severity: rule.Critical, Status: rule.Effective, Scope: []string{"finance/payments"},
			AppliesTo: &rule.AppliesTo{Kinds: []string{"facts", "transaction"}},
			Check:     &rule.Check{CEL: "facts.amount <= 10000 || facts.approvers >= 2", When: "'amount' in facts"},
		},
		{Slug: new("OPS-001"), Statement: "Deployments must be announced.", Status: rule.Review, AppliesTo: &rule.AppliesTo{Kinds: []string{"action"}}},
		{Slug: new("DOC-001"), Statement: "Every service should have a page.", Modality: rule.Should, Severity: rule.Low, Status: rule.Draft},
	}}}
}

// evaluate has a subject judged and returns the id of the evaluation.
func (n *node) evaluate(project, body string) string {
	n.t.Helper()
	e, err := client.Call(n.t.Context(), n.api.InProject(project), op.Evaluate, any(json.RawMessage(body)))
	if err != nil {
		n.t.Fatal(err)
	}
	return e.EvaluationID
}

// ruleID returns the id of a rule by its slug.
func (n *node) ruleID(slug string) string {
	n.t.Helper()
	r, err := client.Get(n.t.Context(), n.api, op.GetRule.At(slug))
	if err != nil {
		n.t.Fatal(err)
	}
	return r.ID
}

// key makes a key with a role in a project (* for all) and returns its secret.
func (n *node) key(name, role, project string) string {
	n.t.Helper()
	if len(n.keys) == 0 && (role != "admin" || project != "*") {
		n.key("first", "admin", "*") // the API demands it
	}
	made, err := client.Call(n.t.Context(), n.api, op.CreateKey.Where(struct {
		P string `query:"project_id"`
	}{project}), wire.CreateKey{Name: name, Role: role})
	if err != nil {
		n.t.Fatal(err)
	}
	n.keys[name] = made.ID
	return made.Secret
}

// visitor is a browser without scripts: cookies, and redirects only on demand.
type visitor struct {
	t      testing.TB
	base   string
	client *http.Client
}

func (n *node) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return &visitor{n.t, n.url, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn is a visitor with the session of a key.
func (n *node) signedIn(secret string) *visitor {
	n.t.Helper()
	v := n.visitor()
	if a := v.post("/signin", "key", secret); a.status != http.StatusSeeOther {
		n.t.Fatalf("signing in: %d %s", a.status, a.body)
	}
	return v
}

// answer is what a visitor gets.
type answer struct {
	status int
	header http.Header
	body   string
}

func (v *visitor) get(path string) answer {
	v.t.Helper()
	return v.do(http.MethodGet, path, nil, nil)
}

// post sends a form of names and values.
func (v *visitor) post(path string, pairs ...string) answer {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, form, http.Header{"Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}})
}

func (v *visitor) do(method, path string, form url.Values, header http.Header) answer {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, header)
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}
