package auth

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// EnsureFirst makes a key with a given secret, an administrator's for all projects, if no key was ever made. Where keys are, or were, it does
// nothing: a revoked first key stays revoked. Nodes that start at once make one key. A secret without the form of one is invalid.
func EnsureFirst(ctx context.Context, k *Keys, secret string) error {
	if !IsSecret(secret) {
		return rule.Errorf(rule.CodeInvalid, "first_key: must be tnt_ and 43 characters of base64url, such as the output of: echo tnt_$(openssl rand -base64 32 | tr '+/' '-_' | tr -d =)")
	}
	made := false
	err := k.store.Update(ctx, func(tx store.Tx) error {
		made = false
		keys, err := tx.Keys.ListAll(ctx)
		if err != nil || len(keys) > 0 {
			return err
		}
		key := store.Key{
			ID: audit.NewID(), ProjectID: store.AllProjects, Name: "first", Role: string(Admin), Hash: HashSecret(secret),
			CreatedAt: rule.Instant(k.now()), CreatedBy: ActorFrom(ctx).Name, Prefix: secret[:prefixLength],
		}
		if err := tx.Keys.Insert(ctx, key); err != nil {
			return err
		}
		made = true
		return k.note(ctx, tx, key, "created")
	})
	if rule.CodeOf(err) == rule.CodeConflict {
		return nil // another node was faster
	}
	if made {
		k.forget()
	}
	return err
}
