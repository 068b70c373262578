package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tenet/internal/store"
)

// letters makes text of which compression finds little.
func letters(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 40)) //nolint:gosec // repeatable
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)]
	}
	return b
}

// bodyOf makes a body around two lists, and says where they are.
func bodyOf(id string, verdicts, rules []byte) ([]byte, []Part) {
	b := []byte(`{"identity":{"person":"` + id + `"},"evaluation":{`)
	from := len(b)
	b = append(b, verdicts...)
	parts := []Part{{from, len(b)}}
	b = append(b, `},"subject":"`+id+`",`...)
	from = len(b)
	b = append(b, rules...)
	parts = append(parts, Part{from, len(b)})
	return append(b, '}'), parts
}

// Parts that came before are copied as frames, and every reader reads the body as it was.
func TestPartsThatRepeatAreCompressedOnce(t *testing.T) {
	verdicts, rules, all := letters(1, 9000), letters(2, 3000), newFrames()
	for n := range 5 {
		body, parts := bodyOf(fmt.Sprint("p", n), verdicts, rules)
		packed := all.pack(nil, body, parts)
		for _, part := range parts {
			frame := all.of(body[part.From:part.Until])
			if n >= 2 && (frame == nil || !bytes.Contains(packed, frame)) {
				t.Errorf("body %d does not have the frame of its part of %d bytes", n, part.Until-part.From)
			}
		}
		if plain, err := Decompress(packed); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("body %d unpacks to %.200q: %v", n, plain, err)
		}
		if plain, err := DecompressWithin(packed, int64(len(body)), make([]byte, 10)); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("body %d unpacks within its size to %.200q: %v", n, plain, err)
		}
		if _, err := DecompressWithin(packed, int64(len(body))-1, nil); err == nil {
			t.Errorf("body %d unpacks within less than its size", n)
		}
		if plain, err := Decompress(packed[:len(packed)-1]); err == nil {
			t.Errorf("a body that is cut off unpacks to %d bytes", len(plain))
		}
	}
	// What is first in a body is read from its first frame alone, and from all of them.
	body, parts := bodyOf("ann", verdicts, rules)
	if got := EvaluationIdentity(&store.AuditEntry{Body: all.pack(nil, body, parts)}); got == nil || got.Person != "ann" {
		t.Errorf("the identity is %+v", got)
	}
}

// A part that came once, a short one and a long one stay in the frame of the rest, and the memory stays within its bounds.
func TestFramesAreBounded(t *testing.T) {
	body, all := letters(3, 5000), newFrames()
	if once := all.pack(nil, body, []Part{{100, 4000}}); !bytes.Equal(once, Compress(body)) {
		t.Error("a part that came once has a frame of its own")
	}
	for range 3 {
		if all.of(letters(4, minPart-1)) != nil || all.of([]byte(strings.Repeat("x", maxPart+1))) != nil {
			t.Fatal("a part that is too small or too large has a frame")
		}
	}
	held := func() (n int) {
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, half := range []map[uint64]packedPart{all.newer, all.older} {
			for _, one := range half {
				n += len(one.text) + len(one.frame)
			}
		}
		return n
	}
	var tasks sync.WaitGroup
	for task := range uint64(4) {
		tasks.Go(func() {
			for i := range uint64(200) {
				part := letters(1000+i%150+task%2*1000, 20_000)
				for range 2 {
					if frame := all.of(part); frame != nil {
						if plain, err := Decompress(frame); err != nil || !bytes.Equal(plain, part) {
							t.Errorf("a frame is of another part: %v", err)
							return
						}
					}
				}
			}
		})
	}
	tasks.Wait()
	if n := held(); n > 2*partsBytes {
		t.Errorf("%d bytes are kept, more than %d", n, 2*partsBytes)
	}
}

// BenchmarkCompress compresses bodies of evaluations by the same rules, which differ in all but their lists, with and without frames of their own for these.
func BenchmarkCompress(b *testing.B) {
	bodies := make([][]byte, 64)
	parts := make([][]Part, len(bodies))
	for i := range bodies {
		body := TypicalBody(b, i)
		verdicts, after := bytes.Index(body, []byte(`"rule_verdicts":`)), bytes.Index(body, []byte(`,"violations":`))
		rules := bytes.LastIndex(body, []byte(`"rules":[`))
		bodies[i], parts[i] = body, []Part{{verdicts, after}, {rules, len(body)}}
	}
	for name, of := range map[string][][]Part{"whole": make([][]Part, len(bodies)), "parts": parts} {
		b.Run(name, func(b *testing.B) {
			i, size := 0, 0
			for b.Loop() {
				size += len(compress(bodies[i%len(bodies)], of[i%len(bodies)]))
				i++
			}
			b.ReportMetric(float64(size)/float64(i), "bytes/body")
		})
	}
}
