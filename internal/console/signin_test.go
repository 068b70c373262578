package console_test

import (
	"net/http"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire/op"
)

func sessionOf(a answer) *http.Cookie {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "tenet-session" {
			return c
		}
	}
	return nil
}

func TestWithoutKeysTheConsoleIsOpenAndSaysSo(t *testing.T) {
	t.Parallel()
	v := newNode(t, nil).visitor()
	if a := v.get("/"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/p/default/evaluations" {
		t.Errorf("/: %d to %s", a.status, a.header.Get("Location"))
	}
	if a := v.get("/console"); a.status != http.StatusSeeOther {
		t.Errorf("/console: %d", a.status)
	}
	for path, want := range map[string]string{"/p/default": "/p/default/evaluations", "/p/default/": "/p/default/evaluations"} {
		if a := v.get(path); a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Errorf("%s: %d to %s", path, a.status, a.header.Get("Location"))
		}
	}
	if a := v.get("/p/nothing"); a.status != http.StatusNotFound {
		t.Errorf("a project that is not there: %d to %s", a.status, a.header.Get("Location"))
	}
	a := v.get("/p/default/rules")
	if a.status != http.StatusOK || !strings.Contains(a.body, "No API key is in force") || !strings.Contains(a.body, "Local administrator") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if c := sessionOf(a); c != nil {
		t.Errorf("reading a page begins the session %v", c)
	}
}

func TestTheAPIKeepsItsAddresses(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.visitor()
	for _, accept := range []string{"application/json", "*/*", ""} {
		a := v.do(http.MethodGet, "/", nil, http.Header{"Accept": {accept}})
		if a.status != http.StatusOK || !strings.Contains(a.body, `"name":"Tenet"`) && !strings.Contains(a.body, `"name": "Tenet"`) {
			t.Errorf("/ for Accept %q: %d %s", accept, a.status, a.body)
		}
	}
	if a := v.get("/health"); a.status != http.StatusOK || !strings.Contains(a.body, `"ok"`) {
		t.Errorf("/health in a browser: %d %s", a.status, a.body)
	}
	if a := v.do(http.MethodGet, "/nothing", nil, http.Header{"Accept": {"application/json"}}); !strings.Contains(a.header.Get("Content-Type"), "problem+json") {
		t.Errorf("an unknown address: %d %v", a.status, a.header)
	}
	off := newNode(t, map[string]string{"console": "false"}).visitor()
	if a := off.get("/"); !strings.Contains(a.body, "openapi") {
		t.Errorf("/ with the console off: %d %s", a.status, a.body)
	}
	if a := off.get("/p/default/rules"); a.status != http.StatusNotFound {
		t.Errorf("a page with the console off: %d", a.status)
	}
}

func TestSessions(t *testing.T) {
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"SQLite":     func(*testing.T) map[string]string { return map[string]string{} },
		"PostgreSQL": func(t *testing.T) map[string]string { return map[string]string{"database_url": pgtest.DSN(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, settings(t))
			secret := n.key("ann", "admin", "*")
			v := n.visitor()
			a := v.get("/p/default/rules?status=REVIEW")
			if a.status != http.StatusSeeOther || a.header.Get("Location") != "/signin?next=%2Fp%2Fdefault%2Frules%3Fstatus%3DREVIEW" {
				t.Fatalf("without a session: %d to %s", a.status, a.header.Get("Location"))
			}
			if a = v.get("/signin"); a.status != http.StatusOK || strings.Contains(a.body, "/p/default") {
				t.Errorf("the sign-in page: %d", a.status)
			}
			if a = v.post("/signin", "key", "tnt_wrong"); a.status != http.StatusUnauthorized || sessionOf(a) != nil {
				t.Errorf("a wrong key: %d, session %v", a.status, sessionOf(a))
			}
			a = v.post("/signin", "key", " "+secret+"\n", "next", "/p/default/rules?status=REVIEW")
			c := sessionOf(a)
			if a.status != http.StatusSeeOther || a.header.Get("Location") != "/p/default/rules?status=REVIEW" || c == nil {
				t.Fatalf("the right key: %d to %s, session %v", a.status, a.header.Get("Location"), c)
			}
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Value == "" || strings.Contains(c.Value, secret) {
				t.Errorf("the cookie %v", c)
			}
			a = v.get("/p/default/rules")
			if a.status != http.StatusOK || !strings.Contains(a.body, "key:ann") || strings.Contains(a.body, secret) || strings.Contains(a.body, "No API key is in force") {
				t.Errorf("with a session: %d", a.status)
			}

			// Another sign-in gets another token, and the old one ends: nobody can plant a token.
			again := sessionOf(v.post("/signin", "key", secret))
			if again == nil || again.Value == c.Value {
				t.Errorf("signing in again gives %v after %v", again, c)
			}
			if a := n.visitor().do(http.MethodGet, "/p/default/rules", nil, http.Header{"Cookie": {"tenet-session=" + c.Value}}); a.status != http.StatusSeeOther {
				t.Errorf("the token from before: %d", a.status)
			}
			planted := n.visitor().do(http.MethodPost, "/signin", map[string][]string{"key": {secret}}, http.Header{"Cookie": {"tenet-session=planted"}})
			if c := sessionOf(planted); c == nil || c.Value == "planted" {
				t.Errorf("a planted token becomes the session %v", c)
			}

			if a := v.post("/signout"); a.status != http.StatusSeeOther || sessionOf(a) == nil || sessionOf(a).MaxAge >= 0 && sessionOf(a).Expires.Unix() > 1 {
				t.Errorf("signing out: %d %v", a.status, sessionOf(a))
			}
			if a := n.visitor().do(http.MethodGet, "/p/default/rules", nil, http.Header{"Cookie": {"tenet-session=" + again.Value}}); a.status != http.StatusSeeOther {
				t.Errorf("the token after signing out: %d", a.status)
			}

			n.key("eve", "admin", "*")
			v = n.signedIn(secret)
			if err := client.Run(t.Context(), n.api, op.RevokeKey.At(n.keys["ann"]).Where(struct {
				P string `query:"project_id"`
			}{"*"})); err != nil {
				t.Fatal(err)
			}
			if a := v.get("/p/default/rules"); a.status != http.StatusSeeOther {
				t.Errorf("with the session of a revoked key: %d", a.status)
			}
		})
	}
}

func TestManyWrongKeysHaveToWait(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	secret := n.key("ann", "viewer", "default")
	v := n.visitor()
	for range 10 {
		if a := v.post("/signin", "key", "tnt_wrong"); a.status != http.StatusUnauthorized {
			t.Fatalf("a wrong key: %d", a.status)
		}
	}
	if a := v.post("/signin", "key", secret); a.status != http.StatusTooManyRequests {
		t.Errorf("after ten wrong keys: %d", a.status)
	}
}

func TestNextStaysOnThisServer(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	secret := n.key("ann", "viewer", "default")
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", "/\t/evil.example", ""} {
		a := n.visitor().post("/signin", "key", secret, "next", next)
		if to := a.header.Get("Location"); to != "/" {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	secret := n.key("ann", "admin", "*")
	v := n.signedIn(secret)
	for _, header := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"null"}}} {
		if a := v.do(http.MethodPost, "/signout", map[string][]string{}, header); a.status != http.StatusForbidden {
			t.Errorf("a form of another site, %v: %d", header, a.status)
		}
	}
	if a := v.get("/p/default/rules"); a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
	a := v.get("/p/default/rules")
	policy := a.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "form-action 'self'", "base-uri 'none'", "script-src 'nonce-"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", a.header)
	}
	if again := v.get("/p/default/rules").header.Get("Content-Security-Policy"); again == policy {
		t.Error("two pages have one nonce")
	}
	if strings.Contains(a.body, " style=") || strings.Contains(a.body, " onclick=") || strings.Contains(a.body, "<script>") {
		t.Error("the page has inline styles, handlers or scripts")
	}
}

// TestThePolicyHolds tries in a browser what injected markup would do: inline scripts and handlers do not run, text does not become
// markup, and elements without the nonce of the page get nothing from htmx.
func TestThePolicyHolds(t *testing.T) {
	n := newNode(t, nil)
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/rules")
	got := browsertest.Eval[map[string]any](tab, `(async () => {
		const out = {};
		try { document.body.innerHTML = "<b>x</b>"; out.markup = true } catch (e) { out.markup = false }
		const script = document.createElement("script");
		try { script.text = "window.ran = true"; document.body.append(script) } catch (e) {}
		const link = document.createElement("a");
		try { link.setAttribute("onclick", "window.ran = true") } catch (e) {}
		link.href = "javascript:window.ran = true";
		document.body.append(link);
		link.click();
		const button = document.createElement("button");
		button.setAttribute("hx-get", "/p/default/evaluations");
		button.setAttribute("hx-target", "#main");
		document.body.append(button);
		htmx.process(button);
		button.click();
		await new Promise(done => setTimeout(done, 300));
		out.ran = window.ran === true;
		out.replaced = !document.querySelector("#main h1").innerText.includes("Rules");
		const frame = document.createElement("iframe");
		frame.src = "/p/default/rules";
		document.body.append(frame);
		await new Promise(done => { frame.onload = frame.onerror = done; setTimeout(done, 500) });
		try { out.framed = !!frame.contentDocument.querySelector("h1") } catch (e) { out.framed = false }
		return out;
	})()`)
	for _, what := range []string{"markup", "ran", "replaced", "framed"} {
		if got[what] != false {
			t.Errorf("%s: %v", what, got[what])
		}
	}
	if len(tab.Problems()) == 0 {
		t.Error("the browser reports no violation: what watches for them in other tests does not work")
	}
}

func TestAServerWithoutKeysAnswersToItsNameOnly(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+"/p/default/rules", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	r.Header.Set("Accept", "text/html")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a host name that points here: %d", res.StatusCode)
	}
}

func TestRolesAndProjects(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	for _, project := range []string{"alpha", "beta"} {
		if err := n.api.Do(t.Context(), http.MethodPost, "/api/v1/projects", map[string]string{"id": project, "name": "Project " + project}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ours, theirs := n.evaluate("alpha", badPayment), n.evaluate("beta", badPayment)
	v := n.signedIn(n.key("vera", "viewer", "alpha"))
	if a := v.get("/"); a.header.Get("Location") != "/p/alpha/evaluations" {
		t.Errorf("the start is %s", a.header.Get("Location"))
	}
	a := v.get("/p/alpha/evaluations")
	if a.status != http.StatusOK || !strings.Contains(a.body, ours) || strings.Contains(a.body, theirs) || strings.Contains(a.body, "Project beta") {
		t.Errorf("the list of the own project: %d", a.status)
	}
	for _, path := range []string{"/p/beta/evaluations", "/p/beta/rules", "/p/nowhere/rules", "/p/default/rules", "/p/%2e%2e/rules"} {
		if a := v.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, a.status)
		}
	}
	all := n.signedIn(n.key("rosa", "reviewer", "*"))
	a = all.get("/p/beta/rules")
	if a.status != http.StatusOK || !strings.Contains(a.body, "Project alpha") || !strings.Contains(a.body, "Project beta") {
		t.Errorf("a key for all projects: %d", a.status)
	}
	if a = all.get("/project?project=alpha&list=rules"); a.header.Get("Location") != "/p/alpha/rules" {
		t.Errorf("another project is at %s", a.header.Get("Location"))
	}
	if a = all.get("/project?project=..%2F..%2F%2Fevil.example&list=//x"); !strings.HasPrefix(a.header.Get("Location"), "/p/..%2F..%2F%2Fevil.example/") {
		t.Errorf("a hostile project is at %s", a.header.Get("Location"))
	}
}

// TestSigningInWithAKeyboard signs in, goes round by keys, and signs out, without a mouse.
func TestSigningInWithAKeyboard(t *testing.T) {
	n := newNode(t, nil)
	secret := n.key("ann", "reviewer", "default")
	tab := browsertest.Open(t, n.url)
	tab.Open("/")
	if got := tab.Text("h1"); got != "Sign in" {
		t.Fatalf("the first page is %q", got)
	}
	for _, one := range tab.Axe() {
		t.Error(one)
	}
	tab.Press(secret) // the field has the focus
	tab.PressTo("\r")
	if got := tab.Text("h1"); got != "Evaluations" {
		t.Fatalf("after signing in: %q", got)
	}
	for _, c := range tab.Cookies() {
		if strings.HasPrefix(c, "tenet-session=") && !strings.Contains(c, "HttpOnly=true SameSite=Lax") {
			t.Errorf("cookie %s", c)
		}
	}
	if got := browsertest.Eval[string](tab, "document.cookie"); got != "" {
		t.Errorf("scripts read the cookies %q", got)
	}
	tab.Press("g")
	tab.PressTo("r")
	if got := tab.Text("h1"); got != "Rules" {
		t.Fatalf("after g r: %q", got)
	}
	tab.Press("?")
	tab.Wait("document.querySelector('dialog').open")
	for _, one := range tab.Axe() {
		t.Error(one)
	}
	tab.Press("\u001b")
	tab.Wait("!document.querySelector('dialog').open")
	tab.Press("jjx")
	if got := browsertest.Eval[[]bool](tab, "[...document.querySelectorAll('[data-item] input')].map(b => b.checked)"); !got[1] || got[0] {
		t.Errorf("j j x selects %v", got)
	}
	tab.Press("/")
	if got := browsertest.Eval[string](tab, "document.activeElement.name"); got != "q" {
		t.Errorf("/ goes to %q", got)
	}
	tab.Press("eval")
	tab.PressTo("\r")
	if n := tab.Count("[data-item]"); n != 1 {
		t.Errorf("the search finds %d rules", n)
	}
	tab.Follow(".who button")
	if got := tab.Text("h1"); got != "Sign in" {
		t.Errorf("after signing out: %q", got)
	}
	if problems := tab.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}
