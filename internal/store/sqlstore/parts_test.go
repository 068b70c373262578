package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/store/storetest"
	"tenet/internal/wire"
)

// All that the contract says of audit chains holds where bodies lie apart, in a part that covers all times.
func TestBodiesApartKeepTheContract(t *testing.T) {
	storetest.RunSome(t, func(name string) bool {
		for _, part := range []string{"audit", "terms", "retention", "confirm", "wait", "count", "edges", "force", "own writes", "rollback", "two handles", "cancelled"} {
			if strings.Contains(name, part) {
				return true
			}
		}
		return false
	}, func(t *testing.T) storetest.Open {
		dsn := pgtest.DSN(t)
		s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
		opened(t, s, err)
		makePart(t, s, store.Part{From: time.Unix(0, 0), Until: time.Unix(1<<33, 0)})
		return func(t *testing.T) store.Store {
			s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			return opened(t, s, err)
		}
	})
}

func makePart(t testing.TB, s store.Store, parts ...store.Part) {
	t.Helper()
	for _, p := range parts {
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Parts.Make(t.Context(), p) }); err != nil {
			t.Fatal(err)
		}
	}
}

// days are parts of a day each.
func days(from time.Time, n int) (list []store.Part) {
	for range n {
		list = append(list, store.Part{From: from, Until: from.AddDate(0, 0, 1)})
		from = from.AddDate(0, 0, 1)
	}
	return list
}

var firstDay = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// appendAt appends an evaluation.
func appendAt(t testing.TB, s store.Store, project string, at time.Time) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return audit.Append(t.Context(), tx, project, audit.Record{Kind: audit.KindEvaluation, At: at, Actor: "ann", Verdict: "ALLOW", Mode: "preflight", Body: fmt.Appendf(nil, `{"at":%d}`, at.Unix())})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openParts(t testing.TB, dsn string, projects ...string) store.Store {
	t.Helper()
	s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	opened(t, s, err)
	for _, id := range projects {
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: id, Name: id}) }); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func verified(t testing.TB, s store.Store, project string, pruned int64) {
	t.Helper()
	r, err := audit.Verify(t.Context(), s.Audit, project, wire.AuditHead{})
	if err != nil || len(r.Problems) > 0 || r.Pruned != pruned {
		t.Errorf("project %s: %+v, %v; want %d bodies removed", project, r, err, pruned)
	}
}

// A body goes into the part of its time, and else stays with its entry; a query by time looks at no other part.
func TestBodiesLieInThePartOfTheirTime(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := openParts(t, dsn, "p")
	appendAt(t, s, "p", firstDay) // before there are any
	makePart(t, s, days(firstDay.AddDate(0, 0, 1), 30)...)
	for day := range 40 {
		appendAt(t, s, "p", firstDay.AddDate(0, 0, day).Add(time.Hour))
	}
	if got := query(t, dsn, "SELECT count(*)::text FROM audit_bodies"); got[0] != "30" {
		t.Errorf("%s bodies lie apart, want 30", got[0])
	}
	if got := query(t, dsn, "SELECT count(*)::text FROM audit_entries WHERE length(body) > 0"); got[0] != "11" {
		t.Errorf("%s bodies lie with their entries, want 11", got[0])
	}
	if got := query(t, dsn, "SELECT seq::text FROM audit_bodies_20261105t000000_20261106t000000"); !slices.Equal(got, []string{"6"}) {
		t.Errorf("on the fifth day: %v", got)
	}
	verified(t, s, "p", 0)
	for name, plan := range sqlstore.BodyPlans(t, s, firstDay.AddDate(0, 0, 4), firstDay.AddDate(0, 0, 4).Add(time.Hour)) {
		if !strings.Contains(plan, "audit_bodies_20261105t000000_20261106t000000") || strings.Count(plan, "Scan") != 1 || !strings.Contains(plan, "Index Scan") {
			t.Errorf("%s looks at more than one day:\n%s", name, plan)
		}
	}
}

// Two projects, of which one has a legal hold.
func TestPartsGoOnlyIfNobodyKeepsAnything(t *testing.T) {
	t.Parallel()
	s := openParts(t, pgtest.DSN(t), "p", "q")
	makePart(t, s, days(firstDay, 5)...)
	for day := range 4 {
		for _, project := range []string{"p", "q"} {
			appendAt(t, s, project, firstDay.AddDate(0, 0, day).Add(time.Hour))
		}
	}
	now := firstDay.AddDate(0, 0, 4)
	announce := func(project string, days int, edit func(*audit.Pruning)) *audit.Removal {
		t.Helper()
		p := audit.Pruning{ProjectID: project, Kind: audit.KindEvaluation, Before: firstDay.AddDate(0, 0, days), Now: now}
		if edit != nil {
			edit(&p)
		}
		r, _, err := audit.Announce(t.Context(), s, s.Audit, p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	drop := func(want, left int, removals map[string]*audit.Removal) {
		t.Helper()
		n, err := audit.DropParts(t.Context(), s, s.Parts, removals)
		list, listErr := s.Parts.List(t.Context())
		if err != nil || listErr != nil || n != want || len(list) != left {
			t.Errorf("%d parts removed, %d left, %v, %v; want %d and %d", n, len(list), err, listErr, want, left)
		}
	}
	p := announce("p", 2, nil)
	drop(0, 5, map[string]*audit.Removal{"p": p}) // q keeps all
	q := announce("q", 1, nil)
	drop(1, 4, map[string]*audit.Removal{"p": p, "q": q})
	verified(t, s, "p", 1) // its second day is announced, and still there
	verified(t, s, "q", 1)
	held := announce("q", 3, func(p *audit.Pruning) {
		p.Held = func(_ context.Context, entries []store.AuditEntry) (seqs []int64, err error) {
			for i := range entries {
				if entries[i].Seq == 2 {
					seqs = append(seqs, 2)
				}
			}
			return seqs, nil
		}
	})
	p = announce("p", 3, nil)
	drop(0, 4, map[string]*audit.Removal{"p": p, "q": held})
	for _, r := range []*audit.Removal{p, held} { // bit by bit, as on SQLite
		if n, err := r.Finish(t.Context(), s, s.Audit); err != nil || n < 1 {
			t.Errorf("%s: %d bodies removed one by one, %v", r.ProjectID, n, err)
		}
	}
	verified(t, s, "p", 3)
	verified(t, s, "q", 2)
	drop(1, 3, map[string]*audit.Removal{"p": p, "q": held}) // the third day has nothing any more
	lifted := &audit.Removal{Pruning: held.Pruning, Through: held.Through}
	lifted.Held = nil
	lifted.Confirm = func(context.Context, store.Tx) error {
		return rule.Errorf(rule.CodeConflict, "the retention has changed")
	}
	drop(0, 3, map[string]*audit.Removal{"p": p, "q": lifted}) // the hold is lifted, and there is another one meanwhile
	lifted.Confirm = nil
	drop(1, 2, map[string]*audit.Removal{"p": p, "q": lifted})
	verified(t, s, "q", 3)
	if e, err := s.Audit.Entries(t.Context(), "q", 3, 1); err != nil || len(e) != 1 || len(e[0].Body) == 0 {
		t.Errorf("the fourth day: %+v, %v", e, err)
	}
}

// Who reads for long keeps a part, and the removal gives up so soon that nobody waits for it.
func TestAPartInUseStays(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := openParts(t, dsn, "p")
	makePart(t, s, days(firstDay, 2)...)
	appendAt(t, s, "p", firstDay.Add(time.Hour))
	r, _, err := audit.Announce(t.Context(), s, s.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: firstDay.AddDate(0, 0, 1), Now: firstDay.AddDate(0, 0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, reading := range []string{"SELECT * FROM audit_bodies", "UPDATE retention SET body = '' WHERE project_id = 'none'"} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), reading)
		}
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		n, err := audit.DropParts(t.Context(), s, s.Parts, map[string]*audit.Removal{"p": r})
		if n != 0 || rule.CodeOf(err) != rule.CodeUnavailable || time.Since(began) > 30*time.Second {
			t.Errorf("during %s: %d parts removed after %v, %v", reading, n, time.Since(began), err)
		}
		appendAt(t, s, "p", firstDay.Add(26*time.Hour))
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := audit.DropParts(t.Context(), s, s.Parts, map[string]*audit.Removal{"p": r}); n != 1 || err != nil {
		t.Errorf("then: %d parts removed, %v", n, err)
	}
	verified(t, s, "p", 1)
}

// beforeParts is the last version of the schema in which all bodies lie with their entries.
const beforeParts = 64

// What an older version has written is read and removed as before, and what follows goes into parts.
func TestADatabaseFromBeforeParts(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t, "")
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.MigrateTo(t.Context(), db, true, beforeParts); err != nil {
		t.Fatal(err)
	}
	from := openParts(t, pgtest.DSN(t), "p") // without parts, rows are as they were
	for day := range 3 {
		appendAt(t, from, "p", firstDay.AddDate(0, 0, day))
	}
	entries, err := from.Audit.Entries(t.Context(), "p", 0, 10)
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO projects (project_id, name, description, two_person, tests_required, corpus_version, created_at, updated_at) VALUES ('p', 'p', '', FALSE, FALSE, 0, 0, 0)`)
	for i := 0; i < len(entries) && err == nil; i++ {
		e := &entries[i]
		_, err = db.ExecContext(t.Context(), `INSERT INTO audit_entries (project_id, seq, id, kind, at, actor, verdict, mode, body, body_hash, prev_hash, hash)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, e.ProjectID, e.Seq, e.ID, e.Kind, e.At.UnixMicro(), e.Actor, e.Verdict, e.Mode, e.Body, e.BodyHash, e.PrevHash, e.Hash)
	}
	if err == nil {
		_, err = db.ExecContext(t.Context(), "INSERT INTO audit_heads (project_id, seq, hash) VALUES ('p', 3, $1)", entries[2].Hash)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openParts(t, dsn)
	makePart(t, s, days(firstDay, 5)...)
	appendAt(t, s, "p", firstDay.AddDate(0, 0, 2).Add(time.Hour))
	verified(t, s, "p", 0)
	r, _, err := audit.Announce(t.Context(), s, s.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: firstDay.AddDate(0, 0, 3), Now: firstDay.AddDate(0, 0, 4)})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := audit.DropParts(t.Context(), s, s.Parts, map[string]*audit.Removal{"p": r}); n != 3 || err != nil {
		t.Errorf("%d parts removed, %v", n, err)
	}
	if n, err := r.Finish(t.Context(), s, s.Audit); n != 3 || err != nil {
		t.Errorf("%d bodies removed that lie with their entries, %v", n, err)
	}
	verified(t, s, "p", 4)
}
