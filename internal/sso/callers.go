package sso

import (
	"context"

	"tenet/internal/auth"
)

// Callers authenticates callers by API keys and, where identity providers are declared, by their tokens.
type Callers struct {
	*auth.Keys

	People *People // nil without identity providers
}

// Authenticate returns the actor of a key or of a token, or an unauthenticated error.
func (c Callers) Authenticate(ctx context.Context, secret string) (auth.Actor, error) {
	if c.People != nil && IsToken(secret) {
		return c.People.Authenticate(ctx, secret)
	}
	return c.Keys.Authenticate(ctx, secret)
}

// Required reports whether callers must say who they are. Where people can sign in, they must.
func (c Callers) Required(ctx context.Context) (bool, error) {
	if c.People != nil {
		return true, nil
	}
	return c.Keys.Required(ctx)
}
