package evidence_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// opened is a store with the project p, and the means to change its rows behind its back.
type opened struct {
	store.Store
	driver, source string
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, s opened)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (opened, error){
		"SQLite": func(t *testing.T) (opened, error) {
			dir := t.TempDir()
			s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			return opened{s, "sqlite", filepath.Join(dir, sqlstore.FileName)}, err
		},
		"PostgreSQL": func(t *testing.T) (opened, error) {
			dsn := pgtest.DSN(t)
			s, err := sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{})
			return opened{s, "pgx", dsn}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			s.project(t, "p")
			test(t, s)
		})
	}
}

func (s opened) project(t *testing.T, id string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: id, Name: id, CreatedAt: time.Now(), UpdatedAt: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tamper changes the database as somebody with access to it could.
func (s opened) tamper(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open(s.driver, s.source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// append appends n entries to a chain.
func (s opened) append(t *testing.T, projectID string, n int) {
	t.Helper()
	for n > 0 {
		records := make([]audit.Record, min(n, 500))
		for i := range records {
			records[i] = audit.Record{Kind: audit.KindEvaluation, At: time.Now(), Actor: "ann", Verdict: "DENY", Mode: "preflight", Body: fmt.Appendf(nil, `{"n":%d}`, n-i)}
		}
		err := s.Update(t.Context(), func(tx store.Tx) error { return audit.Append(t.Context(), tx, projectID, records...) })
		if err != nil {
			t.Fatal(err)
		}
		n -= len(records)
	}
}

// reference computes all hashes of a project's tree from its entries, as the library does.
func (s opened) reference(t *testing.T, projectID string) (size int64, _ tlog.HashReader) {
	t.Helper()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			list[i] = stored[x]
		}
		return list, nil
	})
	heads, err := s.Logs.Leaves(t.Context(), projectID, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range heads {
		record, err := tree.Record(h.Hash)
		if err != nil {
			t.Fatal(err)
		}
		more, err := tlog.StoredHashes(int64(i), record, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	return int64(len(heads)), reader
}

func (s opened) storeTiles(t *testing.T) {
	t.Helper()
	err := evidence.NewTiler(evidence.NewLog(s.Logs), s).Handle(t.Context(), wire.Job{}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
}

// checkTiles compares all tiles of a tree, and its front, with the library's.
func (s opened) checkTiles(t *testing.T, about string) {
	t.Helper()
	size, reader := s.reference(t, "p")
	log := evidence.NewLog(s.Logs)
	for _, tile := range tlog.NewTiles(tree.Height, 0, size) {
		want, err := tlog.ReadTileData(tile, reader)
		if err != nil {
			t.Fatal(err)
		}
		got, err := log.Tile(t.Context(), "p", tile.L, tile.N, tile.W)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: tile %s: %d bytes, %v; want %d other bytes", about, tile.Path(), len(got), err, len(want))
		}
	}
	root, err := tlog.TreeHash(size, reader)
	if err != nil {
		t.Fatal(err)
	}
	front, err := log.Front(t.Context(), "p", size)
	if err != nil || front.Root() != root {
		t.Errorf("%s: front by tiles: %v, %v; want %v", about, front.Root(), err, root)
	}
	end, err := s.Logs.End(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := tree.ParseFront(end.Seq, end.Tree)
	if err != nil || kept.Root() != root {
		t.Errorf("%s: front in the transaction of the entries: %v, %v; want %v", about, kept.Root(), err, root)
	}
}

func TestTilesAreThoseOfTheEntries(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		s.append(t, "p", 200)
		s.checkTiles(t, "before the first full tile")
		s.append(t, "p", 600)
		s.checkTiles(t, "before a job has stored tiles")
		s.storeTiles(t)
		s.append(t, "p", 700)
		s.checkTiles(t, "with some tiles stored")
		s.storeTiles(t)
		s.storeTiles(t)
		s.checkTiles(t, "with all tiles stored")
		tiled, err := s.Logs.Tiled(t.Context())
		if err != nil || tiled["p"] != 5 {
			t.Errorf("%v full tiles, %v; want 5", tiled, err)
		}
		for _, none := range []struct {
			level int
			n     int64
			width int
		}{{0, 5, 221}, {0, 6, 1}, {1, 0, 6}, {2, 0, 1}, {-1, 0, 1}, {0, -1, 1}, {0, 0, 257}, {0, 1 << 60, 1}, {9, 0, 1}} {
			if _, err := evidence.NewLog(s.Logs).Tile(t.Context(), "p", none.level, none.n, none.width); rule.CodeOf(err) != rule.CodeNotFound {
				t.Errorf("tile %+v: %v, want not_found", none, err)
			}
		}
	})
}

// ended is a job that is ended after some rounds.
func ended(t *testing.T, rounds int) (context.Context, func(int, int)) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, func(int, int) {
		if rounds--; rounds == 0 {
			cancel()
		}
	}
}

// The chain of an older version gets its tree in the background: entries come meanwhile, the job is ended and goes on.
func TestChainsOfOlderVersionsGetTrees(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		s.append(t, "p", 64*tree.Width+500)
		s.tamper(t, "UPDATE audit_heads SET tree = ''")
		s.append(t, "p", 3)
		if end, err := s.Logs.End(t.Context(), "p"); err != nil || end.Tree != "" {
			t.Fatalf("end %+v, %v; want no tree before the job has run", end, err)
		}
		ctx, progress := ended(t, 1)
		if err := evidence.NewTiler(evidence.NewLog(s.Logs), s).Handle(ctx, wire.Job{}, progress); err == nil {
			t.Fatal("the job was not ended")
		}
		tiled, err := s.Logs.Tiled(t.Context())
		if err != nil || tiled["p"] != 64 {
			t.Fatalf("%v tiles, %v; want those of one transaction", tiled, err)
		}
		s.storeTiles(t)
		s.checkTiles(t, "after the job")
		s.append(t, "p", 9)
		s.checkTiles(t, "with more entries")
	})
}

func TestMissingEntriesGetNoTree(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		s.append(t, "p", 300)
		s.tamper(t, "UPDATE audit_heads SET tree = ''", "DELETE FROM audit_entries WHERE seq = 290")
		err := evidence.NewTiler(evidence.NewLog(s.Logs), s).Handle(t.Context(), wire.Job{}, func(int, int) {})
		if err == nil {
			t.Error("a chain with a gap got a tree")
		}
	})
}

func TestBundlesHashToTheTiles(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		s.append(t, "p", 300)
		log := evidence.NewLog(s.Logs)
		for n, width := range []int{256, 44} {
			bundle, err := log.Bundle(t.Context(), "p", int64(n), width)
			if err != nil {
				t.Fatal(err)
			}
			tile, err := log.Tile(t.Context(), "p", 0, int64(n), width)
			if err != nil {
				t.Fatal(err)
			}
			for i := range width {
				size := int(bundle[0])<<8 | int(bundle[1])
				if leaf := tlog.RecordHash(bundle[2 : 2+size]); !bytes.Equal(leaf[:], tile[i*tlog.HashSize:(i+1)*tlog.HashSize]) {
					t.Fatalf("entry %d of bundle %d does not hash to its leaf", i, n)
				}
				bundle = bundle[2+size:]
			}
			if len(bundle) > 0 {
				t.Errorf("%d bytes follow the bundle", len(bundle))
			}
		}
		if _, err := log.Bundle(t.Context(), "p", 1, 45); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("beyond the end: %v", err)
		}
	})
}
