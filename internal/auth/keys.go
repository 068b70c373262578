package auth

import (
	"context"
	"strings"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// cacheFor is how long a node uses a key without asking the database again. A revoked key works for at most this long on other
// nodes, and not at all on the node that revoked it.
const cacheFor = 2 * time.Second

// maxCached bounds the cache; a full cache is cleared.
const maxCached = 10_000

// Keys makes, lists, revokes and checks API keys.
type Keys struct {
	store store.Updater
	keys  store.KeyReader
	now   func() time.Time

	mu     sync.Mutex
	cached map[string]cachedKey // by hash; also of unknown secrets
	active cachedCount
	used   map[string]time.Time // when keys were used, by id, until Flush writes it
	// generation counts the calls of forget, so that no read from before a change enters the cache after it.
	generation int
}

type cachedKey struct {
	key   store.Key
	err   error
	until time.Time
}

type cachedCount struct {
	n     int
	until time.Time
}

// NewKeys returns a Keys that reads and writes API keys of a store.
func NewKeys(s store.Updater, keys store.KeyReader, now func() time.Time) *Keys {
	return &Keys{store: s, keys: keys, now: now, cached: map[string]cachedKey{}, used: map[string]time.Time{}}
}

// NewKey describes a key to create. A nil ExpiresAt means never.
type NewKey struct {
	ProjectID string
	Name      string
	Role      Role
	ExpiresAt *time.Time
}

// Create makes a key and returns it with its secret, which the database does not store.
func (k *Keys) Create(ctx context.Context, n NewKey) (store.Key, string, error) {
	var p rule.Problems
	n.Name = strings.TrimSpace(n.Name)
	if n.Name == "" || len(n.Name) > rule.MaxLabel {
		p.Add("name", "must have 1 to %d bytes", rule.MaxLabel)
	}
	if _, ok := rule.Parse(string(n.Role), Roles); !ok {
		p.Add("role", "is %q; use one of %s", n.Role, rule.Names(Roles))
	}
	now := rule.Instant(k.now())
	if n.ExpiresAt != nil {
		expires := rule.Instant(*n.ExpiresAt)
		if n.ExpiresAt = &expires; !expires.After(now) {
			p.Add("expires_at", "is in the past")
		}
	}
	if err := p.Err("the key is invalid"); err != nil {
		return store.Key{}, "", err
	}
	secret := NewSecret()
	key := store.Key{
		ID: audit.NewID(), ProjectID: n.ProjectID, Name: n.Name, Role: string(n.Role), Hash: HashSecret(secret),
		CreatedAt: now, CreatedBy: ActorFrom(ctx).Name, ExpiresAt: n.ExpiresAt,
	}
	err := k.store.Update(ctx, func(tx store.Tx) error {
		if key.ProjectID != store.AllProjects {
			if _, err := tx.Projects.Get(ctx, key.ProjectID); err != nil {
				return err
			}
		}
		if err := tx.Keys.Insert(ctx, key); err != nil {
			return err
		}
		return k.note(ctx, tx, key, "created")
	})
	k.forget()
	return key, secret, err
}

// Revoke ends a key at once.
func (k *Keys) Revoke(ctx context.Context, projectID, id string) error {
	defer k.forget()
	return k.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Keys.Revoke(ctx, projectID, id, rule.Instant(k.now())); err != nil {
			return err
		}
		return k.note(ctx, tx, store.Key{ID: id, ProjectID: projectID}, "revoked")
	})
}

// note records the change of a key. Keys for all projects are recorded in the default project.
func (k *Keys) note(ctx context.Context, tx store.Tx, key store.Key, action string) error {
	project := key.ProjectID
	if project == store.AllProjects {
		project = rule.DefaultProject
	}
	return audit.Append(ctx, tx, project, audit.Record{
		Kind: audit.KindKey, At: k.now(), Actor: ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{
			"action": action, "key_id": key.ID, "name": key.Name, "role": key.Role, "project_id": key.ProjectID,
		}),
	})
}

// List returns the keys of a project, newest first, revoked ones included.
func (k *Keys) List(ctx context.Context, projectID string) ([]store.Key, error) {
	return k.withUse(k.keys.List(ctx, projectID))
}

// ListAll returns the keys of all projects and those for all projects, newest first, revoked ones included.
func (k *Keys) ListAll(ctx context.Context) ([]store.Key, error) {
	return k.withUse(k.keys.ListAll(ctx))
}

// withUse adds to keys the uses that are not written yet.
func (k *Keys) withUse(list []store.Key, err error) ([]store.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range list {
		if at, ok := k.used[list[i].ID]; ok && (list[i].LastUsedAt == nil || at.After(*list[i].LastUsedAt)) {
			list[i].LastUsedAt = &at
		}
	}
	return list, err
}

// Flush writes when keys were last used. Call it from time to time: a request does not wait for that. If it fails, the next call writes it.
func (k *Keys) Flush(ctx context.Context) error {
	k.mu.Lock()
	used := k.used
	k.used = map[string]time.Time{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := k.store.Update(ctx, func(tx store.Tx) error { return tx.Keys.Use(ctx, used) })
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		for id, at := range used {
			if k.used[id].Before(at) {
				k.used[id] = at
			}
		}
	}
	return err
}

// Required reports whether callers must present a key: whether some key is not revoked. An expired key counts, so that the
// server does not open itself as time passes.
func (k *Keys) Required(ctx context.Context) (bool, error) {
	now := k.now()
	k.mu.Lock()
	active, generation := k.active, k.generation
	k.mu.Unlock()
	if now.Before(active.until) {
		return active.n > 0, nil
	}
	n, err := k.keys.Count(ctx)
	if err != nil {
		return false, err
	}
	k.mu.Lock()
	if k.generation == generation {
		k.active = cachedCount{n, now.Add(cacheFor)}
	}
	k.mu.Unlock()
	return n > 0, nil
}

// Authenticate returns the actor of a secret, or an unauthenticated error that does not reveal the reason.
func (k *Keys) Authenticate(ctx context.Context, secret string) (Actor, error) {
	if !IsSecret(secret) {
		return Actor{}, refused()
	}
	return k.actorOf(ctx, HashSecret(secret))
}

func refused() error {
	return rule.Errorf(rule.CodeUnauthenticated, "the API key is unknown, revoked or expired")
}

// actorOf returns the actor of a key by the hash of its secret.
func (k *Keys) actorOf(ctx context.Context, hash string) (Actor, error) {
	key, err := k.lookUp(ctx, hash)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return Actor{}, refused()
	}
	if err != nil {
		return Actor{}, err
	}
	if key.RevokedAt != nil || (key.ExpiresAt != nil && !k.now().Before(*key.ExpiresAt)) {
		return Actor{}, refused()
	}
	k.mu.Lock()
	k.used[key.ID] = rule.Instant(k.now())
	k.mu.Unlock()
	return Actor{Name: "key:" + key.Name, Role: Role(key.Role), ProjectID: key.ProjectID, KeyID: key.ID}, nil
}

// Resume returns the actor of a key by the hash of its secret (see [HashSecret]), which a session holds in place of the secret. The
// error is that of [Keys.Authenticate].
func (k *Keys) Resume(ctx context.Context, hash string) (Actor, error) { return k.actorOf(ctx, hash) }

func (k *Keys) lookUp(ctx context.Context, hash string) (store.Key, error) {
	now := k.now()
	k.mu.Lock()
	c, ok := k.cached[hash]
	generation := k.generation
	k.mu.Unlock()
	if ok && now.Before(c.until) {
		return c.key, c.err
	}
	key, err := k.keys.GetByHash(ctx, hash)
	if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
		return key, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.generation != generation {
		return key, err
	}
	if len(k.cached) >= maxCached {
		clear(k.cached)
	}
	k.cached[hash] = cachedKey{key, err, now.Add(cacheFor)}
	return key, err
}

func (k *Keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.cached)
	k.active = cachedCount{}
	k.generation++
}
