package store

import (
	"context"
	"time"

	"tenet/internal/wire"
)

// AuditEnd is the head of a chain with the right edge of the Merkle tree over its entries, as package audit/tree encodes it. Tree is
// empty for the chain of an older version until its tree has been made, and for an empty chain.
type AuditEnd struct {
	wire.AuditHead

	Tree string
}

// Tile is a part of the Merkle tree over a chain: up to 256 hashes of 32 bytes at every eighth level, as in C2SP tlog-tiles.
type Tile struct {
	Level  int
	N      int64
	Hashes []byte
}

// Checkpoint is a signed size and root hash of a project's Merkle tree.
type Checkpoint struct {
	ProjectID string
	Origin    string // name of the log, which its first line holds too
	Size      int64
	At        time.Time
	Note      string // the signed note with its cosignatures
	// Witnessed reports that the quorum of witnesses has cosigned it.
	Witnessed bool
}

// LogReader reads the Merkle trees over audit chains, and their checkpoints.
type LogReader interface {
	// End returns the end of a project's chain; not_found without the project.
	End(ctx context.Context, projectID string) (AuditEnd, error)
	// Leaves returns the numbers and hashes of up to limit entries with Seq > after, in order of Seq.
	Leaves(ctx context.Context, projectID string, after int64, limit int) ([]wire.AuditHead, error)
	// FirstLeaves is Leaves of the entries up to a number in the chains of several projects. Those without entries are not in the result.
	FirstLeaves(ctx context.Context, projectIDs []string, upTo int64) (map[string][]wire.AuditHead, error)
	// Tile returns a stored tile; not_found without it. Tiles of level 0 are full, those above may have fewer hashes.
	Tile(ctx context.Context, projectID string, level int, n int64) (Tile, error)
	// Tiled returns how many tiles of level 0 are stored for each project that has any.
	Tiled(ctx context.Context) (map[string]int64, error)
	// Ends returns the ends of all chains that have entries, by project.
	Ends(ctx context.Context) (map[string]AuditEnd, error)
	// Checkpoint returns the newest checkpoint of a project with at least size entries, of those that are witnessed if witnessed is true;
	// not_found without one.
	Checkpoint(ctx context.Context, projectID string, size int64, witnessed bool) (Checkpoint, error)
	// CheckpointOf returns the newest checkpoint of a project with exactly size entries; not_found without one.
	CheckpointOf(ctx context.Context, projectID string, size int64) (Checkpoint, error)
}

// LogTx writes Merkle trees and checkpoints.
type LogTx interface {
	LogReader

	// PutTiles stores tiles of a project. A tile replaces one with fewer hashes, and is ignored beside one with as many or more.
	PutTiles(ctx context.Context, projectID string, tiles []Tile) error
	// SetTree gives a chain its tree; conflict if its head is not that of end. The caller holds the lock of [AuditTx.Lock].
	SetTree(ctx context.Context, projectID string, end AuditEnd) error
	// PutCheckpoint stores a checkpoint, in place of one of the same origin and size.
	PutCheckpoint(ctx context.Context, c Checkpoint) error
}
