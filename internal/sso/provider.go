package sso

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Bounds of what comes from providers.
const (
	callTime    = 10 * time.Second // for an answer
	maxAnswer   = 1 << 20          // bytes of one
	maxToken    = 64 << 10         // bytes of a token
	maxGroups   = 5_000            // of a person; Microsoft's tokens hold at most 200
	maxName     = 200              // bytes of a name, a subject, a session id
	maxTokenAge = 48 * time.Hour   // between the issue of a token and its use
	fetchPause  = 5 * time.Second  // between two requests for the keys of a provider
)

// algorithms are the signatures that are accepted: those with a key pair. With a shared secret everybody who can check a token could make one.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// provider is a provider with what it has published of itself.
type provider struct {
	Provider

	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	found *discovered // nil until it has answered
}

// discovered holds the description that a provider publishes of itself.
type discovered struct {
	*oidc.Provider

	verifier *oidc.IDTokenVerifier // of tokens for any audience
	extra    struct {
		EndSession    string `json:"end_session_endpoint"`
		NamesItself   bool   `json:"authorization_response_iss_parameter_supported"`
		UserInfo      string `json:"userinfo_endpoint"`
		Authorization string `json:"authorization_endpoint"`
	}
}

func newProvider(p Provider, client *http.Client, now func() time.Time) *provider {
	own := *client
	own.Transport = &careful{next: client.Transport, now: now}
	return &provider{Provider: p, client: &own, now: now}
}

// discover returns what the provider publishes of itself. A failure is not kept: the next caller asks again.
func (p *provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	about, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the identity provider %s cannot be asked: %w", p.Name, err)
	}
	d := &discovered{Provider: about}
	if err := about.Claims(&d.extra); err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the identity provider %s describes itself in a way that cannot be read: %w", p.Name, err)
	}
	// The context gives the client to later requests for keys; that it ends does not matter to them.
	d.verifier = about.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), p.client), &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: func() time.Time { return p.now().Add(-Skew) },
	})
	p.found = d
	return d, nil
}

// verify returns the person of a token for the API.
func (p *provider) verify(ctx context.Context, token string) (Person, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	verified, err := p.signed(ctx, d, token)
	if err != nil {
		return Person{}, err
	}
	if !slices.ContainsFunc(verified.Audience, func(a string) bool {
		return a == p.ClientID || a == p.CLIClientID && a != "" || slices.Contains(p.Audiences, a)
	}) {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token is for another audience")
	}
	return p.person(verified.Claims)
}

// signed checks the signature, issuer and times of a token.
func (p *provider) signed(ctx context.Context, d *discovered, token string) (*oidc.IDToken, error) {
	verified, err := d.verifier.Verify(ctx, token)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	var claims struct {
		Events json.RawMessage `json:"events"`
	}
	if err := verified.Claims(&claims); err != nil || len(claims.Events) > 0 {
		return nil, rule.Errorf(rule.CodeUnauthenticated, "the token is of another kind than those that name a person")
	}
	switch now := p.now(); {
	case verified.IssuedAt.After(now.Add(Skew)):
		return nil, rule.Errorf(rule.CodeUnauthenticated, "the token is from the future; compare the clocks of this server and of the identity provider")
	case verified.IssuedAt.Before(now.Add(-maxTokenAge)):
		return nil, rule.Errorf(rule.CodeUnauthenticated, "the token is more than %d hours old", int(maxTokenAge.Hours()))
	}
	return verified, nil
}

// refusal is the error about a token that the verifier refuses. Its own text goes to the log alone.
func refusal(ctx context.Context, err error) error {
	if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
		return rule.Errorf(rule.CodeUnauthenticated, "the token has expired; sign in again")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if strings.Contains(err.Error(), "fetching keys") && !strings.Contains(err.Error(), errPaused.Error()) {
		return rule.Errorf(rule.CodeUnavailable, "the keys of the identity provider cannot be fetched: %w", err)
	}
	return rule.Errorf(rule.CodeUnauthenticated, "the token is not valid")
}

// verifyLogout checks a logout token, which is for the console's client.
func (p *provider) verifyLogout(ctx context.Context, token string) (store.Signout, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return store.Signout{}, err
	}
	out, err := d.verifier.VerifyLogout(ctx, token)
	if err != nil {
		return store.Signout{}, rule.Errorf(rule.CodeInvalid, "the logout token is not valid")
	}
	switch now := p.now(); {
	case !slices.Contains(out.Audience, p.ClientID):
		return store.Signout{}, rule.Errorf(rule.CodeInvalid, "the logout token is for another audience")
	case out.TokenID == "" || len(out.TokenID) > maxName || !plain(out.TokenID):
		return store.Signout{}, rule.Errorf(rule.CodeInvalid, "the logout token has no id")
	case out.IssuedAt.After(now.Add(Skew)) || out.IssuedAt.Before(now.Add(-maxTokenAge)):
		return store.Signout{}, rule.Errorf(rule.CodeInvalid, "the logout token is of another time")
	case out.Subject == "" && out.SessionID == "" || !plain(out.Subject) || !plain(out.SessionID):
		return store.Signout{}, rule.Errorf(rule.CodeInvalid, "the logout token names nobody")
	}
	return store.Signout{Issuer: p.Issuer, TokenID: out.TokenID, Subject: out.Subject, SID: out.SessionID, At: out.IssuedAt}, nil
}

// person reads who a token is about.
func (p *provider) person(claims func(any) error) (Person, error) {
	var all map[string]any
	if err := claims(&all); err != nil {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token cannot be read")
	}
	text := func(name string) string {
		s, _ := all[name].(string)
		return s
	}
	who := Person{Provider: p.Name, Issuer: p.Issuer, Subject: text("sub"), SID: text("sid"), Name: text(p.NameClaim)}
	if p.NameClaim == "email" && all["email_verified"] != true && all["email_verified"] != "true" {
		who.Name = ""
	}
	if who.Name == "" {
		who.Name = who.Subject
	}
	for _, s := range []string{who.Subject, who.SID, who.Name} {
		if !plain(s) {
			return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token has a name of more than %d bytes, or with characters that are no text", maxName)
		}
	}
	if who.Subject == "" {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token names nobody")
	}
	if act, ok := all["act"]; ok {
		if who.Agent = agentOf(act); who.Agent == "" {
			return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the claim act of the token does not name who acts for the person")
		}
	}
	since, ok := all["auth_time"].(float64)
	if !ok {
		since, _ = all["iat"].(float64)
	}
	who.Since = time.Unix(int64(since), 0).UTC()
	var err error
	who.Groups, err = groupsOf(all[p.GroupsClaim])
	return who, err
}

// agentOf reads the claim act (RFC 8693, section 4.1): its subject acts for the person of the token. Actors inside it acted before and have no say.
func agentOf(claim any) string {
	act, _ := claim.(map[string]any)
	sub, _ := act["sub"].(string)
	if !plain(sub) {
		return ""
	}
	return strings.TrimSpace(sub)
}

// groupsOf reads a claim that lists groups: a list of texts, or one text.
func groupsOf(claim any) ([]string, error) {
	switch claim := claim.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{claim}, nil
	case []any:
		if len(claim) > maxGroups {
			return nil, rule.Errorf(rule.CodeUnauthenticated, "the token has more than %d groups", maxGroups)
		}
		var groups []string
		for _, g := range claim {
			if s, ok := g.(string); ok {
				groups = append(groups, s)
			}
		}
		return groups, nil
	}
	return nil, rule.Errorf(rule.CodeUnauthenticated, "the groups of the token are no list of texts")
}

// plain reports whether a text from a token is short, and text.
func plain(s string) bool {
	return len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// issuerOf reads the issuer that a token claims, before anything is checked.
func issuerOf(token string) (string, error) {
	unreadable := rule.Errorf(rule.CodeUnauthenticated, "the token is no signed JSON web token")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", unreadable
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", unreadable
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", unreadable
	}
	return claims.Issuer, nil
}

// oauth returns the settings of the console's client.
func (p *provider) oauth(d *discovered, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: d.Endpoint(), RedirectURL: redirect, Scopes: p.Scopes}
}

// errPaused is the error of a request for keys that comes too soon after another.
var errPaused = errors.New("the keys were fetched a moment ago")

// careful limits the answers of a provider, and how often its keys are fetched: a token with an unknown key makes the verifier fetch them, and
// everybody can send such tokens.
type careful struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // request for keys, by address
}

// RoundTrip implements [http.RoundTripper].
func (c *careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") && r.Header.Get("Authorization") == "" {
		if err := c.pause(r.URL.String()); err != nil {
			return nil, err
		}
	}
	next := c.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

func (c *careful) pause(address string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if last, ok := c.last[address]; ok && now.Sub(last) < fetchPause {
		return errPaused
	}
	if c.last == nil {
		c.last = map[string]time.Time{}
	}
	c.last[address] = now
	return nil
}
