package sqlstore_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// crashTarget names the database that this test binary writes to instead of running tests: a folder, or a postgres:// URL.
const crashTarget = "TENET_TEST_CRASH_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(crashTarget); target != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(target))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func openTarget(ctx context.Context, target string) (store.Store, error) {
	if strings.HasPrefix(target, "postgres://") {
		return sqlstore.OpenPostgres(ctx, target, sqlstore.Options{})
	}
	return sqlstore.OpenSQLite(ctx, target, sqlstore.Options{})
}

// writeUntilKilled makes changes from several goroutines and prints the id of the rule of each that was committed.
func writeUntilKilled(target string) error {
	ctx := context.Background()
	s, err := openTarget(ctx, target)
	if err != nil {
		return err
	}
	failed := make(chan error)
	var printing sync.Mutex
	for range 4 {
		go func() {
			for {
				id := audit.NewID()
				if err := s.Update(ctx, func(tx store.Tx) error { return crashChange(ctx, tx, id) }); err != nil {
					failed <- err
					return
				}
				printing.Lock()
				_, err := fmt.Println("committed", id)
				printing.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// crashChange inserts a rule, revises it, relates it to itself and records that: all of it must be there, or nothing.
func crashChange(ctx context.Context, tx store.Tx, id string) error {
	cv, err := tx.Projects.RaiseCorpus(ctx, "p")
	if err != nil {
		return err
	}
	r := rule.Rule{ID: id, ProjectID: "p", Version: 1, Statement: strings.Repeat("Keep what was committed. ", 40)}
	r.Normalize()
	if err := tx.Rules.Insert(ctx, cv, []rule.Rule{r}); err != nil {
		return err
	}
	r.Version++
	if err := tx.Rules.Update(ctx, cv, []rule.Rule{r}); err != nil {
		return err
	}
	rel := rule.Relationship{ID: audit.NewID(), FromID: id, ToID: id, Kind: rule.DependsOn, CreatedAt: time.Now()}
	if err := tx.Rules.InsertRelationship(ctx, "p", cv, rel); err != nil {
		return err
	}
	return audit.Append(ctx, tx, "p", audit.Record{Kind: audit.KindRule, Actor: id, At: time.Now(), Body: audit.JSON(r)})
}

func TestKilledSQLite(t *testing.T) {
	dir := t.TempDir()
	testKilled(t, dir, func(t *testing.T) {
		db, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close() //nolint:errcheck // it was only read
		var answer string
		if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
			t.Fatalf("integrity check: %s, %v", answer, err)
		}
		var broken int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pragma_foreign_key_check").Scan(&broken); err != nil || broken != 0 {
			t.Fatalf("%d broken references, %v", broken, err)
		}
	})
}

func TestKilledPostgreSQL(t *testing.T) {
	testKilled(t, pgtest.DSN(t), func(*testing.T) {})
}

// testKilled kills a writer at random moments. After each kill, every change that it had reported must be there, and every
// change that is there must be whole.
func testKilled(t *testing.T, target string, checkFiles func(*testing.T)) {
	s, err := openTarget(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: "p"}) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var committed []string
	for range 6 {
		committed = append(committed, killWriter(t, target)...)
		s, err := openTarget(t.Context(), target)
		if err != nil {
			t.Fatalf("opening after the kill: %v", err)
		}
		// A server may still be carrying out the last commit it was sent. It holds the project, so this waits for it.
		if err := s.Update(t.Context(), func(tx store.Tx) error { _, err := tx.Projects.Get(t.Context(), "p"); return err }); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, s, committed)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkFiles(t)
	}
	t.Logf("%d changes survived 6 kills", len(committed))
}

// killWriter runs a writer, kills it a moment after its first change and returns what it reported.
func killWriter(t *testing.T, target string) []string {
	t.Helper()
	writer := exec.CommandContext(t.Context(), os.Args[0])
	writer.Env = append(os.Environ(), crashTarget+"="+target)
	var complaints bytes.Buffer
	writer.Stderr = &complaints
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "committed "); ok && rule.IsID(id) { // the last line may be cut
			ids = append(ids, id)
		}
		if len(ids) == 1 {
			time.AfterFunc(rand.N(250*time.Millisecond), func() { _ = writer.Process.Kill() }) //nolint:gosec // any moment will do
		}
	}
	_ = writer.Wait() // it was killed
	if len(ids) == 0 {
		t.Fatalf("the writer did nothing: %s", complaints.String())
	}
	return ids
}

func checkWhole(t *testing.T, s store.Store, committed []string) {
	t.Helper()
	ctx := t.Context()
	var rules []string
	version, err := s.Rules.Changes(ctx, "p", 0, func(state store.RuleState) error {
		rules = append(rules, state.Rule.ID)
		if state.Rule.Version != 2 || len(state.Relationships) != 1 {
			t.Errorf("rule %s is at version %d with %d relationships; want 2 and 1", state.Rule.ID, state.Rule.Version, len(state.Relationships))
		}
		if _, err := s.Rules.Version(ctx, "p", state.Rule.ID, 1); err != nil {
			t.Errorf("the first version: %v", err)
		}
		return nil
	})
	if err != nil || int(version) != len(rules) {
		t.Fatalf("%d rules at corpus version %d, %v; each change makes one", len(rules), version, err)
	}
	for _, id := range committed {
		if !slices.Contains(rules, id) {
			t.Errorf("the change of %s was reported as committed and is gone", id)
		}
	}
	report, err := audit.Verify(ctx, s.Audit, "p", wire.AuditHead{})
	if err != nil || !report.OK() || report.Entries != version {
		t.Fatalf("%d audit entries for %d changes, %v: %v", report.Entries, version, err, report.Problems)
	}
	entries, err := s.Audit.Entries(ctx, "p", 0, len(rules)+1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(rules, e.Actor) {
			t.Errorf("entry %d records rule %s, which is gone", e.Seq, e.Actor)
		}
	}
}
