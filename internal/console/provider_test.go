package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/sso/ssotest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// viewer of everything, and reviewer of payments.
var annAtCorp = map[string]any{
	"sub": "7", "sid": "s1", "email": "ann@example.com", "email_verified": true, "groups": []string{"staff", "pay-review"},
}

// signInNode is a node at which people of an identity provider sign in, with a project payments.
func signInNode(t *testing.T, idp *ssotest.Provider, settings map[string]string) *node {
	t.Helper()
	return signInNodeAt(t, idp, settings, nil)
}

// signInNodeAt is signInNode with a clock; nil is time.Now.
func signInNodeAt(t *testing.T, idp *ssotest.Provider, settings map[string]string, now func() time.Time) *node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sso.yaml")
	text := `providers:
- name: corp
  title: Corporate account
  issuer: ` + idp.URL + `
  client_id: tenet
  client_secret_env: CORP_SECRET
  roles:
  - {group: staff, project: default, role: viewer}
  - {group: pay-review, project: payments, role: reviewer}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"sso_file": file}
	maps.Copy(all, settings)
	n := newNodeIn(t, func(name string) string {
		if name == "CORP_SECRET" {
			return "s3cret"
		}
		return ""
	}, all, now)
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "payments"}); err != nil {
		t.Fatal(err)
	}
	return n
}

// through follows a redirect to the provider, and from there back, and returns the path of the answer.
func (v *visitor) through(a answer) string {
	v.t.Helper()
	if a.status != http.StatusSeeOther {
		v.t.Fatalf("no redirect to the provider: %d %s", a.status, a.body)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, a.header.Get("Location"), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	resp, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		v.t.Fatalf("the provider answers %d: %v", resp.StatusCode, err)
	}
	return back.RequestURI()
}

func TestPeopleSignInAtAnIdentityProvider(t *testing.T) {
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"SQLite":     func(*testing.T) map[string]string { return nil },
		"PostgreSQL": func(t *testing.T) map[string]string { return map[string]string{"database_url": pgtest.DSN(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idp := ssotest.New(t, annAtCorp)
			n := signInNode(t, idp, settings(t))
			v := n.visitor()
			if a := v.get("/p/payments/rules"); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/signin?") {
				t.Fatalf("without keys, but with a provider, the console is open: %d", a.status)
			}
			if a := v.get("/signin?next=%2Fp%2Fpayments%2Frules"); !strings.Contains(a.body, "Sign in with Corporate account") ||
				!strings.Contains(a.body, "/signin/corp?next=%2Fp%2Fpayments%2Frules") || strings.Contains(a.body, "s3cret") {
				t.Errorf("the sign-in page: %s", a.body)
			}
			back := v.through(v.get("/signin/corp?next=%2Fp%2Fpayments%2Frules"))
			a := v.get(back)
			if a.status != http.StatusSeeOther || a.header.Get("Location") != "/p/payments/rules" {
				t.Fatalf("back from the provider: %d to %s %s", a.status, a.header.Get("Location"), a.body)
			}
			a = v.get("/p/payments/rules")
			if a.status != http.StatusOK || !strings.Contains(a.body, "corp:ann@example.com") || !strings.Contains(a.body, "New rule") {
				t.Errorf("a reviewer of payments gets %d", a.status)
			}
			if a = v.get("/p/default/rules"); a.status != http.StatusOK || strings.Contains(a.body, "New rule") {
				t.Errorf("a viewer of the default project gets %d", a.status)
			}
			if a = v.get("/queue"); a.status != http.StatusOK {
				t.Errorf("the queue of all projects of the person: %d", a.status)
			}
			if a = v.get("/p/secret/rules"); a.status != http.StatusNotFound {
				t.Errorf("another project: %d", a.status)
			}

			// Nothing of the sign-in counts a second time, nor in another browser.
			if a = v.get(back); a.status != http.StatusUnauthorized || sessionOf(a) != nil {
				t.Errorf("the same answer again: %d", a.status)
			}
			if a = v.get("/p/payments/rules"); a.status != http.StatusOK {
				t.Errorf("an answer that does not count has ended the session: %d", a.status)
			}
			fresh := n.visitor().through(v.get("/signin/corp"))
			if a = n.visitor().get(fresh); a.status != http.StatusUnauthorized || sessionOf(a) != nil {
				t.Errorf("an answer in a browser that has not asked: %d", a.status)
			}

			v.post("/signout")
			if a = v.get("/p/payments/rules"); a.status != http.StatusSeeOther {
				t.Errorf("after signing out: %d", a.status)
			}
			if a := v.get("/signin/nobody"); a.status != http.StatusNotFound {
				t.Errorf("a provider that is not declared: %d", a.status)
			}
			if a := v.get("/signin/corp?next=https%3A%2F%2Fevil.example%2F"); a.status == http.StatusSeeOther {
				if a = v.get(v.through(a)); a.header.Get("Location") != "/" {
					t.Errorf("the sign-in leads on to %s", a.header.Get("Location"))
				}
			}
		})
	}
}

func TestPeopleWithoutARoleStayOutside(t *testing.T) {
	t.Parallel()
	idp := ssotest.New(t, map[string]any{"sub": "8", "groups": []string{"guests"}})
	v := signInNode(t, idp, nil).visitor()
	a := v.get(v.through(v.get("/signin/corp")))
	if a.status != http.StatusForbidden || sessionOf(a) != nil || !strings.Contains(a.body, "No group of yours") && !strings.Contains(a.body, "no group of yours") {
		t.Errorf("%d %s", a.status, a.body)
	}
	idp.Close()
	if a = v.get("/signin/corp"); a.status != http.StatusSeeOther { // its description is known by now
		t.Errorf("%d", a.status)
	}
	if a = v.get("/signin"); a.status != http.StatusOK {
		t.Errorf("the sign-in page without the provider: %d", a.status)
	}
}

func TestSessionsEndWithThoseOfTheProvider(t *testing.T) {
	t.Parallel()
	idp := ssotest.New(t, annAtCorp)
	var passed atomic.Int64 // beside the time that the test takes
	n := signInNodeAt(t, idp, map[string]string{"sso_recheck": "10m"}, func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
	v := n.visitor()
	v.get(v.through(v.get("/signin/corp")))
	if a := v.get("/p/payments/rules"); a.status != http.StatusOK {
		t.Fatalf("signed in: %d", a.status)
	}
	passed.Add(int64(11 * time.Minute))
	a := v.get("/p/payments/rules?status=DRAFT")
	if to, err := url.Parse(a.header.Get("Location")); err != nil || to.Query().Get("prompt") != "none" {
		t.Fatalf("after the time to ask again: %d to %s", a.status, a.header.Get("Location"))
	}
	if a = v.get(v.through(a)); a.header.Get("Location") != "/p/payments/rules?status=DRAFT" {
		t.Fatalf("back from the provider: %d to %s", a.status, a.header.Get("Location"))
	}
	if a = v.get("/p/payments/rules?status=DRAFT"); a.status != http.StatusOK {
		t.Errorf("signed in as before: %d", a.status)
	}
	idp.SignIn(nil)
	passed.Add(int64(21 * time.Minute))
	if a = v.post("/p/payments/rules/tags", "tag", "x"); a.status != http.StatusUnauthorized {
		t.Errorf("a form long after the provider was asked: %d", a.status)
	}
	a = v.get(v.through(v.get("/p/payments/rules")))
	if a.status != http.StatusUnauthorized || !strings.Contains(a.body, "has ended") {
		t.Errorf("once the session at the provider has ended: %d %s", a.status, a.body)
	}
	if a = v.get("/p/payments/rules"); !strings.HasPrefix(a.header.Get("Location"), "/signin?") {
		t.Errorf("afterwards: %d to %s", a.status, a.header.Get("Location"))
	}

	idp.SignIn(annAtCorp)
	v.get(v.through(v.get("/signin/corp")))
	logout := idp.Sign(idp.Claims(time.Now(), map[string]any{
		"sub": "7", "sid": "s1", "jti": "1", "events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}))
	provider := n.visitor() // without the cookies of the person
	if a = provider.do(http.MethodPost, "/signin/backchannel", url.Values{"logout_token": {"x"}}, nil); a.status != http.StatusBadRequest {
		t.Errorf("a message that is none: %d", a.status)
	}
	if a = provider.do(http.MethodPost, "/signin/backchannel", url.Values{"logout_token": {logout}}, nil); a.status != http.StatusOK {
		t.Fatalf("the message of the provider: %d %s", a.status, a.body)
	}
	if a = v.get("/p/payments/rules"); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/signin?") {
		t.Errorf("after the message of the provider: %d to %s", a.status, a.header.Get("Location"))
	}
}

func TestBreakGlass(t *testing.T) {
	t.Parallel()
	idp := ssotest.New(t, annAtCorp)
	n := signInNode(t, idp, nil)
	policy, err := client.Call(t.Context(), n.api, op.CreatePolicy, wire.CreatePolicy{Name: "watch", URL: "https://example.com/hook", EventTypes: []rule.EventType{rule.BreakGlass}})
	if err != nil {
		t.Fatal(err)
	}
	admin := n.key("root", "admin", "*")
	plain := n.key("reader", "viewer", "default")
	events := func() int {
		t.Helper()
		list, err := client.Get(t.Context(), n.api, op.ListDeliveries.At(policy.ID))
		if err != nil {
			t.Fatal(err)
		}
		return list.Total
	}
	idp.Close() // the provider is away
	n.signedIn(plain)
	if got := events(); got != 0 {
		t.Errorf("a viewer's key publishes %d events", got)
	}
	if a := n.signedIn(admin).get("/p/default/rules"); a.status != http.StatusOK {
		t.Errorf("an administrator's key, while the provider is away: %d", a.status)
	}
	if got := events(); got != 1 {
		t.Errorf("an administrator's key publishes %d events, want 1", got)
	}
}
