package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// Attempt is a sign-in that has begun. Its secrets stay with the browser that began it, and count once.
type Attempt struct {
	Provider string
	State    string // comes back with the answer of the provider
	Nonce    string // comes back in the token
	Verifier string // of PKCE (RFC 7636)
	Redirect string // where the provider sends the browser
	Next     string // where the person wanted to go
	Silent   bool   // nobody is to be asked anything
}

// Begin starts a sign-in: it returns the address at the provider to which the browser is to go. A silent attempt succeeds only if the
// person is signed in there.
func (p *People) Begin(ctx context.Context, name, redirect, next string, silent bool) (Attempt, string, error) {
	from, err := p.byName(name)
	if err != nil {
		return Attempt{}, "", err
	}
	d, err := from.discover(ctx)
	if err != nil {
		return Attempt{}, "", err
	}
	a := Attempt{Provider: name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Next: next, Silent: silent}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if silent {
		options = append(options, oauth2.SetAuthURLParam("prompt", "none"))
	}
	return a, from.oauth(d, redirect).AuthCodeURL(a.State, options...), nil
}

// Finish ends a sign-in with the parameters with which the provider has sent the browser back. Its errors are unauthenticated, forbidden for
// a person without a role, or unavailable.
func (p *People) Finish(ctx context.Context, a Attempt, answer url.Values) (Person, error) {
	from, err := p.byName(a.Provider)
	if err != nil {
		return Person{}, err
	}
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(answer.Get("state"))) != 1 {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "this answer belongs to another sign-in, or to one that has ended; sign in again")
	}
	d, err := from.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	// RFC 9207: an answer of one provider must not be taken for that of another.
	if issuer := answer.Get("iss"); (issuer != "" || d.extra.NamesItself) && issuer != from.Issuer {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "this answer comes from another identity provider; sign in again")
	}
	if code := answer.Get("error"); code != "" {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the identity provider refused: %s", text.Clip(strings.ToValidUTF8(code+": "+answer.Get("error_description"), "?"), maxRefusal, "..."))
	}
	ctx = oidc.ClientContext(ctx, from.client)
	tokens, err := from.oauth(d, a.Redirect).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the identity provider did not accept the answer; sign in again")
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" || len(raw) > maxToken {
		return Person{}, rule.Errorf(rule.CodeUnavailable, "the identity provider sent no token that names the person; is the scope openid granted?")
	}
	verified, err := from.signed(ctx, d, raw)
	if err != nil {
		return Person{}, err
	}
	switch {
	case len(verified.Audience) != 1 || verified.Audience[0] != from.ClientID:
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token is for another audience")
	case subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(a.Nonce)) != 1:
		return Person{}, rule.Errorf(rule.CodeUnauthenticated, "the token belongs to another sign-in; sign in again")
	}
	person, err := from.person(verified.Claims)
	if err != nil || len(person.Groups) > 0 || d.extra.UserInfo == "" {
		return person, err
	}
	person.Groups, err = from.askGroups(ctx, d, tokens, person.Subject)
	return person, err
}

// askGroups asks the provider for the groups of a person whose token has none.
func (p *provider) askGroups(ctx context.Context, d *discovered, tokens *oauth2.Token, subject string) ([]string, error) {
	info, err := d.Provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, nil //nolint:nilerr // it is not obliged to answer; without groups the person has no role
	}
	if info.Subject != subject {
		return nil, rule.Errorf(rule.CodeUnauthenticated, "the identity provider has answered about somebody else")
	}
	var all map[string]any
	if err := info.Claims(&all); err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the identity provider describes the person in a way that cannot be read: %w", err)
	}
	return groupsOf(all[p.GroupsClaim])
}

// maxRefusal bounds the words of a provider in an error, in bytes.
const maxRefusal = 300
