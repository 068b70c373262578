package store

import (
	"context"
	"time"
)

// Bundle is a deployment to an environment as one file, as package bundle makes it. It never changes.
type Bundle struct {
	ProjectID   string
	Environment string
	Seq         int64 // from 1, growing
	Action      string
	SnapshotID  string
	Root        string // Merkle root of the snapshot
	Rules       int
	At          time.Time
	RawHash     string // SHA-256 of its text, hex
	RawSize     int64
	Hash        string // SHA-256 of the body, hex
	Body        []byte // compressed text
}

// BundleReader reads bundles.
type BundleReader interface {
	// Latest returns the bundle of an environment with the highest number, or not_found.
	Latest(ctx context.Context, projectID, environment string) (Bundle, error)
	// WithHash returns the newest stored bundle of an environment whose text has a hash, or not_found.
	WithHash(ctx context.Context, projectID, environment, rawHash string) (Bundle, error)
}

// BundleTx writes bundles.
type BundleTx interface {
	BundleReader

	// Insert stores the next bundle of an environment, and removes all but the newest keep; conflict if the number is taken, not_found
	// without the project.
	Insert(ctx context.Context, b Bundle, keep int) error
}
