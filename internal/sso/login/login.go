// Package login signs people in from the command line, at the identity providers that a server declares: in a browser on the same machine
// (RFC 8252), or on another device (RFC 8628).
package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"tenet/internal/wire"
)

// callTime bounds each request to a provider.
const callTime = 15 * time.Second

// Prompt asks the person to open an address. Code is to be typed there; it is empty if the address needs none.
type Prompt func(address, code string)

// flow is a sign-in at one provider.
type flow struct {
	about  *oidc.Provider
	config *oauth2.Config
	client *http.Client
}

// begin asks the provider for its description.
func begin(ctx context.Context, p *wire.SignInProvider) (*flow, error) {
	if p.CLIClientID == "" {
		return nil, fmt.Errorf("the provider %s is not offered to the command line: sso_file of the server gives it no cli_client_id", p.Name)
	}
	client := &http.Client{Timeout: callTime}
	about, err := oidc.NewProvider(oidc.ClientContext(ctx, client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the identity provider %s cannot be asked: %w", p.Name, err)
	}
	scopes := slices.Clone(p.Scopes)
	if !slices.Contains(scopes, oidc.ScopeOfflineAccess) {
		scopes = append(scopes, oidc.ScopeOfflineAccess) // for a token that renews the others
	}
	return &flow{about, &oauth2.Config{ClientID: p.CLIClientID, Endpoint: about.Endpoint(), Scopes: scopes}, client}, nil
}

// Browser signs in with a browser on this machine, which open opens; prompt is shown in any case.
func Browser(ctx context.Context, p *wire.SignInProvider, open func(address string) error, prompt Prompt) (*Tokens, error) {
	f, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	f.config.RedirectURL = "http://localhost:" + port + "/callback" // some providers accept the name alone
	answers := make(chan answer, 1)
	server := &http.Server{Handler: callback(p.Issuer, state, answers), ReadHeaderTimeout: callTime}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends with Shutdown below
	}()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // the page has been sent
		<-ended
	}()
	address := f.config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	prompt(address, "")
	if open != nil {
		_ = open(address) // the person can open it too
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answers:
		if got.problem != "" {
			return nil, errors.New(got.problem)
		}
		tokens, err := f.config.Exchange(oidc.ClientContext(ctx, f.client), got.code, oauth2.VerifierOption(verifier))
		if err != nil {
			return nil, fmt.Errorf("the identity provider did not accept the answer: %w", err)
		}
		return f.take(ctx, p, tokens, nonce)
	}
}

// answer holds the parameters with which a provider sends the browser back.
type answer struct{ code, problem string }

// callback takes the first answer that belongs to this sign-in. Others, which any page can send, change nothing.
func callback(issuer, state string, answers chan<- answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		got := answer{code: query.Get("code")}
		if from := query.Get("iss"); subtle.ConstantTimeCompare([]byte(state), []byte(query.Get("state"))) != 1 || from != "" && from != issuer {
			http.Error(w, "This answer belongs to another sign-in. Run tenet login again.", http.StatusBadRequest)
			return
		}
		text := "You are signed in. Close this page and go back to the terminal."
		if code := query.Get("error"); code != "" || got.code == "" {
			got.problem = "the identity provider refused: " + code + " " + query.Get("error_description")
			text = "The identity provider refused. The terminal says more."
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>Tenet</title><p>%s</p>", html.EscapeString(text))
		select {
		case answers <- got:
		default: // one has come already
		}
	})
	return mux
}

// Device signs in on another device: prompt shows an address and a code to type there.
func Device(ctx context.Context, p *wire.SignInProvider, prompt Prompt) (*Tokens, error) {
	f, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	if f.config.Endpoint.DeviceAuthURL == "" {
		return nil, fmt.Errorf("the identity provider %s offers no sign-in on another device", p.Name)
	}
	ctx = oidc.ClientContext(ctx, f.client)
	verifier := oauth2.GenerateVerifier()
	asked, err := f.config.DeviceAuth(ctx, oauth2.S256ChallengeOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("the identity provider begins no sign-in on another device: %w", err)
	}
	address := asked.VerificationURIComplete
	if address == "" {
		address = asked.VerificationURI
	}
	prompt(address, asked.UserCode)
	tokens, err := f.config.DeviceAccessToken(ctx, asked, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("the sign-in on the other device has failed: %w", err)
	}
	return f.take(ctx, p, tokens, "")
}

// take checks the token that names the person, so that a faulty one is refused here and not at the first request.
func (f *flow) take(ctx context.Context, p *wire.SignInProvider, tokens *oauth2.Token, nonce string) (*Tokens, error) {
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return nil, errors.New("the identity provider sent no token that names you; is the scope openid granted?")
	}
	verified, err := f.about.Verifier(&oidc.Config{ClientID: p.CLIClientID}).Verify(oidc.ClientContext(ctx, f.client), raw)
	if err != nil {
		return nil, fmt.Errorf("the token of the identity provider is not valid: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(verified.Nonce)) != 1 {
		return nil, errors.New("the token belongs to another sign-in; run tenet login again")
	}
	return &Tokens{Provider: *p, ID: raw, Refresh: tokens.RefreshToken, Expiry: verified.Expiry}, nil
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

// Fresh returns tokens that are good for a while: these, or new ones that the provider gives for the refresh token.
func (t *Tokens) Fresh(ctx context.Context, now time.Time) (*Tokens, error) {
	if now.Add(early).Before(t.Expiry) {
		return t, nil
	}
	if t.Refresh == "" {
		return nil, errors.New("your sign-in has expired; run tenet login again")
	}
	f, err := begin(ctx, &t.Provider)
	if err != nil {
		return nil, err
	}
	tokens, err := f.config.TokenSource(oidc.ClientContext(ctx, f.client), &oauth2.Token{RefreshToken: t.Refresh}).Token()
	if err != nil {
		return nil, fmt.Errorf("your sign-in has ended at the identity provider; run tenet login again: %w", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	verified, err := f.about.Verifier(&oidc.Config{ClientID: t.Provider.CLIClientID}).Verify(oidc.ClientContext(ctx, f.client), raw)
	if err != nil {
		return nil, fmt.Errorf("the token of the identity provider is not valid; run tenet login again: %w", err)
	}
	return &Tokens{Provider: t.Provider, ID: raw, Refresh: tokens.RefreshToken, Expiry: verified.Expiry}, nil
}
