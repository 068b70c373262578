package check

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// byteSet is a set of bytes.
type byteSet struct {
	in     [256]bool
	weight int // how common its bytes are in text
}

func (b *byteSet) add(r rune) {
	if r >= utf8.RuneSelf {
		for c := utf8.RuneSelf; c < 256; c++ {
			b.addByte(byte(c)) // any byte of a longer encoding
		}
		return
	}
	b.addByte(byte(r))
}

func (b *byteSet) addByte(c byte) {
	if b.in[c] {
		return
	}
	b.in[c] = true
	switch {
	case c == ' ' || c == '\t':
		b.weight += 30
	case 'a' <= c && c <= 'z':
		b.weight += 5
	default:
		b.weight++
	}
}

// none reports whether s has no byte of the set.
func (b *byteSet) none(s string) bool {
	for i := range len(s) {
		if b.in[s[i]] {
			return false
		}
	}
	return true
}

// maxWeight is the weight above which a set of bytes is in nearly every line.
const maxWeight = 64

// bytesOf returns the rarest set found of which every match contains a byte, or nil.
func bytesOf(re *syntax.Regexp) *byteSet {
	if b := findBytes(re); b != nil && b.weight <= maxWeight {
		return b
	}
	return nil
}

func findBytes(re *syntax.Regexp) *byteSet {
	switch re.Op {
	case syntax.OpLiteral:
		b := &byteSet{}
		b.add(re.Rune[0])
		if re.Flags&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(re.Rune[0]); r != re.Rune[0]; r = unicode.SimpleFold(r) {
				b.add(r)
			}
		}
		return b
	case syntax.OpCharClass:
		b := &byteSet{}
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if b.add(r); r >= utf8.RuneSelf {
					break
				}
			}
		}
		return b
	case syntax.OpCapture, syntax.OpPlus:
		return findBytes(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return findBytes(re.Sub[0])
		}
	case syntax.OpConcat:
		var least *byteSet
		for _, sub := range re.Sub {
			if b := findBytes(sub); b != nil && (least == nil || b.weight < least.weight) {
				least = b
			}
		}
		return least
	case syntax.OpAlternate:
		all := &byteSet{}
		for _, sub := range re.Sub {
			b := findBytes(sub)
			if b == nil {
				return nil
			}
			for c := range b.in {
				if b.in[c] {
					all.addByte(byte(c))
				}
			}
		}
		return all
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpStar, syntax.OpQuest,
		syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return nil
}
