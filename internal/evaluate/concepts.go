package evaluate

import (
	"strings"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// maxConceptBytes bounds the lines that are read for concepts.
const maxConceptBytes = 8 << 10

// conceptsOf returns the words by which rules speak of what the added lines of a subject do: those for its languages, and for its keywords,
// operators, literals, common names and layout. Code seldom has these words itself: where a rule says "exception handler", it says `catch`.
func conceptsOf(s *subject.Subject) []string {
	c := concepts{room: maxConceptBytes}
	for i := range s.Files {
		c.path(s.Files[i].Path)
	}
	for i := range s.Files {
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op != diff.OpAdd {
					continue
				}
				if c.room <= 0 {
					return c.texts
				}
				c.line(l.Text)
			}
		}
	}
	return c.texts
}

// concepts collects the texts of concepts, each once.
type concepts struct {
	texts []string
	seen  [maxConcepts]bool
	room  int // bytes
	lower [longestName]byte
}

func (c *concepts) take(n int) {
	if n > 0 && !c.seen[n] {
		c.seen[n] = true
		c.texts = append(c.texts, conceptTable.texts[n])
	}
}

// path takes the language of a file.
func (c *concepts) path(path string) {
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	n := conceptTable.files[name]
	if n == 0 {
		n = conceptTable.files[name[strings.LastIndexByte(name, '.')+1:]]
	}
	c.take(n)
}

// line takes the concepts of one line, as far as there is room for it.
func (c *concepts) line(text string) {
	text = text[:min(len(text), c.room)]
	c.room -= len(text)
	c.layout(text)
	for i := 0; i < len(text); {
		begin := i
		switch b := text[i]; {
		case letter(b):
			for i++; i < len(text) && (letter(text[i]) || digit(text[i])); i++ {
			}
			c.name(text[begin:i])
		case digit(b):
			for i++; i < len(text) && (letter(text[i]) || digit(text[i]) || text[i] == '.'); i++ {
			}
			c.number(text[begin:i])
		default:
			i += c.sign(text[i:])
		}
	}
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' }

func digit(b byte) bool { return b >= '0' && b <= '9' }

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

func lower(b byte) bool { return b >= 'a' && b <= 'z' }

// longLine is the length from which rules may object to that of a line.
const longLine = 80

// layout takes the concepts of how a line is written.
func (c *concepts) layout(text string) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		c.take(blankLine)
		return
	}
	if len(text) > longLine {
		c.take(overlongLine)
	}
	if text[0] == '\t' {
		c.take(tabs)
	}
	if last := text[len(text)-1]; last == ' ' || last == '\t' {
		c.take(trailingSpace)
	}
	switch trimmed[0] {
	case '.':
		c.take(chainedLine)
	case '+', '-', '*', '/', '&', '|', '?':
		c.take(leadingOperator)
	}
	switch trimmed[len(trimmed)-1] {
	case '+', '-', '/', '&', '|', '\\', '=':
		c.take(trailingOperator)
	case ',':
		c.take(trailingComma)
	case '(', '[':
		c.take(openedLine)
	}
}

// number takes the concepts of a number or an address.
func (c *concepts) number(text string) {
	c.take(anyNumber)
	switch {
	case text == "0.0.0.0":
		c.take(allAddresses)
	case text == "127.0.0.1":
		c.take(ownAddress)
	case strings.HasPrefix(text, "0x"):
		c.take(hexadecimal)
	case len(text) > 2 && text[0] == '0' && (digit(text[1]) || text[1] == 'o'):
		c.take(octal)
	}
}

// longestName bounds the names that have concepts.
const longestName = 24

// name takes the concept of a name, or those of its parts. Parts that only an acronym divides, as in TLSConfig, are taken as words too, since
// the words of a text do not divide there.
func (c *concepts) name(name string) {
	if n := c.lookup(name); n > 0 {
		c.take(n)
		return
	}
	begin, acronym := 0, false
	for i := 1; i <= len(name); i++ {
		ends := i == len(name)
		if !ends && upper(name[i]) {
			ends = !upper(name[i-1]) || i+1 < len(name) && lower(name[i+1])
			acronym = acronym || ends && upper(name[i-1]) && begin < i-1
		}
		if !ends && name[i] != '_' {
			continue
		}
		part := strings.Trim(name[begin:i], "_")
		c.take(c.lookup(part))
		if acronym && len(c.texts) < maxRankedParts {
			c.texts = append(c.texts, part)
		}
		begin = i
	}
}

// maxRankedParts bounds what is taken of names that acronyms divide, together with all concepts.
const maxRankedParts = 200

// lookup returns the concept of a name, or 0.
func (c *concepts) lookup(name string) int {
	if len(name) > longestName {
		return 0
	}
	for i := range len(name) {
		b := name[i]
		if upper(b) {
			b |= 0x20
		}
		c.lower[i] = b
	}
	return conceptTable.names[string(c.lower[:len(name)])]
}

// sign takes the concept of the operator or other sign that a text begins with, and returns its length.
func (c *concepts) sign(text string) int {
	if text[0] < 0x80 {
		for _, s := range conceptTable.signs[text[0]] {
			if strings.HasPrefix(text, s.text) {
				c.take(s.concept)
				return len(s.text)
			}
		}
	}
	return 1
}
