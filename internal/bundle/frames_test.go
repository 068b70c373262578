package bundle

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestFramesAreWhatTheDecoderSees: a text of several frames comes back as it was, also from a decoder that knows nothing of them; and a body cut or changed
// anywhere never gives another text of the size that was signed.
func TestFramesAreWhatTheDecoderSees(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	text := bytes.Repeat([]byte("all of it alike "), window/16*2) // blocks of one byte repeated, and of references
	for i := window / 2; i < window+5; i++ {
		text[i] = byte(random.IntN(256))
	}
	text = append(text, make([]byte, 300_000)...)
	body, err := compress(text)
	if err != nil {
		t.Fatal(err)
	}
	frames, size, err := framesOf(body, int64(len(text)))
	if err != nil || len(frames) != 9 || size != int64(len(text)) {
		t.Fatalf("%d frames of %d bytes, %v", len(frames), size, err)
	}
	got, err := decompress(body, int64(len(text)))
	if err != nil || !bytes.Equal(got, text) {
		t.Fatalf("another text: %v", err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err = d.DecodeAll(body, nil); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("another text of a plain decoder: %v", err)
	}
	if _, err = decompress(body, int64(len(text))-1); err == nil {
		t.Error("more text than the limit")
	}
	for range 300 {
		cut := random.IntN(len(body))
		if got, err = decompress(body[:cut], int64(len(text))); err == nil && len(got) == len(text) {
			t.Fatalf("cut at %d it is whole", cut)
		}
	}
	small, err := compress(bytes.Repeat([]byte("the rules of this organisation; "), 40))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := decompress(small, 1280)
	if err != nil {
		t.Fatal(err)
	}
	for i := range small {
		for bit := range 8 {
			changed := bytes.Clone(small)
			changed[i] ^= 1 << bit
			if got, err := decompress(changed, 1280); err == nil && len(got) == len(whole) && !bytes.Equal(got, whole) {
				t.Fatalf("byte %d, bit %d: another text", i, bit)
			}
		}
	}
}

// TestFramesOfOtherKindsAreRefused: frames that are skipped, or do not say their size, hold nothing that was signed.
func TestFramesOfOtherKindsAreRefused(t *testing.T) {
	var streamed bytes.Buffer
	w, err := zstd.NewWriter(&streamed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Write(bytes.Repeat([]byte("x"), 100_000)); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"no size": streamed.Bytes(),
		"skipped": {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4},
		"noise":   []byte("no frame at all"),
	} {
		if _, err := decompress(body, 1<<20); err == nil {
			t.Errorf("%s: unpacked", name)
		}
	}
}
