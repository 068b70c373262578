package subject

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

const (
	// MaxFound is how many places [Subject.Find] returns at most.
	MaxFound = 20
	// MaxSnippet is how many bytes the snippet of a location has at most; a longer one is cut and ends in "...".
	MaxSnippet = 4_000
	// MinQuote is how many characters, white space left out, a quote must have to be found. Shorter ones, such as a closing
	// brace, stand in any text and prove nothing.
	MinQuote = 3

	maxHits  = 1_000    // occurrences that are looked at, and so the work for a quote that stands everywhere
	maxQuote = 16 << 10 // bytes of a quote that is looked for; a longer one is no quote but the text itself
)

// Find returns where a quote stands in the new text of the files (added and context lines), in new-file lines. Places that
// touch an added line come first, else they are in order of the subject; there are at most [MaxFound]. A quote may span
// lines of one hunk.
//
// The quote is looked for verbatim; then with every run of white space, line ends included, equal to one blank; then as a
// piece of a diff or of a numbered listing, without the + or the number before each line, where lines that begin with - do not
// count. The first reading that is found anywhere is the one returned. Nothing is returned for a quote shorter than
// [MinQuote].
func (s *Subject) Find(quote string) []rule.Location {
	for _, text := range readings(quote) {
		if found := s.find(text, '\n', appendVerbatim); len(found) > 0 {
			return found
		}
		if found := s.find(squash(text), ' ', appendSquashed); len(found) > 0 {
			return found
		}
	}
	return nil
}

// places collects locations, those that touch added lines apart.
type places struct{ added, context []rule.Location }

func (p *places) full() bool { return len(p.added) == MaxFound }

func (p *places) all() []rule.Location {
	all := append(p.added, p.context...)
	return all[:min(len(all), MaxFound)]
}

// put notes that lines from to to (indexes into h.Lines, the last included) hold the quote.
func (p *places) put(f *File, h *Hunk, from, to int) {
	list, snippet := &p.context, strings.Builder{}
	for i := from; i <= to; i++ {
		switch h.Lines[i].Op {
		case OpDelete:
			continue
		case OpAdd:
			list = &p.added
		case OpContext:
		}
		if snippet.Len() <= MaxSnippet {
			if i > from {
				snippet.WriteByte('\n')
			}
			snippet.WriteString(h.Lines[i].Text[:min(len(h.Lines[i].Text), MaxSnippet+1)])
		}
	}
	if len(*list) == MaxFound {
		return
	}
	*list = append(*list, rule.Location{
		FilePath: f.Path, StartLine: h.Lines[from].New, EndLine: h.Lines[to].New,
		FunctionName: h.Section, Snippet: cut(snippet.String(), MaxSnippet),
	})
}

// cut shortens a text to so many bytes, at the start of a character.
func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	end := longest - len("...")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// find looks for a quote in the text of each hunk: its new lines in the form that render gives them, joined by join. Lines
// that have nothing in a squashed form are left out.
func (s *Subject) find(quote string, join byte, render func(dst []byte, line string) []byte) []rule.Location {
	var found places
	var t newText
	hits := 0
	for i := range s.Files {
		f := &s.Files[i]
		for j := range f.Hunks {
			t.read(&f.Hunks[j], join, render)
			for from, to := range t.occurrences(quote) {
				found.put(f, &f.Hunks[j], from, to)
				if hits++; hits == maxHits || found.full() {
					return found.all()
				}
			}
		}
	}
	return found.all()
}

// newText is the new text of a hunk, made for searching.
type newText struct {
	text   []byte
	starts []int // where each line begins in text
	lines  []int // which line of the hunk it is
}

func (t *newText) read(h *Hunk, join byte, render func(dst []byte, line string) []byte) {
	size := 0
	for k := range h.Lines {
		size += len(h.Lines[k].Text) + 1
	}
	t.text = slices.Grow(t.text[:0], size)
	t.starts, t.lines = slices.Grow(t.starts[:0], len(h.Lines)), slices.Grow(t.lines[:0], len(h.Lines))
	for k := range h.Lines {
		if h.Lines[k].Op == OpDelete {
			continue
		}
		end := len(t.text)
		if len(t.starts) > 0 {
			t.text = append(t.text, join)
		}
		start := len(t.text)
		t.text = render(t.text, h.Lines[k].Text)
		if len(t.text) == start && join == ' ' {
			t.text = t.text[:end]
			continue
		}
		t.starts, t.lines = append(t.starts, start), append(t.lines, k)
	}
}

// occurrences yields, for every line in which an occurrence of quote begins, that line of the hunk and the one in which
// the occurrence ends.
func (t *newText) occurrences(quote string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		needle := []byte(quote)
		for at := 0; at < len(t.text); {
			next := bytes.Index(t.text[at:], needle)
			if next < 0 {
				return
			}
			first := t.lineAt(at + next)
			if !yield(t.lines[first], t.lines[t.lineAt(at+next+len(needle)-1)]) || first+1 == len(t.starts) {
				return
			}
			at = t.starts[first+1]
		}
	}
}

// lineAt returns which of the lines of t holds the offset at.
func (t *newText) lineAt(at int) int {
	line, exact := slices.BinarySearch(t.starts, at)
	if !exact {
		line--
	}
	return line
}

func appendVerbatim(dst []byte, line string) []byte { return append(dst, line...) }
