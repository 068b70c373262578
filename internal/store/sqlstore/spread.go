package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"tenet/internal/rule"
)

// Spread says where the rows of a database on PostgreSQL are, and what keeps its tables from being spread by project over the servers of a
// cluster of Citus, an extension of PostgreSQL.
type Spread struct {
	Citus    string        `json:"citus"`    // its version; empty without it
	Nodes    []string      `json:"nodes"`    // addresses of the servers that hold rows of spread tables
	Tables   []SpreadTable `json:"tables"`   // each after those that it refers to
	Problems []string      `json:"problems"` // of the server; those of tables are with them
}

// SpreadTable is a table of a database.
type SpreadTable struct {
	Name     string   `json:"name"`
	Spread   bool     `json:"spread"`
	Bytes    int64    `json:"bytes"` // on the server at the address, its indexes included
	Problems []string `json:"problems"`
	copied   bool     // each server is to have all of it
	local    bool     // it is spread, and its rows from before still take room here
}

// Ready reports that nothing keeps the tables from being spread.
func (s *Spread) Ready() bool {
	return len(s.Problems) == 0 && !slices.ContainsFunc(s.Tables, func(t SpreadTable) bool { return len(t.Problems) > 0 })
}

// Left lists the tables that are not spread.
func (s *Spread) Left() []SpreadTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t SpreadTable) bool { return t.Spread })
}

// distributionColumn is the column by which tables are spread.
const distributionColumn = "project_id"

// copiedTables belong to no project: each server has a copy of them.
var copiedTables = map[string]string{
	"retired_privacy_keys": "names of keys that were those of all projects",
}

// anchorTable is the table whose rows those of the others lie beside.
const anchorTable = "projects"

// CheckSpread looks at the database at an address, and changes nothing. Errors are as those of [OpenPostgres].
func CheckSpread(ctx context.Context, dsn string) (Spread, error) {
	db, err := ownConnection(dsn)
	if err != nil {
		return Spread{}, err
	}
	defer func() { _ = db.Close() }() // it reads
	return readSpread(ctx, &session{db: db, d: newPostgres(), damage: &damage{}})
}

// Distribute spreads all tables that are not, in one transaction: all or none. Others read meanwhile, and wait to write. Shards is into how many parts
// each table is cut; 0 leaves that to the server, and it counts only if no table is spread yet. Progress gets the tables that are done and all of
// them; nil gets none. A second call does nothing, except to remove what the first left on the server at the address.
//
// The error has the code conflict if something is in the way; see [CheckSpread]. Other errors are as those of [OpenPostgres].
func Distribute(ctx context.Context, dsn string, shards int, progress func(done, all int)) (Spread, error) {
	db, err := ownConnection(dsn)
	if err != nil {
		return Spread{}, err
	}
	defer func() { _ = db.Close() }() // nothing is open
	d := newPostgres()
	s := &session{db: db, d: d, damage: &damage{}}
	if err := distributeAll(ctx, db, d, shards, progress); err != nil {
		return Spread{}, err
	}
	// What was in a table before stays on this server, hidden, until this removes it.
	state, err := readSpread(ctx, s)
	if err != nil {
		return state, err
	}
	for _, t := range state.Tables {
		if t.local {
			if _, err := s.exec(ctx, "removing the rows of "+t.Name+" that are elsewhere now", "SELECT truncate_local_data_after_distributing_table(CAST(? AS REGCLASS))", t.Name); err != nil {
				return state, err
			}
		}
	}
	return readSpread(ctx, s)
}

func distributeAll(ctx context.Context, db *sql.DB, d *dialect, shards int, progress func(done, all int)) error {
	tx, err := db.BeginTx(ctx, nil)
	s := &session{db: tx, d: d, damage: &damage{}}
	if err != nil {
		return s.wrap(ctx, "begin", err)
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	if _, err := tx.ExecContext(ctx, unlimited); err != nil {
		return s.wrap(ctx, "begin", err)
	}
	if _, err := s.exec(ctx, "lock", "SELECT pg_advisory_xact_lock(?)", int64(migrating)); err != nil {
		return err
	}
	state, err := readSpread(ctx, s)
	if err != nil {
		return err
	}
	if !state.Ready() {
		return rule.Errorf(rule.CodeConflict, "the tables cannot be spread; tenet db check says why")
	}
	if state.Citus == "" {
		return rule.Errorf(rule.CodeConflict, "the database has no Citus: install it on each server, then run CREATE EXTENSION citus in the database of each")
	}
	if _, err := tx.ExecContext(ctx, oneByOne); err != nil {
		return s.wrap(ctx, "begin", err)
	}
	for i, t := range state.Tables {
		if !t.Spread {
			if err := distribute(ctx, s, t.Name, shards); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(i+1, len(state.Tables))
		}
	}
	if err := tx.Commit(); err != nil {
		return s.wrap(ctx, "commit", err)
	}
	return nil
}

// oneByOne has a transaction change one part of a table after the other, which lets it change several tables that refer to one another.
const oneByOne = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'"

// distribute spreads a table. Rows of a project are on one server in all tables.
func distribute(ctx context.Context, s *session, table string, shards int) error {
	var err error
	switch {
	case copiedTables[table] != "":
		_, err = s.exec(ctx, "copying "+table, "SELECT create_reference_table(CAST(? AS REGCLASS))", table)
	case table != anchorTable:
		_, err = s.exec(ctx, "spreading "+table, "SELECT create_distributed_table(CAST(? AS REGCLASS), ?, colocate_with => ?)", table, distributionColumn, anchorTable)
	case shards > 0:
		_, err = s.exec(ctx, "spreading "+table, "SELECT create_distributed_table(CAST(? AS REGCLASS), ?, colocate_with => 'none', shard_count => CAST(? AS INTEGER))",
			table, distributionColumn, shards)
	default:
		_, err = s.exec(ctx, "spreading "+table, "SELECT create_distributed_table(CAST(? AS REGCLASS), ?, colocate_with => 'none')", table, distributionColumn)
	}
	return err
}

// ownConnection opens the database at an address without the bounds that nodes have.
func ownConnection(dsn string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errAddress()
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(1)
	return db, nil
}

// spreadTables lists the tables of Tenet with what would keep them from being spread. A unique key must have the project, since each server looks for
// equal values among its own rows only, and so must a foreign key on both sides, since it is checked there. Citus keeps a trigger of its own.
const spreadTables = `WITH own AS (
		SELECT c.oid, quote_ident(c.relname) AS name, (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'project_id' AND NOT attisdropped) AS project
		FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND c.relname NOT LIKE 'goose\_db\_version%'),
	found AS (
		SELECT oid, 'has no column project_id' AS problem FROM own WHERE project IS NULL
		UNION ALL SELECT own.oid, 'unique key ' || i.indexrelid::regclass || ' has no project_id' FROM own JOIN pg_index AS i ON i.indrelid = own.oid
			WHERE (i.indisunique OR i.indisexclusion) AND project IS NOT NULL AND NOT own.project = ANY (i.indkey)
		UNION ALL SELECT own.oid, 'foreign key ' || k.conname || ' has no project_id on both sides' FROM own JOIN pg_constraint AS k ON k.conrelid = own.oid
			WHERE k.contype = 'f' AND project IS NOT NULL AND NOT EXISTS (SELECT 1 FROM unnest(k.conkey, k.confkey) AS pair (here, there)
				JOIN pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = pair.there WHERE pair.here = own.project AND a.attname = 'project_id')
		UNION ALL SELECT own.oid, 'trigger ' || t.tgname FROM own JOIN pg_trigger AS t ON t.tgrelid = own.oid
			WHERE NOT t.tgisinternal AND t.tgname NOT LIKE 'truncate\_trigger\_%')
	SELECT name, oid::bigint, pg_total_relation_size(oid) + COALESCE((SELECT SUM(pg_total_relation_size(relid)) FROM pg_partition_tree(oid) WHERE isleaf), 0)::bigint,
		pg_relation_size(oid) + COALESCE((SELECT SUM(pg_relation_size(relid)) FROM pg_partition_tree(oid) WHERE isleaf), 0)::bigint, COALESCE((SELECT string_agg(problem, E'\n' ORDER BY problem) FROM found WHERE found.oid = own.oid), ''),
		COALESCE((SELECT string_agg(other.name, ' ') FROM pg_constraint AS k JOIN own AS other ON other.oid = k.confrelid
			WHERE k.conrelid = own.oid AND k.contype = 'f' AND k.confrelid <> k.conrelid), '')
	FROM own ORDER BY name`

// readSpread reads the catalogs of a database.
func readSpread(ctx context.Context, s *session) (Spread, error) {
	state := Spread{Nodes: []string{}, Tables: []SpreadTable{}, Problems: []string{}}
	var there bool
	if err := s.row(ctx, "look for Citus", citusThere, nil, &there); err != nil {
		return state, err
	}
	spread := map[int64]string{} // by table, the column
	if there {
		if err := readCluster(ctx, s, &state, spread); err != nil {
			return state, err
		}
	}
	refers, anchored := map[string][]string{}, []string{}
	err := s.each(ctx, "list tables", spreadTables, nil, func(rows *sql.Rows) error {
		t := SpreadTable{Problems: []string{}}
		var oid, own int64
		var problems, to string
		if err := rows.Scan(&t.Name, &oid, &t.Bytes, &own, &problems, &to); err != nil {
			return err
		}
		column, is := spread[oid]
		t.copied = copiedTables[t.Name] != ""
		t.Spread, t.local = is && (t.copied || column == distributionColumn), is && own > 0
		switch {
		case t.copied:
			problems = ""
		case is && !t.Spread:
			problems = "is spread by " + cmp.Or(column, "nothing") + ", not by project_id"
		}
		if problems != "" {
			t.Problems = strings.Split(problems, "\n")
		}
		refers[t.Name] = strings.Fields(to)
		if t.Name != anchorTable {
			anchored = append(anchored, t.Name)
		}
		state.Tables = append(state.Tables, t)
		return nil
	})
	if err != nil {
		return state, err
	}
	if len(anchored) == len(state.Tables) {
		state.Problems = append(state.Problems, "the database has no schema of Tenet; tenet db migrate makes it")
	} else {
		for _, name := range anchored { // their rows lie beside those of the projects
			refers[name] = append(refers[name], anchorTable)
		}
	}
	state.Tables, err = afterTheirs(state.Tables, refers)
	return state, err
}

// citusThere asks whether the database has Citus, and citusSpread whether Tenet's tables are spread.
const (
	citusThere  = "SELECT to_regproc('citus_version') IS NOT NULL"
	citusSpread = "SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('" + anchorTable + "') AND partmethod = 'h')"
)

// readCluster reads the catalogs of Citus.
func readCluster(ctx context.Context, s *session, state *Spread, spread map[int64]string) error {
	var group int
	if err := s.row(ctx, "version of Citus", "SELECT citus_version(), (SELECT max(groupid) FROM pg_dist_local_group)", nil, &state.Citus, &group); err != nil {
		return err
	}
	state.Citus, _, _ = strings.Cut(strings.TrimPrefix(state.Citus, "Citus "), " ")
	if group != 0 {
		state.Problems = append(state.Problems, "this server is a worker of the cluster; use the address of its coordinator")
	}
	err := s.each(ctx, "servers of the cluster", "SELECT nodename, nodeport, isactive FROM pg_dist_node WHERE shouldhaveshards AND noderole = 'primary' ORDER BY nodename, nodeport", nil,
		func(rows *sql.Rows) error {
			var name string
			var port int
			var active bool
			if err := rows.Scan(&name, &port, &active); err != nil {
				return err
			}
			name += ":" + strconv.Itoa(port)
			state.Nodes = append(state.Nodes, name)
			if !active {
				state.Problems = append(state.Problems, "the server "+name+" is not active")
			}
			return nil
		})
	if err != nil {
		return err
	}
	if len(state.Nodes) == 0 {
		state.Problems = append(state.Problems, "the cluster has no server that takes rows: add one with SELECT citus_add_node('HOST', PORT)")
	}
	return s.each(ctx, "tables of the cluster", `SELECT logicalrelid::oid::bigint, COALESCE(column_to_column_name(logicalrelid, partkey), '') FROM pg_dist_partition
		WHERE partmethod = 'h' OR repmodel = 't'`, nil, func(rows *sql.Rows) error {
		var oid int64
		var column string
		err := rows.Scan(&oid, &column)
		spread[oid] = column
		return err
	})
}

// afterTheirs orders tables so that each comes after those that it refers to.
func afterTheirs(tables []SpreadTable, refers map[string][]string) ([]SpreadTable, error) {
	ordered, placed := make([]SpreadTable, 0, len(tables)), map[string]bool{}
	for len(ordered) < len(tables) {
		before := len(ordered)
		for _, t := range tables {
			if !placed[t.Name] && !slices.ContainsFunc(refers[t.Name], func(to string) bool { return !placed[to] }) {
				ordered, placed[t.Name] = append(ordered, t), true
			}
		}
		if len(ordered) == before {
			return nil, errors.New("sqlstore: tables refer to one another in a circle")
		}
	}
	return ordered, nil
}

// findSpread notes whether the tables are spread.
func findSpread(ctx context.Context, s *session) error {
	if !s.d.rowLocks {
		return nil
	}
	var there, spread bool
	err := s.row(ctx, "look for Citus", citusThere, nil, &there)
	if err == nil && there {
		err = s.row(ctx, "look for spread tables", citusSpread, nil, &spread)
	}
	s.d.spread.Store(spread)
	return err
}

// migrateSpread carries out a step on a database whose tables are spread. Citus refuses a new table that refers to a spread one before it is spread, too,
// unless it leaves the statement alone.
func migrateSpread(ctx context.Context, s *session, statements string) error {
	if _, err := s.db.ExecContext(ctx, oneByOne); err != nil {
		return err
	}
	for _, statement := range splitStatements(statements) {
		fields := strings.Fields(statement)
		made := len(fields) > 2 && strings.EqualFold(fields[0], "CREATE") && strings.EqualFold(fields[1], "TABLE")
		if made {
			statement = "SET LOCAL citus.enable_ddl_propagation = off; " + statement + "; SET LOCAL citus.enable_ddl_propagation = on"
		}
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
		if made {
			if err := distribute(ctx, s, fields[2], 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitStatements cuts SQL at its semicolons, except those in comments, quotes and bodies of functions, and leaves comments out.
func splitStatements(text string) []string {
	var list []string
	var one strings.Builder
	end := func() {
		if s := strings.TrimSpace(one.String()); s != "" {
			list = append(list, s)
		}
		one.Reset()
	}
	for text != "" {
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
			one.WriteByte('\n')
		case text[0] == '\'' || strings.HasPrefix(text, "$$"):
			mark := text[:1]
			if text[0] == '$' {
				mark = "$$"
			}
			inside, after, _ := strings.Cut(text[len(mark):], mark)
			one.WriteString(mark + inside + mark)
			text = after
		case text[0] == ';':
			end()
			text = text[1:]
		default:
			one.WriteByte(text[0])
			text = text[1:]
		}
	}
	end()
	return list
}
