package auth

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// cacheFor is how long a node uses a key without asking the database again. A revoked key works for at most this long on other
// nodes, and not at all on the node that revoked it.
const cacheFor = 2 * time.Second

// countTime bounds how long the keys are counted.
const countTime = 10 * time.Second

// maxCached bounds the cache; a full cache is cleared.
const maxCached = 10_000

// Keys makes, lists, revokes and checks API keys.
type Keys struct {
	store store.Updater
	keys  store.KeyReader
	now   func() time.Time
	// Observe, if not nil, is called with the reason of each refused use. Set it before the first use.
	Observe func(reason string)
	// Explained, if not nil, returns an error with [store.ErrDamaged] unless the audit log explains a key, or, without an id, the keys of all projects. Set it
	// before the first use.
	Explained func(ctx context.Context, projectID, id string) error

	mu     sync.Mutex
	cached map[string]cachedKey // by hash; also of unknown secrets
	active cachedCount
	ahead  bool // the keys are being counted again before active ends
	// counting joins the calls that count the keys.
	counting singleflight.Group
	used     map[string]store.KeyUse // what happened with keys, by id, until Flush writes it
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
	return &Keys{store: s, keys: keys, now: now, cached: map[string]cachedKey{}, used: map[string]store.KeyUse{}}
}

// NewKey describes a key to create. A nil ExpiresAt means never.
type NewKey struct {
	ProjectID string
	Name      string
	Role      Role
	ExpiresAt *time.Time
	Owner     string // person to whom it belongs; empty means the person who makes it, if it is one
	Agent     string // agent that uses it; may be empty
	Limits    wire.KeyLimits
}

// prefixLength is how much of a secret is stored: enough to recognize a key, and too little to guess the rest.
const prefixLength = len(keyPrefix) + 6

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
	n.Owner, n.Agent = strings.TrimSpace(n.Owner), strings.TrimSpace(n.Agent)
	CheckActing(&p, "owner", n.Owner)
	CheckActing(&p, "agent", n.Agent)
	limits := LimitsOf(&p, n.Limits)
	if err := p.Err("the key is invalid"); err != nil {
		return store.Key{}, "", err
	}
	if n.Owner == "" {
		n.Owner = ActorFrom(ctx).Person()
	}
	secret := NewSecret()
	key := store.Key{
		ID: audit.NewID(), ProjectID: n.ProjectID, Name: n.Name, Role: string(n.Role), Hash: HashSecret(secret),
		CreatedAt: now, CreatedBy: ActorFrom(ctx).Name, ExpiresAt: n.ExpiresAt,
		Prefix: secret[:prefixLength], Owner: n.Owner, Agent: n.Agent, Limits: limits.Wire(),
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

// Rotation says how a key is rotated. A nil ExpiresAt gives the new key as long as the old one was made for.
type Rotation struct {
	Overlap   time.Duration // for which the old key still works
	ExpiresAt *time.Time
}

// MaxOverlap bounds the time for which a rotated key still works.
const MaxOverlap = 90 * 24 * time.Hour

// Rotate makes a key like another and returns it with its secret. The old one works until the overlap has passed, or it expires anyway.
// It is a conflict to rotate a key that is revoked, expired or rotated already.
func (k *Keys) Rotate(ctx context.Context, projectID, id string, r Rotation) (store.Key, string, error) {
	now := rule.Instant(k.now())
	var p rule.Problems
	if r.Overlap < 0 || r.Overlap > MaxOverlap {
		p.Add("overlap_hours", "is %g; give 0 to %g", r.Overlap.Hours(), MaxOverlap.Hours())
	}
	if r.ExpiresAt != nil {
		expires := rule.Instant(*r.ExpiresAt)
		if r.ExpiresAt = &expires; !expires.After(now) {
			p.Add("expires_at", "is in the past")
		}
	}
	if err := p.Err("the rotation is invalid"); err != nil {
		return store.Key{}, "", err
	}
	secret := NewSecret()
	var made store.Key
	err := k.store.Update(ctx, func(tx store.Tx) error {
		old, err := tx.Keys.Get(ctx, projectID, id)
		switch {
		case err != nil:
			return err
		case old.RevokedAt != nil:
			return rule.Errorf(rule.CodeConflict, "the key %s is revoked; make a new one", id)
		case old.ExpiresAt != nil && !now.Before(*old.ExpiresAt):
			return rule.Errorf(rule.CodeConflict, "the key %s has expired; make a new one", id)
		}
		made = store.Key{
			ID: audit.NewID(), ProjectID: old.ProjectID, Name: old.Name, Role: old.Role, Hash: HashSecret(secret), CreatedAt: now, CreatedBy: ActorFrom(ctx).Name,
			ExpiresAt: r.ExpiresAt, Prefix: secret[:prefixLength], Owner: old.Owner, Agent: old.Agent, Limits: old.Limits, RotatedFrom: old.ID,
		}
		if made.ExpiresAt == nil && old.ExpiresAt != nil {
			expires := now.Add(old.ExpiresAt.Sub(old.CreatedAt))
			made.ExpiresAt = &expires
		}
		ends := now.Add(r.Overlap)
		if old.ExpiresAt != nil && old.ExpiresAt.Before(ends) {
			ends = *old.ExpiresAt
		}
		if err := tx.Keys.Replace(ctx, projectID, id, made.ID, ends); err != nil {
			return err
		}
		if err := tx.Keys.Insert(ctx, made); err != nil {
			return err
		}
		old.RotatedTo, old.ExpiresAt = made.ID, &ends
		if err := k.note(ctx, tx, old, "rotated"); err != nil {
			return err
		}
		return k.note(ctx, tx, made, "created")
	})
	k.forget()
	return made, secret, err
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

// chainOf returns the project whose chain records the keys of a project.
func chainOf(projectID string) string {
	if projectID == store.AllProjects {
		return rule.DefaultProject
	}
	return projectID
}

// note records the change of a key. Keys for all projects are recorded in the default project.
func (k *Keys) note(ctx context.Context, tx store.Tx, key store.Key, action string) error {
	project := chainOf(key.ProjectID)
	body := map[string]any{"action": action, "key_id": key.ID, "name": key.Name, "role": key.Role, "project_id": key.ProjectID}
	if action != "revoked" {
		body["settings"] = keySettings{key.Owner, key.Agent, key.Limits, key.ExpiresAt, key.RotatedFrom, key.RotatedTo}
	}
	return audit.Append(ctx, tx, project, audit.Record{Kind: audit.KindKey, At: k.now(), Actor: ActorFrom(ctx).Name, Body: audit.JSON(body)})
}

// keySettings is the part of a key that the audit chain holds beside its name and role.
type keySettings struct {
	Owner string `json:"owner,omitempty"`
	Agent string `json:"agent,omitempty"`
	wire.KeyLimits
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	RotatedFrom string     `json:"rotated_from,omitempty"`
	RotatedTo   string     `json:"rotated_to,omitempty"`
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
		u, key := k.used[list[i].ID], &list[i]
		if !u.UsedAt.IsZero() && (key.LastUsedAt == nil || u.UsedAt.After(*key.LastUsedAt)) {
			key.LastUsedAt = &u.UsedAt
		}
		if u.Refused > 0 {
			key.Refused, key.LastRefusedAt, key.LastRefusal = key.Refused+u.Refused, &u.RefusedAt, u.LastRefusal
		}
	}
	return list, err
}

// Flush writes when keys were last used. Call it from time to time: a request does not wait for that. If it fails, the next call writes it.
func (k *Keys) Flush(ctx context.Context) error {
	k.mu.Lock()
	used := k.used
	k.used = map[string]store.KeyUse{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := k.store.Update(ctx, func(tx store.Tx) error { return tx.Keys.Use(ctx, used) })
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		for id, before := range used {
			u := k.used[id]
			if u.UsedAt.Before(before.UsedAt) {
				u.UsedAt = before.UsedAt
			}
			if u.Refused += before.Refused; u.RefusedAt.Before(before.RefusedAt) {
				u.RefusedAt, u.LastRefusal = before.RefusedAt, before.LastRefusal
			}
			k.used[id] = u
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
	ahead := now.Before(active.until) && active.until.Sub(now) < cacheFor/2 && !k.ahead
	if ahead {
		k.ahead = true
	}
	k.mu.Unlock()
	if ahead { // so that nobody waits for the next answer
		go func() {
			_, _ = k.count(ctx, now, generation) // who asks after an error counts again
			k.mu.Lock()
			defer k.mu.Unlock()
			k.ahead = false
		}()
	}
	if now.Before(active.until) {
		return active.n > 0, nil
	}
	n, err := k.count(ctx, now, generation)
	return n > 0, err
}

// count counts the keys that are not revoked, as [Keys.Required] needs it. Callers at the same time share an answer, and each waits for it until its own
// context ends.
func (k *Keys) count(ctx context.Context, now time.Time, generation int) (int, error) {
	answer := k.counting.DoChan(strconv.Itoa(generation), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTime) // others wait for it too
		defer cancel()
		return k.countNow(ctx, now, generation)
	})
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case r := <-answer:
		n, _ := r.Val.(int)
		return n, r.Err
	}
}

func (k *Keys) countNow(ctx context.Context, now time.Time, generation int) (int, error) {
	n, err := k.keys.Count(ctx)
	if err == nil && n == 0 && k.Explained != nil {
		if err = k.Explained(ctx, "", ""); errors.Is(err, store.ErrDamaged) {
			n, err = 1, nil // keys were removed from the database, which does not open the server
		}
	}
	if err != nil {
		return 0, err
	}
	k.mu.Lock()
	if k.generation == generation {
		k.active = cachedCount{n, now.Add(cacheFor)}
	}
	k.mu.Unlock()
	return n, nil
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
	switch {
	case key.RevokedAt != nil:
		k.Refused(key.ID, RefusedRevoked)
		return Actor{}, refused()
	case key.ExpiresAt != nil && !k.now().Before(*key.ExpiresAt):
		k.Refused(key.ID, RefusedExpired)
		return Actor{}, refused()
	}
	var p rule.Problems
	limits := LimitsOf(&p, key.Limits)
	if err := p.Err("the limits of the key cannot be read"); err != nil {
		return Actor{}, rule.Errorf(rule.CodeInternal, "the limits of the key %s cannot be read: %w", key.ID, err)
	}
	k.mu.Lock()
	u := k.used[key.ID]
	u.UsedAt = rule.Instant(k.now())
	k.used[key.ID] = u
	k.mu.Unlock()
	return Actor{
		Name: "key:" + key.Name, Role: Role(key.Role), ProjectID: key.ProjectID, KeyID: key.ID, Owner: key.Owner, Agent: key.Agent, Limits: limits,
	}, nil
}

// Refused counts a use of a key that is refused, for one of the reasons such as [RefusedNetwork].
func (k *Keys) Refused(keyID, reason string) {
	if k.Observe != nil {
		k.Observe(reason)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.used[keyID]
	u.Refused, u.RefusedAt, u.LastRefusal = u.Refused+1, rule.Instant(k.now()), reason
	k.used[keyID] = u
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
	if err == nil && k.Explained != nil {
		if err = k.Explained(ctx, chainOf(key.ProjectID), key.ID); errors.Is(err, store.ErrDamaged) {
			key, err = store.Key{}, rule.Errorf(rule.CodeNotFound, "the audit log does not explain the key")
		}
	}
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
