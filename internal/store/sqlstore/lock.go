package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"tenet/internal/rule"
)

// On PostgreSQL, transactions are made serialisable by locks on a few big lumps of data: before a transaction first reads
// or writes anything of a lump, it locks the lump until its end. Statements run at READ COMMITTED, so each sees what the
// lump's last holder has committed.
//
// PostgreSQL's own SERIALIZABLE level would fail a transaction whenever the end of the audit chain has moved since its
// first statement. Under a steady load of evaluations, that is always: a change of rules, which writes its audit record
// last, would never get through. Here it waits its turn.
//
// Locks of two lumps may be taken in any order: the database ends a deadlock, and Update runs the loser again.
//
// SQLite has one writer at a time and needs none of this.
type lump struct {
	kind      lumpKind
	projectID string // of a corpus or chain
}

type lumpKind int

const (
	projectList    lumpKind = iota // which projects there are
	keyring                        // all API keys
	corpusLump                     // a project's row, rules and relationships
	chainLump                      // a project's audit entries and their head
	documentLump                   // a project's documents
	submissionLump                 // a project's submissions and feedback
	discoveryLump                  // a project's scans and candidates
	alertLump                      // a project's alerts
	countLump                      // what is counted of a project's evaluations, and the health of its rules
)

func corpusOf(projectID string) lump { return lump{corpusLump, projectID} }

func documentsOf(projectID string) lump { return lump{documentLump, projectID} }

func chainOf(projectID string) lump { return lump{chainLump, projectID} }

func submissionsOf(projectID string) lump { return lump{submissionLump, projectID} }

func discoveryOf(projectID string) lump { return lump{discoveryLump, projectID} }
func alertsOf(projectID string) lump    { return lump{alertLump, projectID} }

func countsOf(projectID string) lump { return lump{countLump, projectID} }

// hold locks a lump until the transaction ends. Outside of transactions it does nothing.
func (r *reader) hold(ctx context.Context, l lump) error {
	if !r.mustHold(l) {
		return nil
	}
	var err error
	switch l.kind {
	case projectList, keyring:
		_, err = r.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?)", int64(advisory+l.kind))
	case corpusLump:
		// NO KEY lets others refer to the project in the meantime.
		err = r.holdRow(ctx, "SELECT 1 FROM projects WHERE project_id = ? FOR NO KEY UPDATE", l.projectID)
	case documentLump:
		// Two projects whose names have one hash wait for each other, which does no harm.
		_, err = r.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?, hashtext(?))", int32(documentLocks), l.projectID)
	case chainLump:
		err = r.holdRow(ctx, "SELECT 1 FROM audit_heads WHERE project_id = ? FOR UPDATE", l.projectID)
	case submissionLump, discoveryLump, alertLump, countLump:
		// No row stands for it, and the project's own would hold up changes of its rules.
		_, err = r.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(hashtextextended(?, ?))", l.projectID, int64(advisory+l.kind))
	}
	if err == nil {
		r.inside.held[l] = true
	}
	return err
}

// mustHold reports whether a lump has yet to be locked.
func (r *reader) mustHold(l lump) bool { return r.inside != nil && r.d.rowLocks && !r.inside.held[l] }

// advisory begins the numbers of Tenet's advisory locks: "tenet" in ASCII, then one byte.
const advisory = 0x74656e657400

// documentLocks begins the pairs of numbers of the locks on a project's documents.
const documentLocks = 0x74656e64

// migrating is the advisory lock of the node that brings up the schema.
const migrating = advisory + 0xff

// holdRow locks the row that stands for a lump. If there is no such project, it keeps others from making it.
func (r *reader) holdRow(ctx context.Context, query, projectID string) error {
	var one int
	err := r.row(ctx, "lock", query, []any{projectID}, &one)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := r.hold(ctx, lump{kind: projectList}); err != nil {
		return err
	}
	err = r.row(ctx, "lock", query, []any{projectID}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// holdAll locks the list of projects and every project's row.
func (r *reader) holdAll(ctx context.Context) error {
	if r.inside == nil || !r.d.rowLocks {
		return nil
	}
	if err := r.hold(ctx, lump{kind: projectList}); err != nil {
		return err
	}
	return r.each(ctx, "lock", "SELECT project_id FROM projects ORDER BY project_id FOR NO KEY UPDATE", nil, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		r.inside.held[corpusOf(id)] = true
		return err
	})
}

// holding locks a lump and then runs fn, in one state of the database.
func (r *reader) holding(ctx context.Context, l lump, fn func(*reader) error) error {
	if err := r.hold(ctx, l); err != nil {
		return err
	}
	return r.snapshot(ctx, fn)
}

// missing turns an absent row into not_found.
func missing(err error, noun, ref string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return rule.NotFound(noun, ref)
	}
	return err
}
