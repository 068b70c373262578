package store

import (
	"context"
	"time"
)

// KindApart is the kind of the entries of audit chains whose bodies may lie apart from them, in parts by time. All else that bodies are read and removed by is as
// for others: where a body lies shows to nobody who reads it.
const KindApart = "evaluation"

// BodiesApart names, among what a server says that it can read, bodies that lie apart from their entries. An older server would take them for removed.
const BodiesApart = "bodies apart"

// Part is a stretch of time, whose bodies lie together: those of entries of [KindApart] with From <= At < Until, of all projects. What is written at a time
// without a part lies with its entry.
type Part struct{ From, Until time.Time }

// PartReader reads which parts there are.
type PartReader interface {
	// List lists the parts, oldest first; none where the database keeps all bodies with their entries.
	List(ctx context.Context) ([]Part, error)
	// Last returns the Seq of the last entry of each project whose body lies in a part. In a transaction it keeps others from writing to the part, and from
	// changing how long projects keep their records, until the transaction ends; unavailable if they are at it for long.
	Last(ctx context.Context, p Part) (map[string]int64, error)
}

// PartTx makes and removes parts.
type PartTx interface {
	PartReader

	// Make makes a part; conflict if it shares time with another one. It does nothing where the database keeps all bodies with their entries.
	Make(ctx context.Context, p Part) error
	// Drop removes a part with all bodies in it, however many, at once. Its entries stay. Unavailable if somebody reads from the parts for long; not_found
	// without the part. The caller has called Last in this transaction.
	Drop(ctx context.Context, p Part) error
}
