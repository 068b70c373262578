package audit_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tenet/internal/audit"
)

func TestBytesFromOutsideUnpackWithinALimit(t *testing.T) {
	t.Parallel()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := make([]byte, 10<<20)
	packed := w.EncodeAll(plain, nil)
	if out, err := audit.DecompressWithin(packed, 1<<20, nil); err == nil || len(out) > 1<<20+1 {
		t.Errorf("%d bytes of %d unpacked to %d within a limit of %d: %v", len(packed), len(plain), len(out), 1<<20, err)
	}
	if out, err := audit.DecompressWithin(packed, int64(len(plain)), nil); err != nil || !bytes.Equal(out, plain) {
		t.Errorf("%d bytes within their own size: %v", len(out), err)
	}
	if _, err := audit.DecompressWithin(packed[:len(packed)-1], int64(len(plain)), nil); err == nil {
		t.Error("what was cut off unpacks")
	}
	if _, err := audit.DecompressWithin(packed, 0, nil); err == nil {
		t.Error("something unpacks within nothing")
	}
}
