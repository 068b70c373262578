package pack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/store"
)

// TestMemoryDoesNotGrowWithAPack writes and checks packs of two sizes: a record more takes no memory more. TENET_PACK is the size of the larger one.
func TestMemoryDoesNotGrowWithAPack(t *testing.T) {
	n := 3000
	if s := os.Getenv("TENET_PACK"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	small, large := memoryOf(t, n/10), memoryOf(t, n)
	for about, grown := range map[string]int64{"writing": large.writing - small.writing, "checking": large.checking - small.checking} {
		t.Logf("%s %d records takes %d KiB more than %d: %.2f bytes a record", about, n, grown>>10, n/10, float64(grown)/float64(n-n/10))
		// A list of the entries would take some 500 bytes a record; the collector leaves some hundred KiB.
		if grown > 1<<20+8*int64(n-n/10) {
			t.Errorf("%s %d records takes %d bytes more than %d", about, n, grown, n/10)
		}
	}
}

// memory is the most that is in use, in bytes.
type memory struct{ writing, checking int64 }

func heap() int64 {
	var m runtime.MemStats
	runtime.GC() // leaves what pools have held since the one before
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below the bound
}

// watched measures while a pack is read.
type watched struct {
	io.ReaderAt

	reads, every int
	peak         *int64
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	if w.reads++; w.reads%w.every == 0 {
		*w.peak = max(*w.peak, heap())
	}
	return w.ReaderAt.ReadAt(b, at)
}

func memoryOf(t *testing.T, n int) (used memory) {
	t.Helper()
	l := newLog(t, 1, 0)
	one := l.entries[0]
	// each makes the same log again, so that nothing holds it.
	each := func(fn func(*store.AuditEntry) error) error {
		prev := ""
		for i := range n {
			e := one
			e.Seq, e.ID, e.At, e.PrevHash = int64(i+1), fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", i), at.Add(time.Duration(i)*time.Second), prev
			e.Hash = audit.Hash(e)
			prev = e.Hash
			if err := fn(&e); err != nil {
				return err
			}
		}
		return nil
	}
	hashes, err := os.Create(filepath.Join(t.TempDir(), "leaves"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hashes.Close() }()
	var edge tree.Front
	buffered := bufio.NewWriter(hashes)
	err = each(func(e *store.AuditEntry) error {
		leaf, err := tree.Leaf(e.Hash)
		edge.Append(leaf)
		_, errWrite := buffered.Write(leaf[:])
		return errors.Join(err, errWrite)
	})
	note, errSign := checkpoint.Sign(t.Context(), l.keys, checkpoint.Checkpoint{Origin: "example.com/tenet/p", Size: int64(n), Root: edge.Root()})
	if err := errors.Join(err, errSign, buffered.Flush()); err != nil {
		t.Fatal(err)
	}
	s := l.source(t, 0)
	s.Checkpoint = store.Checkpoint{ProjectID: "p", Size: int64(n), At: at, Note: note}
	s.Each = func(_ context.Context, fn func(*store.AuditEntry, bool) error) error {
		return each(func(e *store.AuditEntry) error {
			if e.Seq%int64(max(1, n/10)) == 0 {
				used.writing = max(used.writing, heap())
			}
			return fn(e, false)
		})
	}
	s.Leaves = func(_ context.Context, after int64, count int) ([]tree.Hash, error) {
		out := make([]tree.Hash, count)
		for i := range out {
			if _, err := hashes.ReadAt(out[i][:], 32*(after+int64(i))); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "pack.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	begin := time.Now()
	if err := Write(t.Context(), file, s); err != nil {
		t.Fatal(err)
	}
	written := time.Since(begin)
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	got, err := Check(&watched{ReaderAt: file, every: max(1, int(info.Size()/4096/10)), peak: &used.checking}, info.Size(), l.policy)
	if err != nil || got.Manifest.Figures.Entries != n || len(got.Unproven) > 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	t.Logf("%d records: %d MiB, written in %s, checked in %s", n, info.Size()>>20, written.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	return used
}
