package store

import (
	"context"
	"time"

	"tenet/internal/wire"
)

// AuditEntry is one link of a project's audit chain. Package audit computes the hashes. Proofs hold it as JSON.
type AuditEntry struct {
	ProjectID string    `json:"project_id"`
	Seq       int64     `json:"seq"` // from 1, without gaps
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	At        time.Time `json:"at"`
	Actor     string    `json:"actor"`
	Verdict   string    `json:"verdict,omitempty"` // overall verdict of an evaluation, else empty
	Mode      string    `json:"mode,omitempty"`    // mode of an evaluation, else empty
	Body      []byte    `json:"body,omitempty"`    // compressed record
	BodyHash  string    `json:"body_hash"`         // SHA-256 of Body, hex
	PrevHash  string    `json:"prev_hash"`         // Hash of the previous entry, empty for the first
	Hash      string    `json:"hash"`              // SHA-256 over all of the above, hex
}

// AuditFilter selects entries. Empty fields select everything; ProjectID is required.
type AuditFilter struct {
	ProjectID    string
	Kind         string
	Verdict      string
	Mode         string
	Actor        string
	Since, Until *time.Time // Since <= At < Until
	Offset       int
	Limit        int
}

// AuditReader reads audit chains.
type AuditReader interface {
	// Head returns the head of a project's chain; the zero head if the chain is empty.
	Head(ctx context.Context, projectID string) (wire.AuditHead, error)
	// Entries returns up to limit entries with Seq > after, in order of Seq.
	Entries(ctx context.Context, projectID string, after int64, limit int) ([]AuditEntry, error)
	// Get returns the entry with an id, or not_found.
	Get(ctx context.Context, projectID, id string) (AuditEntry, error)
	// Find returns a page of entries that match f, newest first, and the total.
	Find(ctx context.Context, f AuditFilter) ([]AuditEntry, int, error)
}

// AuditTx appends to audit chains.
type AuditTx interface {
	AuditReader

	// Lock returns the head of a project's chain and keeps other transactions from appending to it until this one
	// ends; not_found without the project.
	Lock(ctx context.Context, projectID string) (wire.AuditHead, error)
	// LockMany is Lock for several projects and returns the ends of their chains by project.
	LockMany(ctx context.Context, projectIDs []string) (map[string]AuditEnd, error)
	// Append stores entries, those of each project together, and moves the heads. The Seq of a project's entries must follow
	// its head without gaps; conflict if a head has moved. trees holds the Tree of each new [AuditEnd], by project. The caller holds the
	// locks of [AuditTx.Lock].
	Append(ctx context.Context, entries []AuditEntry, trees map[string]string) error
	// DropBodies empties the bodies of entries of a kind with after < Seq <= through, lowest first, up to limit. It
	// returns the Seq that it has reached and the number of bodies that it has emptied. Hashes stay, so the chain stays whole. The bodies of the
	// entries in except stay, too; there are at most as many as the limit.
	DropBodies(ctx context.Context, projectID, kind string, after, through int64, limit int, except []int64) (done int64, dropped int, err error)
}
