package store

import (
	"context"
	"time"

	"tenet/internal/wire"
)

// Edge is an edge that has reported, with the end of its audit chain as it is stored here.
type Edge struct {
	ProjectID string
	Name      string
	Key       string // verifier key of its records
	CreatedAt time.Time
	SeenAt    time.Time
	Report    []byte // JSON, as package fleet stores it
	Orders    []byte // JSON
	Received  wire.AuditHead
	Unknown   int64 // records by rules that are not stored
	Forgotten bool  // its name and key are refused; its entries stay
}

// Spool is the part of an audit chain after an entry.
type Spool struct {
	Entries, Bytes int64
	Oldest         time.Time // zero without any
}

// EdgeReader reads edges and their audit chains.
type EdgeReader interface {
	// Projects returns the projects that have edges which are not forgotten, in order.
	Projects(ctx context.Context) ([]string, error)
	// List returns a page of the edges of a project that are not forgotten, by name, and their total.
	List(ctx context.Context, projectID string, offset, limit int) ([]Edge, int, error)
	// Names returns the names of all edges of a project, those that are forgotten included, in order.
	Names(ctx context.Context, projectID string) ([]string, error)
	// Get returns an edge, which may be forgotten, or not_found.
	Get(ctx context.Context, projectID, name string) (Edge, error)
	// Entries returns up to limit entries of an edge with Seq > after, in order of Seq.
	Entries(ctx context.Context, projectID, name string, after int64, limit int) ([]AuditEntry, error)
	// Entry returns the entry of any edge of a project with an id, or not_found.
	Entry(ctx context.Context, projectID, id string) (AuditEntry, error)
	// Spool sums up the entries of a project's own chain with Seq > after.
	Spool(ctx context.Context, projectID string, after int64) (Spool, error)
	// Oldest returns the lowest Seq <= through of a project's own chain at which the bodies up to it have at least so many bytes; through if
	// they have fewer.
	Oldest(ctx context.Context, projectID string, through, bytes int64) (int64, error)
}

// EdgeTx writes edges.
type EdgeTx interface {
	EdgeReader

	// Put stores an edge, in place of one with the same name, whose chain stays.
	Put(ctx context.Context, e Edge) error
	// Seen stores the reports of edges that are stored already, and when they were seen. Those that are forgotten stay as they are.
	Seen(ctx context.Context, list []Edge) error
	// Forget marks an edge as forgotten; not_found without it, or if it is already.
	Forget(ctx context.Context, projectID, name string, at time.Time) error
	// DropBodies is [AuditTx.DropBodies] for the entries of an edge.
	DropBodies(ctx context.Context, projectID, name, kind string, after, through int64, limit int, except []int64) (done int64, dropped int, err error)
	// Append stores entries of an edge, which follow the end of its chain, and moves that; conflict if it has moved, an id is taken or the edge
	// is forgotten, not_found without the edge. unknown is added to its count.
	Append(ctx context.Context, name string, entries []AuditEntry, unknown int64) error
}
