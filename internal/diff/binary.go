package diff

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// binaryPatch is the forward part of a binary patch of git.
type binaryPatch struct {
	line    int // of its first line, which has the kind and the size
	isDelta bool
	data    []byte // unpacked
}

// binaryPatch reads a binary patch: the new content or a delta to it, and then, as a rule, the way back, each ended by an empty
// line. It unpacks the first and checks that each line of the second is payload, so that no other line gets lost in it.
func (p *parser) binaryPatch() (forward *binaryPatch, err error) {
	p.advance()
	for range 2 {
		b := &binaryPatch{line: p.no}
		size, ok := strings.CutPrefix(p.line, "literal ")
		if !ok {
			if size, b.isDelta = strings.CutPrefix(p.line, "delta "); !b.isDelta {
				break
			}
		}
		var packed []byte
		for p.advance(); !p.end && p.line != ""; p.advance() {
			if !isPayload(p.line) {
				return nil, brokenAt(p.no, "%s is no line of the binary patch before it", excerpt(p.line))
			}
			if forward == nil {
				if packed, ok = appendBase85(packed, p.line); !ok {
					return nil, brokenAt(p.no, "%s has characters or values that are not base 85", excerpt(p.line))
				}
			}
		}
		if forward == nil {
			if b.data, err = p.inflate(packed, size); err != nil {
				return nil, brokenAt(b.line, "the binary patch %s", err.Error())
			}
			forward = b
		}
		p.advance()
	}
	return forward, nil
}

// inflate unpacks data that must have a size, given in decimal.
func (p *parser) inflate(packed []byte, size string) ([]byte, error) {
	want, err := strconv.ParseUint(size, 10, 63)
	switch {
	case err != nil:
		return nil, errors.New("has no size")
	case want > uint64(p.bytesLeft):
		return nil, errors.New("brings the content of all binary patches to more than " + strconv.Itoa(MaxBytes>>20) + " MiB; split the diff")
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("is not packed by zlib")
	}
	defer func() { _ = r.Close() }()
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(r, int64(want)+1)); err != nil {
		return nil, errors.New("is damaged or cut off")
	}
	if uint64(out.Len()) != want {
		return nil, errors.New("does not have the size that its first line gives")
	}
	p.bytesLeft -= out.Len()
	return out.Bytes(), nil
}

// unpack gives a file the content in its binary patch. A delta needs the content before the change.
func (p *parser) unpack(f *File, h *header) error {
	b := h.patch
	switch {
	case f.Change == Deleted:
		if !b.isDelta && len(b.data) > 0 {
			return brokenAt(b.line, "the file is deleted, but its binary patch has new content")
		}
		return nil
	case f.NewMode == linkMode || f.NewMode == submoduleMode:
		return nil // its text is a name, and not its content
	case b.isDelta:
		f.Delta = b.data
		f.Unseen = "its content is a binary delta, and the content before it is not given"
		return nil
	case f.NewBlob != "" && !IsBlob(f.NewBlob, b.data):
		return brokenAt(b.line, "the binary patch does not give the content that the index line names")
	}
	f.Fill(b.data)
	for _, hunk := range f.Hunks {
		if p.linesLeft -= len(hunk.Lines); p.linesLeft < 0 {
			return brokenAt(b.line, "the binary patch brings the diff to more than %d lines; split it", MaxLines)
		}
	}
	return nil
}

// isPayload reports whether a line is a letter for its length and 5 characters for every 4 bytes of that length.
func isPayload(line string) bool {
	length := payloadLength(line)
	return length > 0 && len(line) == 1+(length+3)/4*5
}

// payloadLength returns the number of bytes that the first letter of a line gives, or 0 for another character.
func payloadLength(line string) int {
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		return int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 27
	}
	return 0
}

const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85Values has the value of each character, and -1 for those without one.
var base85Values = func() (values [256]int8) {
	for i := range values {
		values[i] = int8(strings.IndexByte(base85, byte(i)))
	}
	return values
}()

// appendBase85 appends the bytes of a payload line.
func appendBase85(dst []byte, line string) ([]byte, bool) {
	length := payloadLength(line)
	var word [4]byte
	for rest := line[1:]; len(rest) >= 5; rest = rest[5:] {
		sum := uint64(0)
		for i := range 5 {
			v := base85Values[rest[i]]
			if v < 0 {
				return dst, false
			}
			sum = sum*85 + uint64(v)
		}
		if sum > 1<<32-1 {
			return dst, false
		}
		binary.BigEndian.PutUint32(word[:], uint32(sum))
		n := min(length, 4)
		dst, length = append(dst, word[:n]...), length-n
	}
	return dst, true
}

// Apply returns the new content of a file with a Delta, given the old one. The error says how the delta and the content do not
// fit.
func (f *File) Apply(old []byte) ([]byte, error) {
	from, rest, ok1 := cutSize(f.Delta)
	to, rest, ok2 := cutSize(rest)
	switch {
	case !ok1 || !ok2:
		return nil, errors.New("the delta is cut off")
	case from != uint64(len(old)):
		return nil, errors.New("the delta is for content of another size")
	case to > MaxBytes:
		return nil, errors.New("the delta makes too much content")
	}
	var out []byte
	for len(rest) > 0 {
		op := rest[0]
		rest = rest[1:]
		var piece []byte
		if op&0x80 == 0 { // so many bytes follow; 0 is reserved
			if op == 0 || int(op) > len(rest) {
				return nil, errors.New("the delta is damaged")
			}
			piece, rest = rest[:op], rest[op:]
		} else { // a copy of old content, whose place and size follow in the bytes that op names
			var at, size uint64
			for bit := range 7 {
				if op&(1<<bit) == 0 {
					continue
				}
				if len(rest) == 0 {
					return nil, errors.New("the delta is cut off")
				}
				if bit < 4 {
					at |= uint64(rest[0]) << (8 * bit)
				} else {
					size |= uint64(rest[0]) << (8 * (bit - 4))
				}
				rest = rest[1:]
			}
			if size == 0 {
				size = 1 << 16
			}
			if at > uint64(len(old)) || size > uint64(len(old))-at {
				return nil, errors.New("the delta copies content that is not there")
			}
			piece = old[at : at+size]
		}
		if uint64(len(out)+len(piece)) > to {
			return nil, errors.New("the delta makes more content than it says")
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != to {
		return nil, errors.New("the delta makes less content than it says")
	}
	return out, nil
}

// cutSize reads a number of a delta: seven bits a byte, the lowest first.
func cutSize(b []byte) (size uint64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 9; i++ {
		size |= uint64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return size, b[i+1:], true
		}
	}
	return 0, nil, false
}
