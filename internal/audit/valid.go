package audit

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// maxDepth bounds how deep objects and arrays of a body lie in each other.
const maxDepth = 10_000

// Records repeat each other: the verdicts of a rule differ little from record to record. So a validator remembers objects that lay in lists, up to maxLength bytes each, in
// one of places, by their first keyLength bytes. An object that is as long as what it remembers ends after its own brackets, wherever it lies.
const (
	places    = 1 << 11
	keyLength = 64
	maxLength = 2 << 10
)

// validator checks bodies against the grammar of JSON (RFC 8259), ignoring duplicate names and the encoding of texts.
type validator struct {
	// within says of each open object or array, a bit each, whether it is an object.
	within [(maxDepth + 64) / 64]uint64
	seen   [places][]byte
}

// valid reports whether bytes are one JSON value with blanks around it.
func (v *validator) valid(b []byte) bool { return v.walk(b, nil) }

// walk is valid, and calls member, if not nil, with each member of an outermost object: its name as it is written, and its value. What follows the member
// may turn out to be invalid.
func (v *validator) walk(b []byte, member func(name, value []byte)) bool {
	depth := 0
	nameAt, valueAt := 0, 0 // of the member of an outermost object
	object := -1            // where the object begins that is to be remembered, at the depth of objectDepth
	objectDepth := 0
	i := blanks(b, 0)
	for {
		// A value begins at i.
		if i >= len(b) {
			return false
		}
		switch c := b[i]; {
		case c == '"':
			if i = stringEnd(b, i+1); i < 0 {
				return false
			}
		case c == '{' || c == '[':
			if c == '{' && object < 0 && depth > 0 && depth < maxDepth-maxLength && !v.isObject(depth) {
				if n := v.known(b[i:]); n > 0 {
					i += n
					break
				}
				object, objectDepth = i, depth
			}
			if depth == maxDepth {
				return false
			}
			start := blanks(b, i+1)
			if start < len(b) && b[start] == c+2 { // } follows { by two, and ] follows [
				i = start + 1
				if object >= 0 && depth == objectDepth {
					object = -1
				}
				break
			}
			bit := uint64(1) << (depth % 64)
			v.within[depth/64] &^= bit
			if i = start; c == '{' {
				v.within[depth/64] |= bit
				if i = nameEnd(b, i); i < 0 {
					return false
				}
				if depth == 0 {
					nameAt, valueAt = start, i
				}
			}
			depth++
			continue
		case c == '-' || c-'0' <= 9:
			if i = numberEnd(b, i); i < 0 {
				return false
			}
		default:
			if i = literalEnd(b, i); i < 0 {
				return false
			}
		}
		// A value ended before i, and maybe those around it.
		for {
			if member != nil && depth == 1 && v.isObject(1) {
				member(b[nameAt+1:stringEnd(b, nameAt+1)-1], b[valueAt:i])
			}
			i = blanks(b, i)
			if depth == 0 {
				return i == len(b)
			}
			if i >= len(b) {
				return false
			}
			inObject := v.isObject(depth)
			if b[i] == ',' {
				i = blanks(b, i+1)
				if inObject {
					name := i
					if i = nameEnd(b, i); i < 0 {
						return false
					}
					if depth == 1 {
						nameAt, valueAt = name, i
					}
				}
				break
			}
			if inObject && b[i] != '}' || !inObject && b[i] != ']' {
				return false
			}
			depth--
			i++
			if object >= 0 && depth == objectDepth {
				v.remember(b[object:i])
				object = -1
			}
		}
	}
}

// isObject reports whether the innermost of open objects and arrays is an object.
func (v *validator) isObject(depth int) bool {
	return v.within[(depth-1)/64]>>((depth-1)%64)&1 == 1
}

// known returns the length of the object that bytes begin with, if the validator remembers it; else 0.
func (v *validator) known(b []byte) int {
	if len(b) < keyLength {
		return 0
	}
	seen := *v.place(b)
	if len(seen) == 0 || !bytes.HasPrefix(b, seen) {
		return 0
	}
	return len(seen)
}

// remember remembers a valid object.
func (v *validator) remember(object []byte) {
	if len(object) < keyLength || len(object) > maxLength {
		return
	}
	at := v.place(object)
	*at = append((*at)[:0], object...)
}

// place returns the place of an object.
func (v *validator) place(object []byte) *[]byte {
	var h uint64
	for i := 0; i < keyLength; i += 8 {
		h = (h ^ binary.LittleEndian.Uint64(object[i:])) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return &v.seen[h%places]
}

// blanks returns the place of the first byte from i on that is not white space.
func blanks(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// nameEnd returns where the value of the member begins whose name begins at i; -1 if there is none.
func nameEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = stringEnd(b, i+1); i < 0 {
		return -1
	}
	if i = blanks(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return blanks(b, i+1)
}

// stringEnd returns the place behind the string whose text begins at i; -1 if it is none.
func stringEnd(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for {
		// Eight bytes at a time: the lowest high bit marks the first quote, backslash or control character.
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			special := ((w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) &^ w & highs
			if special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		switch {
		case i >= len(b):
			return -1
		case b[i] == '"':
			return i + 1
		case b[i] != '\\' || i+1 >= len(b):
			return -1
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i += 6; i > len(b) || !hexDigits(b[i-4:i]) {
				return -1
			}
		default:
			return -1
		}
	}
}

func hexDigits(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 && c|0x20-'a' > 5 {
			return false
		}
	}
	return true
}

// numberEnd returns the place behind the number that begins at i; -1 if it is none.
func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	default:
		if i = digitsEnd(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i
}

// digitsEnd returns the place behind the digits that begin at i; -1 if there are none.
func digitsEnd(b []byte, i int) int {
	from := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// literalEnd returns the place behind the literal that begins at i; -1 if it is none.
func literalEnd(b []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}
