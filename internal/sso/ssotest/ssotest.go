// Package ssotest is an identity provider for tests, which issues any token that a test asks for, also wrong ones.
package ssotest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Provider is a running identity provider.
type Provider struct {
	*httptest.Server

	tb testing.TB

	mu     sync.Mutex
	key    *rsa.PrivateKey
	id     string // of the key
	codes  map[string]url.Values
	claims map[string]any // of the person who signs in
	asked  int            // for the keys
}

// Fetches is how often the keys have been fetched.
func (p *Provider) Fetches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// New starts a provider that ends with the test. The claims are those of the person who signs in.
func New(tb testing.TB, claims map[string]any) *Provider {
	tb.Helper()
	p := &Provider{tb: tb, codes: map[string]url.Values{}, claims: claims}
	p.Rotate("one")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.publish)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	tb.Cleanup(p.Close)
	return p
}

// Rotate gives the provider another key, and forgets the one before.
func (p *Provider) Rotate(id string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.id = key, id
}

// SignIn changes who signs in next; nil means that nobody is signed in.
func (p *Provider) SignIn(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// Claims are those of a token that is good for five minutes, with changes on top; a nil value removes a claim.
func (p *Provider) Claims(now time.Time, changes map[string]any) map[string]any {
	all := map[string]any{"iss": p.URL, "aud": "tenet", "sub": "1", "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// Sign signs claims with the provider's key.
func (p *Provider) Sign(claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Sign(p.tb, jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, p.id, claims)
}

// Sign signs claims with any key.
func Sign(tb testing.TB, key jose.SigningKey, id string, claims map[string]any) string {
	tb.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", id)
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		tb.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}, "authorization_response_iss_parameter_supported": true,
	})
}

func (p *Provider) publish(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.id, Algorithm: "RS256", Use: "sig"}}})
}

// authorize sends the browser back at once, as a provider does at which the person is signed in.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil {
		http.Error(w, "bad redirect", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	signedIn := p.claims != nil
	code := rand.Text()
	p.codes[code] = asked
	p.mu.Unlock()
	query := url.Values{"state": {asked.Get("state")}, "iss": {p.URL}}
	if signedIn {
		query.Set("code", code)
	} else {
		query.Set("error", "login_required")
	}
	back.RawQuery = query.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	claims := maps.Clone(p.claims)
	p.mu.Unlock()
	if !ok || r.PostFormValue("code_verifier") == "" || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	all := p.Claims(now, map[string]any{"nonce": asked.Get("nonce")})
	maps.Copy(all, claims)
	answer(w, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": p.Sign(all)})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client sees a short answer
}
