package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"tenet/internal/rule"
)

// On PostgreSQL, transactions are made serialisable by locks on a few big domains of data: before a transaction first reads
// or writes anything of a domain, it locks the domain until its end. Statements run at READ COMMITTED, so each sees what the
// domain's last holder has committed.
//
// PostgreSQL's own SERIALIZABLE level would fail a transaction whenever the end of the audit chain has moved since its
// first statement. Under a steady load of evaluations, that is always: a change of rules, which writes its audit record
// last, would never succeed. Here it waits its turn.
//
// A transaction may lock two domains in any order: the database ends a deadlock, and Update runs the loser again.
//
// SQLite has one writer at a time and needs none of this.
type lockDomain struct {
	kind      domainKind
	projectID string // empty for the list of projects and the keys
}

type domainKind int

const (
	noDomain       domainKind = iota - 1 // rows that transactions lock one by one, or not at all
	listOfProjects                       // which projects exist
	allKeys                              // all API keys
	corpusKind                           // a project's row, rules and relationships
	chainKind                            // a project's audit entries and their head
	documentKind                         // a project's documents
	submissionKind                       // a project's submissions and feedback
	discoveryKind                        // a project's scans and candidates
	alertKind                            // a project's alerts
	countKind                            // the counts of a project's evaluations, and the health of its rules
	queueKind                            // the marks of what waits in a project
	termKind                             // the index of a project's evaluations
	approvalKind                         // a project's approvals
	verdictKind                          // the epoch of a project's stored verdicts
)

var (
	unlocked          = lockDomain{kind: noDomain}
	projectListDomain = lockDomain{kind: listOfProjects}
	keyDomain         = lockDomain{kind: allKeys}
)

func corpusOf(projectID string) lockDomain      { return lockDomain{corpusKind, projectID} }
func chainOf(projectID string) lockDomain       { return lockDomain{chainKind, projectID} }
func documentsOf(projectID string) lockDomain   { return lockDomain{documentKind, projectID} }
func submissionsOf(projectID string) lockDomain { return lockDomain{submissionKind, projectID} }
func discoveryOf(projectID string) lockDomain   { return lockDomain{discoveryKind, projectID} }
func alertsOf(projectID string) lockDomain      { return lockDomain{alertKind, projectID} }
func countsOf(projectID string) lockDomain      { return lockDomain{countKind, projectID} }
func queueOf(projectID string) lockDomain       { return lockDomain{queueKind, projectID} }
func termsOf(projectID string) lockDomain       { return lockDomain{termKind, projectID} }
func verdictsOf(projectID string) lockDomain    { return lockDomain{verdictKind, projectID} }

// lock locks a domain until the transaction ends. Outside of transactions it does nothing.
func (s *session) lock(ctx context.Context, d lockDomain) error {
	if !s.needsLock(d) {
		return nil
	}
	var err error
	switch d.kind {
	case noDomain:
	case listOfProjects, allKeys:
		_, err = s.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?)", int64(advisory+d.kind))
	case corpusKind:
		// NO KEY lets others refer to the project in the meantime.
		err = s.lockRow(ctx, "SELECT 1 FROM projects WHERE project_id = ? FOR NO KEY UPDATE", d.projectID)
	case documentKind:
		// Two projects whose names have one hash wait for each other, which is harmless.
		_, err = s.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?, hashtext(?))", int32(documentLocks), d.projectID)
	case chainKind:
		err = s.lockRow(ctx, "SELECT 1 FROM audit_heads WHERE project_id = ? FOR UPDATE", d.projectID)
	case submissionKind, discoveryKind, alertKind, countKind, queueKind, termKind, approvalKind, verdictKind:
		// These have no row to lock, and a lock on the project's row would delay changes of its rules.
		_, err = s.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(hashtextextended(?, ?))", d.projectID, int64(advisory+d.kind))
	}
	if err == nil {
		s.state.locked[d] = true
	}
	return err
}

// needsLock reports whether the transaction has yet to lock a domain.
func (s *session) needsLock(d lockDomain) bool {
	return s.state != nil && s.d.rowLocks && !s.state.locked[d]
}

// advisory is the first number of Tenet's advisory locks: "tenet" in ASCII, then one byte.
const advisory = 0x74656e657400

// documentLocks is the first number of the locks on a project's documents.
const documentLocks = 0x74656e64

// migrating is the advisory lock of the node that migrates the schema.
const migrating = advisory + 0xff

// lockRow locks the row that represents a domain. If the project does not exist, it keeps others from creating it.
func (s *session) lockRow(ctx context.Context, query, projectID string) error {
	var one int
	err := s.row(ctx, "lock", query, []any{projectID}, &one)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := s.lock(ctx, projectListDomain); err != nil {
		return err
	}
	err = s.row(ctx, "lock", query, []any{projectID}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// lockProjects locks the list of projects and every project's row.
func (s *session) lockProjects(ctx context.Context) error {
	if s.state == nil || !s.d.rowLocks {
		return nil
	}
	if err := s.lock(ctx, projectListDomain); err != nil {
		return err
	}
	if s.state.spread {
		return lockEachProject(ctx, s)
	}
	return s.each(ctx, "lock", "SELECT project_id FROM projects ORDER BY project_id FOR NO KEY UPDATE", nil, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		s.state.locked[corpusOf(id)] = true
		return err
	})
}

// lockEachProject is lockProjects where the rows of projects are on several servers.
func lockEachProject(ctx context.Context, s *session) error {
	ids, err := many(ctx, s, unlocked, "projects", "SELECT project_id FROM projects ORDER BY project_id", nil, textFields)
	for i := 0; i < len(ids) && err == nil; i++ {
		err = s.lock(ctx, corpusOf(ids[i]))
	}
	return err
}

// lockedSnapshot locks a domain and then runs fn on one state of the database.
func (s *session) lockedSnapshot(ctx context.Context, d lockDomain, fn func(*session) error) error {
	if err := s.lock(ctx, d); err != nil {
		return err
	}
	return s.snapshot(ctx, fn)
}

// lockedExec is exec after a lock on a domain.
func (s *session) lockedExec(ctx context.Context, d lockDomain, doing, query string, args ...any) (int64, error) {
	if err := s.lock(ctx, d); err != nil {
		return 0, err
	}
	return s.exec(ctx, doing, query, args...)
}

// keeping ends a query of a transaction whose rows nobody else is to change until it ends: what is read from them is written again. Outside of
// transactions it is empty.
func keeping(s *session) string {
	if s.state == nil {
		return ""
	}
	return s.d.keepRows
}

// notFound turns an absent row into not_found.
func notFound(err error, noun, ref string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return rule.NotFound(noun, ref)
	}
	return err
}
