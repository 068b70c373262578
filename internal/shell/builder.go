package shell

import (
	"strings"
	"unicode/utf8"
)

// builder puts words together from their parts.
type builder struct {
	ifs   string
	whole bool // nothing is split
	words []Word
	text  strings.Builder
	// open means that the present word exists even if it is empty; guess that its text is not its value.
	open, guess bool
}

// add adds text that no shell splits.
func (b *builder) add(text string) {
	if b.text.Len()+len(text) > maxText {
		b.open, b.guess = true, true
		return
	}
	b.text.WriteString(text)
	b.open = b.open || text != ""
}

// quote says that a part is quoted: the word exists although it may be empty.
func (b *builder) quote() { b.open = true }

// hole adds a part with an unknown value.
func (b *builder) hole(mark string) {
	if b.text.Len() < maxText {
		b.text.WriteString(mark)
	}
	b.open, b.guess = true, true
}

// written says that the text of the word is as written, and that its value is another.
func (b *builder) written() { b.guess = true }

// pattern adds a part of a pattern, which may become names of files.
func (b *builder) pattern(text string) {
	b.add(text)
	if !b.whole {
		b.guess = true
	}
}

// next begins another word.
func (b *builder) next() {
	if b.whole {
		b.add(" ")
		return
	}
	if b.open {
		b.words = append(b.words, Word{b.text.String(), !b.guess})
	}
	b.text.Reset()
	b.open, b.guess = false, false
}

// expansion adds the value of a variable or the output of a command, which shells split at blanks unless it is quoted.
func (b *builder) expansion(text string, quoted bool, differs func(string)) {
	if quoted || b.whole {
		b.add(text)
		return
	}
	if strings.ContainsAny(text, b.ifs+"*?[\\") {
		differs("a variable or an output without quotes, which has blanks or a pattern")
	}
	const blanks = " \t\n"
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case !strings.ContainsRune(b.ifs, r):
			if strings.ContainsRune("*?[", r) {
				b.pattern(text[i : i+n])
			} else {
				b.add(text[i : i+n])
			}
		case strings.ContainsRune(blanks, r):
			b.next()
		default: // another separator ends a word, also an empty one
			b.open = true
			b.next()
		}
		i += n
		if len(b.words) > maxWords {
			b.hole(Hole)
			return
		}
	}
}

func (b *builder) finish() []Word {
	if b.open || b.guess {
		b.open = true
		b.whole = false
		b.next()
	}
	return b.words
}

// ansi returns the value of $'text'; false if shells read it differently.
func ansi(text string) (string, bool) {
	simple := map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}
	var b strings.Builder
	ok := true
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		code, digits := rune(0), 0
		switch {
		case simple[c] != 0:
			b.WriteByte(simple[c])
			continue
		case c >= '0' && c <= '7':
			code, digits = number(text[i:], 8, 3)
			i += digits - 1
			if code == 0 || code > 255 {
				ok = false
			}
			b.WriteByte(byte(code))
			continue
		case c == 'x':
			code, digits = number(text[i+1:], 16, 2)
			i += digits
			if code == 0 {
				ok = false
			}
			b.WriteByte(byte(code))
			continue
		case c == 'u' || c == 'U':
			most := 4
			if c == 'U' {
				most = 8
			}
			code, digits = number(text[i+1:], 16, most)
			i += digits
			ok = ok && code > 0 && code < 0x80 // beyond ASCII the locale decides
			b.WriteRune(code)
			continue
		}
		ok = false // \c and what is no escape
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	return b.String(), ok
}

// number reads up to most digits of a base.
func number(text string, base rune, most int) (n rune, digits int) {
	for digits < most && digits < len(text) {
		d := rune(-1)
		switch c := rune(text[digits]); {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		}
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		digits++
	}
	return n, digits
}
