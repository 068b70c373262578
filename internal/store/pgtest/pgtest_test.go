package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tenet/internal/store/pgtest"
)

// What one test does to its database must not reach the next one.
func TestADatabaseIsUsedAgainAsItWas(t *testing.T) {
	used := func(statement string) (dsn string) {
		t.Run("use", func(t *testing.T) {
			dsn = pgtest.DSN(t)
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), statement); err != nil {
				t.Error(err)
			}
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return dsn
	}
	before := used("INSERT INTO servers (project_id, id, started_at, seen_at, data) VALUES ('', 'one', 1, 1, '{}')")
	if again := used("INSERT INTO servers (project_id, id, started_at, seen_at, data) VALUES ('', 'one', 1, 1, '{}')"); again != before {
		t.Errorf("after a test that wrote rows the next one got %s, not %s again", again, before)
	}
	for _, statement := range []string{
		"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE; END'",
		"CREATE TRIGGER fail BEFORE UPDATE ON servers FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
		"ALTER TABLE servers ADD COLUMN more TEXT",
		"ALTER TABLE servers ADD CHECK (id <> '')",
		"CREATE SCHEMA more",
	} {
		changed := used(statement)
		if next := used("SELECT 1"); next == changed {
			t.Errorf("the database of a test that ran %q was given to the next one", statement)
		}
	}
}
