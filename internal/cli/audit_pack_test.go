package cli

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cutting is a server that breaks the connection in the middle of a pack.
type cutting struct {
	pack []byte
	// piece is how many bytes it sends before it breaks a connection, and healthy after how many requests it no longer does.
	piece, healthy int

	mu      sync.Mutex
	offsets []int
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/audit/log"):
		_, _ = fmt.Fprint(w, `{"project_id":"default","origin":"o","size":9,"keys":[],"checkpoint":{"size":9,"at":"2026-10-01T12:00:00Z","witnessed":true,"note":"n"},"policy":""}`)
		return
	case !strings.HasSuffix(r.URL.Path, "/audit/export"):
		_, _ = fmt.Fprint(w, `{}`)
		return
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	c.mu.Lock()
	c.offsets = append(c.offsets, offset)
	healthy := len(c.offsets) > c.healthy
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/zip")
	rest := c.pack[offset:]
	if healthy {
		_, _ = w.Write(rest)
		return
	}
	_, _ = w.Write(rest[:min(c.piece, len(rest))])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestAPackGoesOnWhereItsConnectionBroke(t *testing.T) {
	random := make([]byte, 300_000)
	_, _ = rand.Read(random)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(random); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "pack.zip")
	export := func(s *httptest.Server) (int, string) {
		code, _, errs := runIn(t.Context(), t, "", nil, "audit", "export", "--from", "2026-10-01", "--format", "pack", "-o", out, "--server", s.URL)
		return code, errs
	}
	// Two breaks: the command goes on each time where it was.
	c := &cutting{pack: b.Bytes(), piece: 100_000, healthy: 2}
	s := httptest.NewServer(c)
	defer s.Close()
	if code, errs := export(s); code != 0 || !strings.Contains(errs, "the connection broke; going on") {
		t.Fatalf("exits with %d and %s", code, errs)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Fatalf("%d bytes of %d, %v", len(got), b.Len(), err)
	}
	if fmt.Sprint(c.offsets) != "[0 100000 200000]" {
		t.Errorf("asked from %v", c.offsets)
	}
	// A server that does not come back: the command ends, and the same command goes on later.
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.offsets, c.piece, c.healthy = nil, 70_000, 1
	c.mu.Unlock()
	gone := &cutting{pack: b.Bytes()[:70_000], piece: 70_000, healthy: 99}
	d := httptest.NewServer(gone)
	code, errs := export(d)
	d.Close()
	if code == 0 || !strings.Contains(errs, "run the same command again to continue after 70000 bytes") {
		t.Fatalf("exits with %d and %s", code, errs)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a part has the name of the pack")
	}
	c.mu.Lock()
	c.healthy = 0
	c.mu.Unlock()
	if code, errs := export(s); code != 0 {
		t.Fatalf("exits with %d and %s", code, errs)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, b.Bytes()) || fmt.Sprint(c.offsets) != "[70000]" {
		t.Errorf("%d bytes of %d, asked from %v, %v", len(got), b.Len(), c.offsets, err)
	}
}
