package sso_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/sso/ssotest"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// ann is a reviewer of payments by her groups.
var ann = map[string]any{"email": "ann@example.com", "email_verified": true, "groups": []string{"staff", "pay-review"}}

// people returns a People with one provider, whose clock can be moved.
func people(t *testing.T, idp *ssotest.Provider) (*sso.People, *time.Time) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	providers, err := sso.Parse([]byte(`
providers:
  - name: corp
    issuer: ` + idp.URL + `
    client_id: tenet
    cli_client_id: tenet-cli
    audiences: [tenet-api]
    roles:
      - {group: staff, project: "*", role: viewer}
      - {group: pay-review, project: payments, role: reviewer}
      - {group: pay-admin, project: payments, role: admin}
`))
	if err != nil {
		t.Fatal(err)
	}
	return sso.New(sso.Config{
		Providers: providers, Store: sso.Store{SessionReader: s.Sessions, Updater: s}, Lifetime: 12 * time.Hour, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now },
	}), &now
}

func TestTokensOfPeople(t *testing.T) {
	idp := ssotest.New(t, nil)
	p, now := people(t, idp)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claims := func(changes map[string]any) map[string]any {
		all := idp.Claims(*now, ann)
		maps.Copy(all, changes)
		return all
	}
	good := claims(nil)
	body, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(body) + "."
	public := idp.Sign(good)
	parts := strings.Split(public, ".")
	richer, err := json.Marshal(claims(map[string]any{"groups": []string{"pay-admin"}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		about, token string
		want         rule.Code
	}{
		{"a good one", idp.Sign(good), ""},
		{"for the command line", idp.Sign(claims(map[string]any{"aud": "tenet-cli"})), ""},
		{"for the API, among others", idp.Sign(claims(map[string]any{"aud": []string{"x", "tenet-api"}})), ""},
		{"that expired within the difference of clocks", idp.Sign(claims(map[string]any{"exp": now.Add(-30 * time.Second).Unix()})), ""},
		{"expired", idp.Sign(claims(map[string]any{"exp": now.Add(-2 * time.Minute).Unix()})), rule.CodeUnauthenticated},
		{"without an end", idp.Sign(idp.Claims(*now, map[string]any{"exp": nil})), rule.CodeUnauthenticated},
		{"not yet good", idp.Sign(claims(map[string]any{"nbf": now.Add(time.Hour).Unix()})), rule.CodeUnauthenticated},
		{"of the future", idp.Sign(claims(map[string]any{"iat": now.Add(time.Hour).Unix()})), rule.CodeUnauthenticated},
		{"of long ago", idp.Sign(claims(map[string]any{"iat": now.Add(-72 * time.Hour).Unix()})), rule.CodeUnauthenticated},
		{"for another audience", idp.Sign(claims(map[string]any{"aud": "wiki"})), rule.CodeUnauthenticated},
		{"for no audience", idp.Sign(claims(map[string]any{"aud": []string{}})), rule.CodeUnauthenticated},
		{"of another issuer", idp.Sign(claims(map[string]any{"iss": "https://elsewhere.example"})), rule.CodeUnauthenticated},
		{"of nobody", idp.Sign(claims(map[string]any{"sub": ""})), rule.CodeUnauthenticated},
		{"of a subject with a control character", idp.Sign(claims(map[string]any{"sub": "a\x00b"})), rule.CodeUnauthenticated},
		{"of a subject of 1 MB", idp.Sign(claims(map[string]any{"sub": strings.Repeat("a", 1<<20)})), rule.CodeUnauthenticated},
		{"with groups that are no texts", idp.Sign(claims(map[string]any{"groups": map[string]any{"a": 1}})), rule.CodeUnauthenticated},
		{"unsigned", unsigned, rule.CodeUnauthenticated},
		{"signed with another key of the same name", ssotest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: other}, "one", good), rule.CodeUnauthenticated},
		{"signed with the public key as a shared secret", ssotest.Sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: other.N.Bytes()}, "one", good), rule.CodeUnauthenticated},
		{"with other claims under a good signature", parts[0] + "." + base64.RawURLEncoding.EncodeToString(richer) + "." + parts[2], rule.CodeUnauthenticated},
		{"that signs somebody out", idp.Sign(claims(map[string]any{"events": map[string]any{logoutEvent: map[string]any{}}})), rule.CodeUnauthenticated},
		{"of a person without a role", idp.Sign(claims(map[string]any{"groups": []string{"guests"}})), rule.CodeForbidden},
		{"of a person without groups", idp.Sign(claims(map[string]any{"groups": nil})), rule.CodeForbidden},
		{"no token", "ey.ey.ey", rule.CodeUnauthenticated},
	} {
		who, err := p.Authenticate(t.Context(), tt.token)
		if rule.CodeOf(err) != tt.want {
			t.Errorf("a token %s: %v, want %q", tt.about, err, tt.want)
		}
		if (err == nil) != (who.Grants != nil) {
			t.Errorf("a token %s: actor %+v beside %v", tt.about, who, err)
		}
	}
	who, err := p.Authenticate(t.Context(), idp.Sign(good))
	if err != nil || who.Name != "corp:ann@example.com" || who.May(auth.Reviewer, "payments") != nil || who.May(auth.Viewer, "other") != nil ||
		who.May(auth.Admin, "payments") == nil || who.May(auth.Evaluator, "other") == nil || who.Home() != rule.DefaultProject {
		t.Errorf("the person: %+v %v, %v", who, who.Grants, err)
	}
	who, err = p.Authenticate(t.Context(), idp.Sign(claims(map[string]any{"email_verified": false, "sub": "17"})))
	if err != nil || who.Name != "corp:17" {
		t.Errorf("an address that the provider has not verified: %q, %v, want the subject", who.Name, err)
	}
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// A token of RFC 8693 names the agent that acts for its person.
func TestTokensOfAgents(t *testing.T) {
	idp := ssotest.New(t, nil)
	p, now := people(t, idp)
	token := func(act any) string {
		claims := idp.Claims(*now, ann)
		claims["act"] = act
		return idp.Sign(claims)
	}
	who, err := p.Authenticate(t.Context(), token(map[string]any{"sub": "release-bot", "act": map[string]any{"sub": "earlier"}}))
	if err != nil || who.Name != "corp:ann@example.com" || who.Person() != who.Name || who.Agent != "release-bot" {
		t.Errorf("the actor: %+v, %v", who, err)
	}
	id, err := auth.Identify(who, wire.Acting{Session: "s1"})
	if err != nil || id.Agent != "release-bot" || id.Claims("agent") || id.Claims("person") || !id.Claims("session") {
		t.Errorf("the identity: %+v, %v", id, err)
	}
	if _, err := auth.Identify(who, wire.Acting{OnBehalfOf: "bob@example.com"}); rule.CodeOf(err) != rule.CodeForbidden {
		t.Errorf("for another person: %v, want forbidden", err)
	}
	for _, act := range []any{"release-bot", nil, map[string]any{}, map[string]any{"sub": 7}, map[string]any{"sub": " "}, map[string]any{"sub": "a\nb"}} {
		if _, err := p.Authenticate(t.Context(), token(act)); rule.CodeOf(err) != rule.CodeUnauthenticated {
			t.Errorf("act %v: %v, want unauthenticated", act, err)
		}
	}
}

func TestKeysOfProvidersRotate(t *testing.T) {
	idp := ssotest.New(t, nil)
	p, now := people(t, idp)
	old := idp.Sign(idp.Claims(*now, ann))
	if _, err := p.Authenticate(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	idp.Rotate("two")
	*now = now.Add(10 * time.Second)
	if _, err := p.Authenticate(t.Context(), idp.Sign(idp.Claims(*now, ann))); err != nil {
		t.Errorf("a token with the new key: %v", err)
	}
	// The verifier answers the request that fetched the new keys a moment before it puts them in the place of the old ones.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, err := p.Authenticate(t.Context(), old)
		if rule.CodeOf(err) == rule.CodeUnauthenticated {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a token with the old key: %v, want unauthenticated", err)
		}
	}
	before := idp.Fetches()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		token := ssotest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: stranger}, rand.Text(), idp.Claims(*now, ann))
		if _, err := p.Authenticate(t.Context(), token); rule.CodeOf(err) != rule.CodeUnauthenticated {
			t.Fatalf("a token with an unknown key: %v", err)
		}
	}
	if asked := idp.Fetches() - before; asked > 1 {
		t.Errorf("50 tokens with unknown keys made the server fetch the keys %d times", asked)
	}
}

func TestProvidersThatAreAway(t *testing.T) {
	idp := ssotest.New(t, nil)
	p, now := people(t, idp)
	token := idp.Sign(idp.Claims(*now, ann))
	idp.Close()
	if _, err := p.Authenticate(t.Context(), token); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("%v, want unavailable", err)
	}
}

func TestProvidersSignPeopleOut(t *testing.T) {
	idp := ssotest.New(t, nil)
	p, now := people(t, idp)
	*now = time.Unix(now.Unix(), 0)
	mine := map[string]any{"sub": "7", "sid": "s1"}
	token := idp.Sign(idp.Claims(*now, with(ann, mine)))
	elsewhere := idp.Sign(idp.Claims(*now, with(ann, map[string]any{"sub": "7", "sid": "s2"})))
	check := func(about, token string, want rule.Code) {
		t.Helper()
		if _, err := p.Authenticate(t.Context(), token); rule.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", about, err, want)
		}
	}
	check("before", token, "")
	*now = now.Add(time.Second)
	logout := func(id string, changes map[string]any) string {
		return idp.Sign(idp.Claims(*now, with(map[string]any{"jti": id, "events": map[string]any{logoutEvent: map[string]any{}}}, changes)))
	}
	for about, bad := range map[string]string{
		"an ordinary token":        token,
		"one with a nonce":         logout("1", with(mine, map[string]any{"nonce": "x"})),
		"one for another audience": logout("2", with(mine, map[string]any{"aud": "tenet-cli"})),
		"one without an id":        logout("", mine),
		"one that names nobody":    logout("3", map[string]any{"sub": nil}),
		"one of long ago":          logout("4", with(mine, map[string]any{"iat": now.Add(-72 * time.Hour).Unix()})),
		"one of another provider":  logout("5", with(mine, map[string]any{"iss": "https://elsewhere.example"})),
		"nothing":                  "",
	} {
		if err := p.SignOut(t.Context(), bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s signs out: %v, want invalid", about, err)
		}
	}
	check("after messages that count for nothing", token, "")
	good := logout("9", mine)
	if err := p.SignOut(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	check("at once after the sign-out", token, rule.CodeUnauthenticated)
	check("another session of the person", elsewhere, "")
	if err := p.SignOut(t.Context(), good); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("the same message again: %v, want invalid", err)
	}
	*now = now.Add(time.Second)
	check("after another sign-in", idp.Sign(idp.Claims(*now, with(ann, mine))), "")
	if err := p.SignOut(t.Context(), logout("10", map[string]any{"sub": "7"})); err != nil {
		t.Fatal(err)
	}
	check("any session, after a sign-out of the person", elsewhere, rule.CodeUnauthenticated)
}

func with(a, b map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// back follows the address at the provider to where it sends the browser.
func back(t *testing.T, address string) url.Values {
	t.Helper()
	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := once.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return to.Query()
}

func TestSignIn(t *testing.T) {
	idp := ssotest.New(t, with(ann, map[string]any{"sid": "s1"}))
	p, _ := people(t, idp)
	begin := func() (sso.Attempt, string) {
		t.Helper()
		a, address, err := p.Begin(t.Context(), "corp", "http://127.0.0.1/signin/corp/callback", "/queue", false)
		if err != nil {
			t.Fatal(err)
		}
		return a, address
	}
	attempt, address := begin()
	if u, err := url.Parse(address); err != nil || u.Query().Get("code_challenge_method") != "S256" || strings.Contains(address, attempt.Verifier) {
		t.Errorf("the address %s does not use PKCE as it should, %v", address, err)
	}
	answer := back(t, address)
	person, err := p.Finish(t.Context(), attempt, answer)
	if err != nil || person.Name != "ann@example.com" || person.SID != "s1" || len(person.Groups) != 2 || person.Issuer != idp.URL {
		t.Fatalf("%+v, %v", person, err)
	}
	if _, err := p.Finish(t.Context(), attempt, answer); rule.CodeOf(err) != rule.CodeUnauthenticated {
		t.Errorf("the same answer again: %v, want unauthenticated", err)
	}

	refused := func(about string, change func(a *sso.Attempt, v url.Values)) {
		t.Helper()
		a, address := begin()
		v := back(t, address)
		change(&a, v)
		if _, err := p.Finish(t.Context(), a, v); rule.CodeOf(err) != rule.CodeUnauthenticated {
			t.Errorf("%s: %v, want unauthenticated", about, err)
		}
	}
	refused("another state", func(_ *sso.Attempt, v url.Values) { v.Set("state", "x") })
	refused("no state on either side", func(a *sso.Attempt, v url.Values) { a.State = ""; v.Del("state") })
	refused("another provider", func(_ *sso.Attempt, v url.Values) { v.Set("iss", "https://elsewhere.example") })
	refused("no name of the provider", func(_ *sso.Attempt, v url.Values) { v.Del("iss") })
	refused("another nonce", func(a *sso.Attempt, _ url.Values) { a.Nonce = "x" })
	refused("no verifier", func(a *sso.Attempt, _ url.Values) { a.Verifier = "" })
	refused("a code that was never given", func(_ *sso.Attempt, v url.Values) { v.Set("code", "x") })
	refused("a refusal", func(_ *sso.Attempt, v url.Values) { v.Set("error", "access_denied\xff") })
	idp.SignIn(with(ann, map[string]any{"aud": "wiki"}))
	refused("a token for another audience", func(*sso.Attempt, url.Values) {})
	idp.SignIn(nil)
	refused("nobody signed in", func(*sso.Attempt, url.Values) {})
}

func TestGroupsOfUserInfo(t *testing.T) {
	idp := ssotest.New(t, map[string]any{"sub": "5"})
	subject := "5"
	var infoURL string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"sub": subject, "groups": []string{"staff"}}) // the client sees a short answer
	}))
	t.Cleanup(front.Close)
	infoURL = front.URL
	client := &http.Client{Transport: describing{infoURL}}
	p, now := people(t, idp)
	_ = p
	providers, err := sso.Parse([]byte("providers:\n  - {name: corp, issuer: '" + idp.URL + "', client_id: tenet, roles: [{group: staff, project: '*', role: viewer}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	asking := sso.New(sso.Config{Providers: providers, Logger: slog.New(slog.DiscardHandler), Client: client, Now: func() time.Time { return *now }})
	finish := func() (sso.Person, error) {
		a, address, err := asking.Begin(t.Context(), "corp", "http://127.0.0.1/cb", "/", false)
		if err != nil {
			t.Fatal(err)
		}
		return asking.Finish(t.Context(), a, back(t, address))
	}
	if person, err := finish(); err != nil || len(person.Groups) != 1 {
		t.Errorf("groups that the token does not have: %+v, %v", person, err)
	}
	subject = "6"
	if _, err := finish(); rule.CodeOf(err) != rule.CodeUnauthenticated {
		t.Errorf("an answer about somebody else: %v, want unauthenticated", err)
	}
}

// describing adds an address for user information to the description of a provider.
type describing struct{ userInfo string }

func (d describing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "openid-configuration") {
		return resp, err
	}
	var about map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&about); err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	about["userinfo_endpoint"] = d.userInfo
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(about); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func TestFileOfProviders(t *testing.T) {
	for about, file := range map[string]string{
		"no provider":            "providers: []",
		"no roles":               "providers: [{name: a, issuer: https://a, client_id: t}]",
		"an unknown role":        "providers: [{name: a, issuer: https://a, client_id: t, roles: [{group: g, project: p, role: root}]}]",
		"an unknown field":       "providers: [{name: a, issuer: https://a, client_id: t, colour: red, roles: [{group: g, project: p, role: admin}]}]",
		"an issuer over http":    "providers: [{name: a, issuer: http://login.example.com, client_id: t, roles: [{group: g, project: p, role: admin}]}]",
		"a name of other actors": "providers: [{name: key, issuer: https://a, client_id: t, roles: [{group: g, project: p, role: admin}]}]",
		"a name with a colon":    "providers: [{name: 'a:b', issuer: https://a, client_id: t, roles: [{group: g, project: p, role: admin}]}]",
		"two secrets":            "providers: [{name: a, issuer: https://a, client_id: t, client_secret: x, client_secret_env: Y, roles: [{group: g, project: p, role: admin}]}]",
		"scopes without openid":  "providers: [{name: a, issuer: https://a, client_id: t, scopes: [email], roles: [{group: g, project: p, role: admin}]}]",
		"the same issuer twice":  "providers: [{name: a, issuer: https://a, client_id: t, roles: [{group: g, project: p, role: admin}]}, {name: b, issuer: https://a, client_id: t, roles: [{group: g, project: p, role: admin}]}]",
		"a role without a group": "providers: [{name: a, issuer: https://a, client_id: t, roles: [{project: p, role: admin}]}]",
		"no YAML":                "providers: [",
	} {
		if _, err := sso.Parse([]byte(file)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v, want invalid", about, err)
		}
	}
}

func FuzzAuthenticate(f *testing.F) {
	f.Add("ey.ey.ey")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2EifQ.")
	p := sso.New(sso.Config{Providers: []sso.Provider{{Name: "a", Issuer: "https://a.invalid"}}, Client: &http.Client{Transport: refusing{}}})
	f.Fuzz(func(t *testing.T, token string) {
		if who, err := p.Authenticate(context.Background(), token); err == nil {
			t.Errorf("%q is %+v", token, who)
		}
	})
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }
