package corpus

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"tenet/internal/rule"
)

// Texts keeps the encoded form of rules that were asked for lately, so that a list of thousands costs the copying of its bytes. A rule that changes gets another
// entry, and so another text. The memory has two halves: when one is full, the other is given up, and what is still asked for is encoded again.
// No text holds on to a rule or a view.
type Texts struct {
	encode func(b []byte, r *rule.Rule) []byte
	half   int        // bytes of each half
	mu     sync.Mutex // held while a text is added
	at     atomic.Pointer[halves]
	free   int    // where the next text goes in the newer half
	buffer []byte // the text that is being added
}

// halves are the two parts of the memory. Written bytes never change.
type halves struct{ newer, older half }

type half struct {
	number uint32 // no other half of the process has it; 0 for none
	bytes  []byte
}

// halfNumber numbers the halves of all Texts, since entries remember where their text is.
var halfNumber atomic.Uint32

// NewTexts makes a Texts that keeps at most so many bytes; lists that are read keep theirs for as long. Nothing is taken before the first text.
func NewTexts(limit int, encode func(b []byte, r *rule.Rule) []byte) *Texts {
	return &Texts{encode: encode, half: limit / 2}
}

// lengthBytes precede a text, with its length.
const lengthBytes = 4

// Of returns the text of the entry's rule. It must not be changed.
func (t *Texts) Of(e *Entry) []byte {
	if text := t.kept(e); text != nil {
		return text
	}
	return t.add(e)
}

// kept returns the text of the entry's rule; nil if there is none, or none any more.
func (t *Texts) kept(e *Entry) []byte {
	place := e.text.Load()
	if at := t.at.Load(); at != nil && place != 0 {
		for _, h := range [...]*half{&at.newer, &at.older} {
			if h.number == uint32(place>>32) {
				from := h.bytes[uint32(place):] //nolint:gosec // the lower half of the place
				return from[lengthBytes : lengthBytes+binary.LittleEndian.Uint32(from)]
			}
		}
	}
	return nil
}

// add encodes the rule and keeps the text.
func (t *Texts) add(e *Entry) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := t.kept(e); text != nil { // another has added it
		return text
	}
	t.buffer = t.encode(t.buffer[:0], e.Rule)
	needs := lengthBytes + len(t.buffer)
	if needs > t.half/64 { // it would push out many others
		text := t.buffer
		t.buffer = nil
		return text
	}
	at := t.at.Load()
	if at == nil || t.free+needs > t.half {
		next := &halves{newer: half{number: halfNumber.Add(1), bytes: make([]byte, t.half)}}
		if at != nil {
			next.older = at.newer
		}
		at, t.free = next, 0
		t.at.Store(at)
	}
	to := at.newer.bytes[t.free : t.free+needs]
	binary.LittleEndian.PutUint32(to, uint32(len(t.buffer))) //nolint:gosec // at most a part of a half
	copy(to[lengthBytes:], t.buffer)
	e.text.Store(uint64(at.newer.number)<<32 | uint64(t.free)) //nolint:gosec // within a half
	t.free += needs
	return to[lengthBytes:]
}
