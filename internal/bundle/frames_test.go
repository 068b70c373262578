package bundle_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tenet/internal/bundle"
)

// A text of several frames comes back whole, and readers that know of one frame only read it as well.
func TestALongTextIsPackedInFrames(t *testing.T) {
	s := newServer(t)
	text := encode(t, contents(6_000))
	if len(text) < 2<<20 {
		t.Fatalf("the text has %d bytes; more than two frames are wanted", len(text))
	}
	f := s.pack(head(), text)
	o, err := bundle.Open(bytes.NewReader(f.Bytes()), s.trusted(), nil)
	if err != nil || !bytes.Equal(o.Text, text) {
		t.Fatalf("opened: %v", err)
	}
	if err := o.CheckText(); err != nil {
		t.Error(err)
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if plain, err := r.DecodeAll(f.Body, nil); err != nil || !bytes.Equal(plain, text) {
		t.Errorf("a plain reader: %v", err)
	}
	body, err := bundle.Pack(head(), text)
	if err != nil || !bytes.Equal(body, f.Body) {
		t.Errorf("packed again it differs: %v", err)
	}
}

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
