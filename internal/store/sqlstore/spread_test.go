package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/store/storetest"
)

// cluster has the catalogs and functions of Citus that Tenet uses, with the laws that Tenet must keep: tables that others refer to are spread first, beside
// them, every unique key has the project, and a new table may refer to a spread one only while Citus leaves statements alone.
const cluster = `CREATE SCHEMA cluster;
CREATE TABLE cluster.pg_dist_partition (logicalrelid REGCLASS PRIMARY KEY, partmethod "char", partkey TEXT, beside TEXT, repmodel "char");
CREATE TABLE cluster.pg_dist_node (nodename TEXT, nodeport INT, isactive BOOL, shouldhaveshards BOOL, noderole TEXT);
CREATE TABLE cluster.pg_dist_local_group (groupid INT);
INSERT INTO cluster.pg_dist_local_group VALUES (0);
INSERT INTO cluster.pg_dist_node VALUES ('coordinator', 5432, TRUE, FALSE, 'primary'), ('worker-1', 5432, TRUE, TRUE, 'primary'), ('worker-2', 5432, TRUE, TRUE, 'primary');
CREATE TABLE cluster.emptied (name TEXT);
CREATE FUNCTION cluster.citus_version() RETURNS TEXT LANGUAGE sql AS $$ SELECT 'Citus 13.2.2 on a machine' $$;
CREATE FUNCTION cluster.column_to_column_name(REGCLASS, TEXT) RETURNS TEXT LANGUAGE sql AS $$ SELECT $2 $$;
CREATE FUNCTION cluster.truncate_local_data_after_distributing_table(function_name REGCLASS) RETURNS VOID LANGUAGE sql AS
	$$ INSERT INTO cluster.emptied VALUES ($1::text) $$;
CREATE FUNCTION cluster.create_distributed_table(table_name REGCLASS, distribution_column TEXT, distribution_type TEXT DEFAULT 'hash', colocate_with TEXT DEFAULT 'default',
	shard_count INT DEFAULT NULL) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM pg_constraint WHERE contype = 'f' AND conrelid = table_name AND confrelid <> table_name
			AND confrelid NOT IN (SELECT logicalrelid FROM cluster.pg_dist_partition)) THEN
		RAISE EXCEPTION 'cannot create foreign key constraint of %', table_name;
	END IF;
	IF EXISTS (SELECT 1 FROM pg_index WHERE indrelid = table_name AND indisunique AND NOT (SELECT attnum FROM pg_attribute
			WHERE attrelid = table_name AND attname = distribution_column) = ANY (indkey)) THEN
		RAISE EXCEPTION 'cannot create constraint on %', table_name;
	END IF;
	IF table_name <> 'projects'::regclass AND colocate_with <> 'projects' THEN
		RAISE EXCEPTION '% would not lie beside projects', table_name;
	END IF;
	IF colocate_with <> 'none' AND to_regclass(colocate_with) NOT IN (SELECT logicalrelid FROM cluster.pg_dist_partition) THEN
		RAISE EXCEPTION 'relation % is not distributed', colocate_with;
	END IF;
	INSERT INTO cluster.pg_dist_partition VALUES (table_name, 'h', distribution_column, colocate_with);
END $$;
CREATE FUNCTION cluster.create_reference_table(table_name REGCLASS) RETURNS VOID LANGUAGE sql AS
	$$ INSERT INTO cluster.pg_dist_partition VALUES (table_name, 'n', NULL, 'none', 't') $$;
CREATE FUNCTION cluster.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('citus.enable_ddl_propagation', true) IS DISTINCT FROM 'off' AND EXISTS (SELECT 1 FROM pg_event_trigger_ddl_commands() AS c
			JOIN pg_constraint AS k ON k.conrelid = c.objid AND k.contype = 'f' JOIN cluster.pg_dist_partition AS p ON p.logicalrelid = k.confrelid
			WHERE c.command_tag = 'CREATE TABLE') THEN
		RAISE EXCEPTION 'local tables cannot refer to distributed tables';
	END IF;
END $$;
CREATE EVENT TRIGGER refuse_references ON ddl_command_end EXECUTE FUNCTION cluster.refuse();`

// clustered makes a database look like the coordinator of a cluster, and returns its address.
func clustered(t *testing.T, dsn string) string {
	t.Helper()
	execute(t, dsn, cluster)
	t.Cleanup(func() { execute(t, dsn, "DROP EVENT TRIGGER refuse_references; DROP SCHEMA cluster CASCADE") })
	return dsn + "&search_path=public,cluster"
}

func execute(t *testing.T, dsn, statements string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err == nil {
		_, err = db.ExecContext(context.WithoutCancel(t.Context()), statements)
		_ = db.Close() // nothing is open
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTablesAreSpreadOnce(t *testing.T) {
	t.Parallel()
	dsn := clustered(t, pgtest.DSN(t))
	before, err := sqlstore.CheckSpread(t.Context(), dsn)
	if err != nil || !before.Ready() || len(before.Left()) != len(before.Tables) || len(before.Tables) < 50 || before.Citus != "13.2.2" ||
		!slices.Equal(before.Nodes, []string{"worker-1:5432", "worker-2:5432"}) {
		t.Fatalf("%+v, %v", before, err)
	}
	execute(t, dsn, "INSERT INTO projects (project_id, name, description, two_person, tests_required, corpus_version, created_at, updated_at) VALUES ('p', 'p', '', FALSE, FALSE, 0, 0, 0)")
	steps := 0
	after, err := sqlstore.Distribute(t.Context(), dsn, 64, func(done, all int) {
		if steps++; done != steps || all != len(before.Tables) {
			t.Errorf("%d of %d, want %d of %d", done, all, steps, len(before.Tables))
		}
	})
	if err != nil || len(after.Left()) != 0 || steps != len(before.Tables) {
		t.Fatalf("%d steps, %d tables left, %v", steps, len(after.Left()), err)
	}
	again, err := sqlstore.Distribute(t.Context(), dsn, 0, nil) // it would fail if it spread one of them again
	if err != nil || len(again.Left()) != 0 {
		t.Errorf("once more: %d tables left, %v", len(again.Left()), err)
	}
	if got := query(t, dsn, "SELECT DISTINCT name FROM cluster.emptied"); !slices.Contains(got, "projects") {
		t.Errorf("the rows of %q were removed, want those of projects", got)
	}
}

func query(t *testing.T, dsn, text string) (list []string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it reads
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // as above
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWhatIsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t, "")
	if got, err := sqlstore.CheckSpread(t.Context(), dsn); err != nil || got.Ready() || !strings.Contains(strings.Join(got.Problems, ""), "tenet db migrate") {
		t.Errorf("without a schema: %+v, %v", got, err)
	}
	s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	opened(t, s, err)
	if got, err := sqlstore.CheckSpread(t.Context(), dsn); err != nil || !got.Ready() || got.Citus != "" {
		t.Errorf("a schema as it is made: %+v, %v", got, err)
	}
	if _, err := sqlstore.Distribute(t.Context(), dsn, 0, nil); rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), "CREATE EXTENSION citus") {
		t.Errorf("without Citus: %v", err)
	}
	at := clustered(t, dsn)
	execute(t, dsn, `CREATE TABLE other (id INT PRIMARY KEY);
		CREATE UNIQUE INDEX rules_by_id_alone ON rules (id);
		CREATE TABLE notes (project_id TEXT, id INT REFERENCES other (id));
		CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER listener AFTER INSERT ON jobs EXECUTE FUNCTION nothing();
		INSERT INTO cluster.pg_dist_partition VALUES ('documents', 'h', 'id', 'default');
		UPDATE cluster.pg_dist_node SET isactive = FALSE WHERE nodename = 'worker-2'`)
	got, err := sqlstore.CheckSpread(t.Context(), at)
	if err != nil || got.Ready() {
		t.Fatalf("%+v, %v", got, err)
	}
	found := map[string]string{"": strings.Join(got.Problems, "")}
	for _, one := range got.Tables {
		found[one.Name] = strings.Join(one.Problems, "; ")
	}
	for table, want := range map[string]string{
		"": "worker-2:5432 is not active", "other": "no column project_id", "rules": "rules_by_id_alone", "notes": "notes_id_fkey", "jobs": "trigger listener", "documents": "by id",
	} {
		if !strings.Contains(found[table], want) {
			t.Errorf("%s: %q, want %q", table, found[table], want)
		}
	}
	if _, err := sqlstore.Distribute(t.Context(), at, 0, nil); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("with all that: %v", err)
	}
	execute(t, dsn, "DROP TABLE notes; DROP TABLE other; DROP INDEX rules_by_id_alone; DROP TRIGGER listener ON jobs; DELETE FROM cluster.pg_dist_partition; UPDATE cluster.pg_dist_local_group SET groupid = 2")
	if got, err := sqlstore.CheckSpread(t.Context(), at); err != nil || !strings.Contains(strings.Join(got.Problems, ""), "address of its coordinator") {
		t.Errorf("at a worker: %+v, %v", got, err)
	}
}

// A schema that is spread is brought up to date, with its new tables.
func TestMigrationsOfSpreadTables(t *testing.T) {
	t.Parallel()
	dsn := clustered(t, pgtest.Empty(t, ""))
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.MigrateTo(t.Context(), db, true, 41); err != nil { // before it, keys were without the project
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	was, err := sqlstore.Distribute(t.Context(), dsn, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
	opened(t, s, err)
	is, err := sqlstore.CheckSpread(t.Context(), dsn)
	if err != nil || len(is.Left()) > 0 || len(is.Tables) <= len(was.Tables) {
		t.Errorf("%d tables, then %d with %v left, %v", len(was.Tables), len(is.Tables), is.Left(), err)
	}
}

// On spread tables no statement locks jobs of several projects.
func TestJobsOfSpreadTables(t *testing.T) {
	storetest.RunSome(t, func(name string) bool {
		return strings.Contains(name, "jobs") || name == "leases end" || name == "serialisable: all projects"
	}, func(t *testing.T) storetest.Open {
		dsn := clustered(t, pgtest.DSN(t))
		execute(t, dsn, "INSERT INTO cluster.pg_dist_partition VALUES ('projects', 'h', 'project_id', 'none')")
		return func(t *testing.T) store.Store {
			s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			return opened(t, s, err)
		}
	})
}

func TestStatementsOfMigrations(t *testing.T) {
	t.Parallel()
	text := "-- a; b\nCREATE TABLE a (b TEXT DEFAULT 'x;''y'); -- c\n\nCREATE FUNCTION f() AS $$ BEGIN a; END $$;\nDROP TABLE c"
	want := []string{"CREATE TABLE a (b TEXT DEFAULT 'x;''y')", "CREATE FUNCTION f() AS $$ BEGIN a; END $$", "DROP TABLE c"}
	if got := sqlstore.SplitStatements(text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range sqlstore.SplitStatements(string(text)) {
			first := strings.Fields(statement)[0]
			if !slices.Contains([]string{"CREATE", "ALTER", "DROP", "INSERT", "UPDATE", "DELETE", "SELECT", "WITH"}, first) && !strings.HasPrefix(first, "{{") {
				t.Errorf("%s: %s", file, fmt.Sprintf("%.80s", statement))
			}
		}
	}
}
