package store

import (
	"context"
	"time"
)

// PersonalKey is the key under which the personal data of a person are encrypted, itself encrypted.
type PersonalKey struct {
	ProjectID   string
	ID          string // a hash of the key
	Name        string // a keyed hash of the name of the person; the id once it is forgotten
	WrappedBy   string // name of the key that has encrypted it
	Wrapped     []byte // zeros once it is forgotten
	CreatedAt   time.Time
	ForgottenAt *time.Time // nil until then
}

// PersonalKeyReader reads the keys of people.
type PersonalKeyReader interface {
	// Named returns the key of a name, or not_found.
	Named(ctx context.Context, projectID, name string) (PersonalKey, error)
	// List returns those of some keys that are stored, forgotten ones included.
	List(ctx context.Context, projectID string, ids []string) ([]PersonalKey, error)
	// Count returns how many keys of a project are in use, and how many are forgotten.
	Count(ctx context.Context, projectID string) (used, forgotten int, err error)
	// WrappedByOthers returns how many keys in use, of all projects, other keys than the named ones have encrypted.
	WrappedByOthers(ctx context.Context, names []string) (int, error)
	// NotWrappedBy returns the keys in use that another key than the named one has encrypted, by project and id, from after those given.
	NotWrappedBy(ctx context.Context, name, afterProject, afterID string, limit int) ([]PersonalKey, error)
}

// PersonalKeyTx writes the keys of people.
type PersonalKeyTx interface {
	PersonalKeyReader

	// Insert stores a new key; conflict if its name or its id is taken, not_found without the project, unavailable if what has encrypted it is
	// retired.
	Insert(ctx context.Context, k PersonalKey) error
	// Forget overwrites a key with zeros, and frees its name; not_found if it is not there or forgotten already.
	Forget(ctx context.Context, projectID, id string, at time.Time) error
	// Rewrap stores how keys are encrypted now. It ignores those that are forgotten.
	Rewrap(ctx context.Context, keys []PersonalKey) error
	// RetireWrapping has Insert refuse the keys that some others have encrypted.
	RetireWrapping(ctx context.Context, names []string, at time.Time) error
}
