package store

import (
	"context"
	"time"
)

// AllProjects means every project in [Key.ProjectID].
const AllProjects = "*"

// Key is a stored API key. Its secret is never stored.
type Key struct {
	ID        string
	ProjectID string // or AllProjects
	Name      string
	Role      string
	Hash      string // SHA-256 of the secret, hex
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt *time.Time
	RevokedAt *time.Time
	// LastUsedAt is written from time to time, not with each use.
	LastUsedAt *time.Time
}

// KeyReader reads API keys.
type KeyReader interface {
	// List lists the API keys of a project ([AllProjects] for the keys of all), newest first, including revoked ones.
	List(ctx context.Context, projectID string) ([]Key, error)
	// ListAll lists the API keys of all projects and for all projects, newest first, including revoked ones.
	ListAll(ctx context.Context) ([]Key, error)
	// GetByHash returns the key with the given hash, or not_found. It returns revoked and expired keys too.
	GetByHash(ctx context.Context, hash string) (Key, error)
	// Count returns the number of keys that are not revoked. Expired ones count: a server that wants keys must not become
	// open because time passes.
	Count(ctx context.Context) (int, error)
}

// KeyTx writes API keys.
type KeyTx interface {
	KeyReader

	// Insert stores a key; conflict if the id or the hash is taken.
	Insert(ctx context.Context, k Key) error
	// Use notes when keys were last used, by their ids. An earlier time than the noted one changes nothing, and neither does an unknown id.
	Use(ctx context.Context, used map[string]time.Time) error
	// Revoke marks a key as revoked at a time; not_found without it. Revoking again changes nothing.
	Revoke(ctx context.Context, projectID, id string, at time.Time) error
}
