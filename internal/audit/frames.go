package audit

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// Part is a part of a body, from one byte until before another.
type Part struct{ From, Until int }

// Frames of zstd that follow each other unpack to their texts one after the other. So a part that many bodies have byte for byte, such as the list of the
// rules that an evaluation went by, is compressed once, as a frame of its own, and copied into each body.
const (
	minPart = 1 << 10 // bytes; a smaller part gains little
	maxPart = 64 << 10
	// partsBytes bounds each of the two halves of the memory, parts and frames together.
	partsBytes = 1 << 20
	// onceGroups groups of onceParts each are the parts that came once: parts whose hashes are in one group displace each other only beyond that.
	onceGroups, onceParts = 1 << 8, 4
)

// frames remembers the frames of parts that came at least twice. If one half of the memory is full, the other is given up.
type frames struct {
	mu           sync.Mutex
	seed         maphash.Seed
	once         [onceGroups][onceParts]uint64 // hashes, the last one first
	newer, older map[uint64]packedPart
	bytes        int // of the newer half
}

// packedPart is a part with its frame. Neither changes.
type packedPart struct{ text, frame []byte }

// repeated has the frames of parts of evaluations.
var repeated = newFrames()

func newFrames() *frames { return &frames{seed: maphash.MakeSeed(), newer: map[uint64]packedPart{}} }

// of returns the frame of a part; nil for one that is too small or too large, or that did not come before.
func (f *frames) of(part []byte) []byte {
	if len(part) < minPart || len(part) > maxPart {
		return nil
	}
	h := maphash.Bytes(f.seed, part)
	found, again := f.find(h, part)
	if found != nil || !again {
		return found
	}
	one := packedPart{bytes.Clone(part), bytes.Clone(encoder.EncodeAll(part, nil))}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(h, one)
	return one.frame
}

// find returns the frame of a part with a hash, and whether the part came before.
func (f *frames) find(h uint64, part []byte) (frame []byte, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.newer[h]; ok && bytes.Equal(one.text, part) {
		return one.frame, true
	}
	if one, ok := f.older[h]; ok && bytes.Equal(one.text, part) {
		f.keep(h, one)
		return one.frame, true
	}
	group := &f.once[h%onceGroups]
	if slices.Contains(group[:], h) {
		return nil, true
	}
	copy(group[1:], group[:])
	group[0] = h
	return nil, false
}

// keep puts a part into the newer half, which f.mu guards.
func (f *frames) keep(h uint64, one packedPart) {
	n := len(one.text) + len(one.frame)
	if f.bytes+n > partsBytes {
		f.newer, f.older, f.bytes = map[uint64]packedPart{}, f.newer, 0
	}
	if before, ok := f.newer[h]; ok {
		f.bytes -= len(before.text) + len(before.frame)
	}
	f.newer[h] = one
	f.bytes += n
}

// pack appends a body in frames: parts that came before have one of their own, and what is between them too.
func (f *frames) pack(out, body []byte, parts []Part) []byte {
	from := 0
	for _, p := range parts {
		frame := f.of(body[p.From:p.Until])
		if frame == nil {
			continue
		}
		if p.From > from {
			out = encoder.EncodeAll(body[from:p.From], out)
		}
		out, from = append(out, frame...), p.Until
	}
	if from < len(body) {
		out = encoder.EncodeAll(body[from:], out)
	}
	return out
}
