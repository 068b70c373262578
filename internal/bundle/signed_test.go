package bundle_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tenet/internal/bundle"
)

// Frames under a good signature that are cut, hold more than was signed, or are no frames at all are refused without unpacking more than was signed.
func TestFramesThatDoNotFitAreRefused(t *testing.T) {
	s := newServer(t)
	text := encode(t, contents(6_000))
	body := s.pack(head(), text).Body
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	more := w.EncodeAll(make([]byte, 64<<20), nil)
	for about, bad := range map[string][]byte{
		"nothing":           {},
		"cut":               body[:len(body)-1],
		"a bomb behind":     append(bytes.Clone(body), more...),
		"a bomb before":     append(bytes.Clone(more), body...),
		"other bytes":       append(bytes.Clone(body), "more"...),
		"a frame to skip":   append([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0}, body...),
		"a frame is missed": body[:bytes.LastIndex(body, body[:4])],
	} {
		h := head()
		if _, err := bundle.Pack(h, text); err != nil {
			t.Fatal(err)
		}
		h.Size, h.Hash = int64(len(bad)), hashOf(bad)
		if _, err := bundle.Open(bytes.NewReader(s.signed(h, bad).Bytes()), s.trusted(), nil); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", about, err)
		}
	}
	h := head()
	if _, err := bundle.Pack(h, text); err != nil {
		t.Fatal(err)
	}
	h.RawHash = hashOf([]byte("another text"))
	o, err := bundle.Open(bytes.NewReader(s.signed(h, body).Bytes()), s.trusted(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.CheckText(); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("a head whose hash is that of another text: %v", err)
	}
}
