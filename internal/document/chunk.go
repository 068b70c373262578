package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/document/extract"
	"tenet/internal/store"
	"tenet/internal/text"
)

// Sizes of chunks, in characters. They are large enough to hold a rule with its reasons, and small enough for one vector.
const (
	fullChunk  = 1200 // a chunk is closed at the end of a paragraph that makes it so long
	maxChunk   = 1500 // a longer paragraph is divided, at the end of a sentence where there is one
	maxSection = 300
)

// blockEnd parts the blocks of a text.
const blockEnd = "\n\n"

// divider makes chunks of blocks. A heading begins a chunk, unless the chunk under way holds nothing but headings.
type divider struct {
	chunks   []store.DocumentChunk
	path     []heading
	text     strings.Builder
	length   int // characters of text
	hasBody  bool
	page     int
	line     int
	sections string
}

type heading struct {
	level int
	text  string
}

// divide divides a document's text into chunks, numbered from 1. They do not overlap: all together they are the text.
func divide(blocks []extract.Block) []store.DocumentChunk {
	d := &divider{}
	for _, b := range blocks {
		if b.Heading > 0 {
			if d.hasBody {
				d.close()
			}
			d.under(heading{b.Heading, b.Text})
			d.add(b, b.Text+blockEnd)
			continue
		}
		if n := utf8.RuneCountInString(b.Text); d.hasBody && d.length+n > maxChunk {
			d.close()
		}
		for rest := b.Text; rest != ""; {
			var piece string
			piece, rest = cutSentence(rest, max(maxChunk-d.length, maxChunk/4))
			if rest == "" {
				piece += blockEnd
			}
			d.add(b, piece)
			d.hasBody = true
			if rest != "" || d.length >= fullChunk {
				d.close()
			}
		}
	}
	d.close()
	return d.chunks
}

// under goes to a heading's section.
func (d *divider) under(h heading) {
	for len(d.path) > 0 && d.path[len(d.path)-1].level >= h.level {
		d.path = d.path[:len(d.path)-1]
	}
	d.path = append(d.path, h)
	names := make([]string, len(d.path))
	for i, p := range d.path {
		names[i] = text.FitRunes(p.text, 100, "…")
	}
	d.sections = text.FitRunes(strings.Join(names, " > "), maxSection, "…")
}

func (d *divider) add(b extract.Block, text string) {
	if d.length == 0 {
		d.page, d.line = b.Page, b.Line
	}
	d.text.WriteString(text)
	d.length += utf8.RuneCountInString(text)
	if d.length > 4*maxChunk { // nothing but headings
		d.close()
	}
}

func (d *divider) close() {
	if d.length == 0 {
		return
	}
	d.chunks = append(d.chunks, store.DocumentChunk{
		N: len(d.chunks) + 1, Section: d.sections, Page: d.page, Line: d.line, Text: d.text.String(),
	})
	d.text.Reset()
	d.length, d.hasBody = 0, false
}

// cutSentence cuts text after at most n characters: at the end of a sentence in the second half, else at a space there, else
// anywhere. The space stays with the first part, so that nothing of the text is lost.
func cutSentence(text string, n int) (first, rest string) {
	count, sentence, space := 0, 0, 0
	var before rune
	for i, r := range text {
		if count == n {
			switch {
			case sentence > 0:
				return text[:sentence], text[sentence:]
			case space > 0:
				return text[:space], text[space:]
			}
			return text[:i], text[i:]
		}
		count++
		end := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			end = i + 1
		}
		if 2*count >= n {
			switch {
			case r == '。' || r == '！' || r == '？':
				sentence, space = end, end
			case unicode.IsSpace(r):
				space = end
				if before == '.' || before == '!' || before == '?' || before == ';' || r == '\n' {
					sentence = end
				}
			}
		}
		before = r
	}
	return text, ""
}
