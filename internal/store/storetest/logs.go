package storetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func testLogs(t *testing.T, f *fixture) {
	end := func(about string, want store.AuditEnd) {
		t.Helper()
		if got, err := f.s.Logs.End(f.ctx, "p"); err != nil || got != want {
			t.Errorf("%s: end %+v, %v; want %+v", about, got, err, want)
		}
	}
	end("of an empty chain", store.AuditEnd{})
	if ends, err := f.s.Logs.Ends(f.ctx); err != nil || len(ends) > 0 {
		t.Errorf("ends of empty chains: %v, %v", ends, err)
	}
	f.update(func(tx store.Tx) error {
		return tx.Audit.Append(f.ctx, []store.AuditEntry{entryAt(1, nil), entryAt(2, nil)}, map[string]string{"p": "two", "q": "of no entry"})
	})
	two := store.AuditEnd{AuditHead: wire.AuditHead{Seq: 2, Hash: "h2"}, Tree: "two"}
	end("with the tree of the last entry", two)
	f.update(func(tx store.Tx) error {
		ends, err := tx.Audit.LockMany(f.ctx, []string{"p"})
		if diff := cmp.Diff(map[string]store.AuditEnd{"p": two}, ends); err != nil || diff != "" {
			t.Errorf("locked ends: %v (-want +got):\n%s", err, diff)
		}
		return tx.Audit.Append(f.ctx, []store.AuditEntry{entryAt(3, nil)}, nil)
	})
	three := store.AuditEnd{AuditHead: wire.AuditHead{Seq: 3, Hash: "h3"}}
	end("without a tree", three)
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Logs.SetTree(f.ctx, "p", two) })
	three.Tree = "three"
	f.update(func(tx store.Tx) error { return tx.Logs.SetTree(f.ctx, "p", three) })
	end("with a tree that was set", three)
	ends, err := f.s.Logs.Ends(f.ctx)
	if diff := cmp.Diff(map[string]store.AuditEnd{"p": three}, ends); err != nil || diff != "" {
		t.Errorf("ends: %v (-want +got):\n%s", err, diff)
	}
	leaves, err := f.s.Logs.Leaves(f.ctx, "p", 1, 1)
	if diff := cmp.Diff([]wire.AuditHead{{Seq: 2, Hash: "h2"}}, leaves); err != nil || diff != "" {
		t.Errorf("leaves: %v (-want +got):\n%s", err, diff)
	}
	first, err := f.s.Logs.FirstLeaves(f.ctx, []string{"p", "none"}, 2)
	if diff := cmp.Diff(map[string][]wire.AuditHead{"p": {{Seq: 1, Hash: "h1"}, {Seq: 2, Hash: "h2"}}}, first); err != nil || diff != "" {
		t.Errorf("first leaves: %v (-want +got):\n%s", err, diff)
	}
	_, err = f.s.Logs.End(f.ctx, "none")
	code(t, "end of no project", err, rule.CodeNotFound)
}

func testTiles(t *testing.T, f *fixture) {
	hashes := func(b byte, n int) []byte { return bytes.Repeat([]byte{b}, 32*n) }
	put := func(tiles ...store.Tile) {
		t.Helper()
		f.update(func(tx store.Tx) error { return tx.Logs.PutTiles(f.ctx, "p", tiles) })
	}
	tile := func(about string, want store.Tile) {
		t.Helper()
		got, err := f.s.Logs.Tile(f.ctx, "p", want.Level, want.N)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", about, err, diff)
		}
	}
	_, err := f.s.Logs.Tile(f.ctx, "p", 0, 0)
	code(t, "no tile", err, rule.CodeNotFound)
	first, second, above := store.Tile{Hashes: hashes(1, 256)}, store.Tile{N: 1, Hashes: hashes(2, 256)}, store.Tile{Level: 1, Hashes: hashes(3, 1)}
	put(first, second, above)
	tile("first", first)
	tile("above", above)
	longer := store.Tile{Level: 1, Hashes: hashes(4, 2)}
	put(longer)
	tile("a longer one replaces it", longer)
	put(above, store.Tile{Hashes: hashes(9, 256)})
	tile("a shorter one does not", longer)
	tile("nor one of the same length", first)
	tiled, err := f.s.Logs.Tiled(f.ctx)
	if diff := cmp.Diff(map[string]int64{"p": 2}, tiled); err != nil || diff != "" {
		t.Errorf("tiled: %v (-want +got):\n%s", err, diff)
	}
}

func testCheckpoints(t *testing.T, f *fixture) {
	newest := func(about string, size int64, witnessed bool, want store.Checkpoint) {
		t.Helper()
		got, err := f.s.Logs.Checkpoint(f.ctx, "p", size, witnessed)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", about, err, diff)
		}
	}
	none := func(about string, size int64, witnessed bool) {
		t.Helper()
		_, err := f.s.Logs.Checkpoint(f.ctx, "p", size, witnessed)
		code(t, about, err, rule.CodeNotFound)
	}
	none("none yet", 0, false)
	one := store.Checkpoint{ProjectID: "p", Origin: "o", Size: 5, At: at, Note: "one\n", Witnessed: true}
	two := store.Checkpoint{ProjectID: "p", Origin: "o", Size: 9, At: at.Add(time.Hour), Note: "two\n"}
	f.update(func(tx store.Tx) error {
		for _, c := range []store.Checkpoint{one, two, {ProjectID: "q", Origin: "o", Size: 100, At: at}} {
			if err := tx.Logs.PutCheckpoint(f.ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	newest("of all", 0, false, two)
	newest("of those with witnesses", 0, true, one)
	newest("of exactly that size", 9, false, two)
	none("of more entries", 10, false)
	none("of more entries, with witnesses", 6, true)
	two.Witnessed, two.Note = true, "two, cosigned\n"
	f.update(func(tx store.Tx) error { return tx.Logs.PutCheckpoint(f.ctx, two) })
	newest("cosigned later", 6, true, two)
	if got, err := f.s.Logs.CheckpointOf(f.ctx, "p", 5); err != nil || got.Note != one.Note {
		t.Errorf("of 5 entries: %+v, %v", got, err)
	}
	_, err := f.s.Logs.CheckpointOf(f.ctx, "p", 6)
	code(t, "of 6 entries", err, rule.CodeNotFound)
}
