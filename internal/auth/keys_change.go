package auth

import (
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// KeyChange changes a key; nil fields stay as they are. A key gets no more than it has: its scopes become fewer, and it expires earlier.
type KeyChange struct {
	Name      *string
	Scopes    *[]string
	Networks  *[]string // empty means from everywhere
	Rate      *float64  // 0 means the server's limit
	Burst     *int
	ExpiresAt *time.Time
}

// Change changes a key and returns it. It is a conflict to change a key that is revoked.
func (k *Keys) Change(ctx context.Context, projectID, id string, c KeyChange) (store.Key, error) {
	defer k.forget()
	var key store.Key
	return key, k.store.Update(ctx, func(tx store.Tx) (err error) {
		if key, err = tx.Keys.Get(ctx, projectID, id); err != nil {
			return err
		}
		if key.RevokedAt != nil {
			return rule.Errorf(rule.CodeConflict, "the key %s is revoked", id)
		}
		if err := c.apply(&key); err != nil {
			return err
		}
		if err := tx.Keys.Change(ctx, key); err != nil {
			return err
		}
		return k.note(ctx, tx, key, "changed")
	})
}

// apply changes a key as it was read.
func (c *KeyChange) apply(key *store.Key) error {
	var p rule.Problems
	if c.Name != nil {
		if key.Name = strings.TrimSpace(*c.Name); key.Name == "" || len(key.Name) > rule.MaxLabel {
			p.Add("name", "must have 1 to %d bytes", rule.MaxLabel)
		}
	}
	if c.ExpiresAt != nil {
		expires := rule.Instant(*c.ExpiresAt)
		if key.ExpiresAt != nil && expires.After(*key.ExpiresAt) {
			p.Add("expires_at", "is later than %s, when the key expires; rotate the key, or make a new one", key.ExpiresAt.UTC().Format(time.RFC3339))
		}
		key.ExpiresAt = &expires
	}
	in := key.Limits
	if c.Scopes != nil {
		if in.Scopes = *c.Scopes; len(in.Scopes) == 0 && len(key.Limits.Scopes) > 0 {
			p.Add("scopes", "is empty, which would allow all that the role allows; make a new key")
		}
	}
	set(&in.Networks, c.Networks)
	set(&in.Rate, c.Rate)
	set(&in.Burst, c.Burst)
	if in.Rate == 0 && c.Burst == nil {
		in.Burst = 0
	}
	limits := LimitsOf(&p, in)
	key.Limits, in = limits.Wire(), key.Limits
	for _, s := range key.Limits.Scopes {
		if len(in.Scopes) > 0 && !slices.Contains(in.Scopes, s) {
			p.Add("scopes", "has %s, which the key does not have; make a new key", s)
		}
	}
	return p.Err("the key cannot be changed so")
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// ChangeOf returns the change that a body asks for.
func ChangeOf(body *wire.ChangeKey) KeyChange {
	c := KeyChange{Name: body.Name, ExpiresAt: body.ExpiresAt}
	if body.Scopes.Set {
		c.Scopes = &body.Scopes.Value
	}
	if body.Networks.Set {
		c.Networks = &body.Networks.Value
	}
	if body.Rate.Set {
		c.Rate = &body.Rate.Value
	}
	if body.Burst.Set {
		c.Burst = &body.Burst.Value
	}
	return c
}
