package corpus

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerm is the longest word, in bytes, that is indexed; longer runs are hashes, keys and the like.
const maxTerm = 64

// token is a word of a text.
type token struct {
	// text is the word in lower case, without accents. It is only valid during the call that it is given to.
	text []byte
	// start and end are its place in the text, in bytes.
	start, end int
	// whole is set for what the words before it make up together: an identifier such as os.environ or SEC-003, or two
	// neighbouring characters of a script without spaces. It takes no place of its own among the words.
	whole bool
	// fixed is set for what is compared as it is, without stemming: all but words of Latin letters.
	fixed bool
}

// eachToken calls yield for the words of text, until it returns false: runs of letters and digits. Words joined by a dot,
// hyphen, underscore and the like, and words written in camel case, come one by one and then as a whole. Text in Chinese,
// Japanese and Korean comes as single characters, each pair of which comes as a whole.
func eachToken(text string, yield func(token) bool) {
	s := scanner{yield: yield}
	for i := 0; i < len(text) && !s.stopped; {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			s.rune(r, i, size)
			i += size
			continue
		}
		switch {
		case 'a' <= c && c <= 'z':
			s.letter(c, i)
			s.lower = true
		case '0' <= c && c <= '9':
			s.letter(c, i)
			s.fixed, s.lower = true, true
		case 'A' <= c && c <= 'Z':
			if s.lower {
				s.endWord(i)
			}
			s.letter(c+'a'-'A', i)
		case joins(c) && s.n > 0 && i+1 < len(text) && wordByte(text[i+1]):
			s.endWord(i)
			s.join(c)
		default:
			s.endRun(i)
		}
		i++
	}
	s.endRun(len(text))
}

// joins reports whether c between two words makes an identifier of them.
func joins(c byte) bool { return c == '.' || c == '_' || c == '-' || c == ':' || c == '@' || c == '&' }

// wordByte reports whether a word may go on with c.
func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

// scanner is the state of [eachToken]. A run is the text between spaces and most punctuation marks; it has words.
type scanner struct {
	yield   func(token) bool
	stopped bool
	word    [maxTerm]byte
	n       int  // bytes of the word; beyond maxTerm it is dropped
	start   int  // of the word
	fixed   bool // the word has more than Latin letters
	accents bool // the word has bytes beyond ASCII
	lower   bool // the last character was a lower-case letter or a digit

	run      [maxTerm]byte
	runN     int
	runStart int
	words    int  // of the run
	rough    bool // the run has more than Latin letters
	// before is the character before, if it is of a script without spaces; it began at beforeAt.
	before   rune
	beforeAt int
}

func (s *scanner) letter(c byte, at int) {
	if s.n == 0 {
		s.begin(at)
	}
	if s.n < maxTerm {
		s.word[s.n] = c
	}
	s.n++
	s.join(c)
}

func (s *scanner) begin(at int) {
	s.start, s.before = at, 0
	if s.words == 0 {
		s.runStart, s.runN, s.rough = at, 0, false
	}
}

// join adds a byte to the run.
func (s *scanner) join(c byte) {
	if s.runN < maxTerm {
		s.run[s.runN] = c
	}
	s.runN++
	if !wordByte(c) {
		s.rough = true
	}
}

// rune takes in a character beyond ASCII.
func (s *scanner) rune(r rune, at, size int) {
	switch {
	case spaceless(r):
		before := s.before
		s.endRun(at)
		s.before = before
		s.spaceless(r, at, size)
	case r >= 0x300 && r <= 0x36f && s.n > 0: // an accent that stands after its letter
	case unicode.IsLetter(r) || unicode.IsDigit(r) || (unicode.IsMark(r) && s.n > 0):
		if unicode.IsUpper(r) && s.lower {
			s.endWord(at)
		}
		s.lower = !unicode.IsUpper(r)
		var buf [utf8.UTFMax]byte
		for _, b := range buf[:utf8.EncodeRune(buf[:], unicode.ToLower(r))] {
			s.letter(b, at)
		}
		s.accents = true
	default:
		s.endRun(at)
	}
}

// spaceless reports whether r is of a script that writes no spaces between words, or of Korean, whose words have many forms.
func spaceless(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー')
}

func (s *scanner) spaceless(r rune, at, size int) {
	var buf [2 * utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	s.give(token{text: buf[:n], start: at, end: at + size, fixed: true})
	if s.before != 0 {
		n = utf8.EncodeRune(buf[:], s.before)
		n += utf8.EncodeRune(buf[n:], r)
		s.give(token{text: buf[:n], start: s.beforeAt, end: at + size, whole: true, fixed: true})
	}
	s.before, s.beforeAt = r, at
}

func (s *scanner) give(t token) {
	if !s.stopped {
		s.stopped = !s.yield(t)
	}
}

// endWord ends the current word, if any, before the byte at end.
func (s *scanner) endWord(end int) {
	if s.n == 0 {
		return
	}
	if s.n <= maxTerm {
		text := s.word[:s.n]
		if s.accents {
			text, s.fixed = plain(text), true
		}
		s.give(token{text: text, start: s.start, end: end, fixed: s.fixed})
	}
	s.words++
	s.rough = s.rough || s.fixed
	s.n, s.fixed, s.accents, s.lower = 0, false, false, false
}

// endRun ends the word and the run, and gives the run as a whole if it has several words.
func (s *scanner) endRun(end int) {
	s.endWord(end)
	if s.words > 1 && s.runN <= maxTerm {
		s.give(token{text: plain(s.run[:s.runN]), start: s.runStart, end: end, whole: true, fixed: s.rough})
	}
	s.words, s.before = 0, 0
}

// plain takes the accents off letters, and turns wide and other variants of letters into the common ones.
func plain(text []byte) []byte {
	if isASCII(text) {
		return text
	}
	apart := norm.NFKD.Bytes(text)
	out := apart[:0]
	for i := 0; i < len(apart); {
		r, size := utf8.DecodeRune(apart[i:])
		if r < 0x300 || r > 0x36f {
			out = append(out, apart[i:i+size]...)
		}
		i += size
	}
	return out
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
