package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// Not even somebody with the file in hand changes a snapshot or the history of an environment by mistake. PostgreSQL has no triggers,
// so that its tables can be spread by project; see TestNoStatementChangesWhatIsFrozen.
func TestReleasesAreFrozen(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	opened(t, s, err)
	release(t, s)
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"UPDATE snapshots SET name = 'other'", "DELETE FROM snapshots", "UPDATE deployments SET actor = 'other'", "DELETE FROM deployments",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never change") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// release stores a snapshot and deploys it.
func release(t *testing.T, s store.Store) {
	t.Helper()
	now, id := time.Now().UTC(), "0199f0a0-0000-7000-8000-000000000001"
	err := s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "p", CreatedAt: now, UpdatedAt: now}); err != nil {
			return err
		}
		if err := tx.Releases.InsertSnapshot(t.Context(), store.Snapshot{ProjectID: "p", ID: id, CreatedAt: now, Manifest: []byte{1}}); err != nil {
			return err
		}
		return tx.Releases.AppendDeployment(t.Context(), store.Deployment{ProjectID: "p", Environment: "production", Seq: 1, Action: "deploy", SnapshotID: id, At: now})
	})
	if err != nil {
		t.Fatal(err)
	}
}
