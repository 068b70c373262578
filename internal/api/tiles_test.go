package api

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/store"
)

// Anybody with the role viewer can rebuild the tree from what is served below /audit/{project}/.
func TestTilesAreServedAsFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.makeProject("pay")
		end, err := n.store.Logs.End(t.Context(), "pay")
		if err != nil || end.Seq == 0 {
			t.Fatalf("end %+v, %v; want an entry about the new project", end, err)
		}
		get := func(file string, status int) string {
			t.Helper()
			a := n.call("GET", "/audit/pay/"+file, nil)
			if a.status != status {
				t.Errorf("%s: status %d, want %d: %s", file, a.status, status, a.body)
			}
			if status == http.StatusOK && file != "checkpoint" && !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: cached as %q", file, a.header.Get("Cache-Control"))
			}
			return string(a.body)
		}
		tile := get("tile/0/000.p/1", http.StatusOK)
		bundle := get("tile/entries/000.p/1", http.StatusOK)
		if len(bundle) != 34 {
			t.Fatalf("a bundle of %d bytes, want the record of one entry", len(bundle))
		}
		if leaf := tlog.RecordHash([]byte(bundle[2:])); string(leaf[:]) != tile {
			t.Errorf("the entry hashes to %v, the tile has %s", leaf, base64.StdEncoding.EncodeToString([]byte(tile)))
		}
		for _, none := range []string{
			"checkpoint", "tile/0/000.p/200", "tile/0/001", "tile/1/000.p/1", "tile/0/0", "tile/00/000", "tile/-1/000", "tile/data/000.p/1", "tile/entries/000",
			"tile/entries/x001/000", "tile", "tile/0/000.p/0", "other", "tile/0/" + strings.Repeat("x000/", 30) + "000", "tile/8/0/000",
		} {
			get(none, http.StatusNotFound)
		}
		err = n.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.Logs.PutCheckpoint(t.Context(), store.Checkpoint{ProjectID: "pay", Origin: "o", Size: 1, At: time.Now(), Note: "signed\n"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := get("checkpoint", http.StatusOK); got != "signed\n" {
			t.Errorf("checkpoint %q", got)
		}
	})
}
