package store

import (
	"context"
	"time"

	"tenet/internal/wire"
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
	Prefix     string // beginning of the secret; empty for keys made before it was stored
	Owner      string // person to whom it belongs; may be empty
	Agent      string // agent that uses it; may be empty
	Limits     wire.KeyLimits
	// RotatedFrom and RotatedTo are the ids of the keys before and after it; empty without one.
	RotatedFrom, RotatedTo string
	// Refused counts the refused uses; it is written from time to time.
	Refused       int64
	LastRefusedAt *time.Time
	LastRefusal   string
}

// KeyUse holds the uses of a key since they were written last.
type KeyUse struct {
	UsedAt      time.Time // the last use; zero for none
	Refused     int64     // refused uses
	RefusedAt   time.Time // the last of them; zero for none
	LastRefusal string    // its reason
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
	// Get returns a key of a project, or not_found.
	Get(ctx context.Context, projectID, id string) (Key, error)
	// Use notes what happened with keys, by their ids. An earlier time than the noted one does not replace it. An unknown id changes nothing.
	Use(ctx context.Context, uses map[string]KeyUse) error
	// Change stores the name, the limits and the expiry of a key; not_found without it.
	Change(ctx context.Context, k Key) error
	// Replace notes that another key takes the place of one, which expires at a time; conflict if the key was replaced already, and not_found
	// without it.
	Replace(ctx context.Context, projectID, id, by string, expires time.Time) error
	// Revoke marks a key as revoked at a time; not_found without it. Revoking again changes nothing.
	Revoke(ctx context.Context, projectID, id string, at time.Time) error
}
