package subject

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/lex"
	"tenet/internal/rule"
	"tenet/internal/text"
)

const (
	// MaxFound is the most locations that [Subject.Find] returns.
	MaxFound = 20
	// MaxSnippet is the most bytes of the snippet of a location; a longer one is cut and ends in "...".
	MaxSnippet = 4_000
	// MinQuote is how many characters besides white space a quote must have. Every text has shorter ones, such as a closing
	// brace, and they prove nothing.
	MinQuote = 3

	maxHits  = 1_000    // occurrences to read, which bounds the work for a frequent quote
	maxQuote = 16 << 10 // bytes of a quote; a longer one is the text itself
)

// Find returns the locations of a quote in the new text of the files (added and context lines), in new-file lines. Locations
// with an added line come first, the others follow in the order of the subject; Find returns at most [MaxFound]. A quote may
// span lines of one hunk.
//
// Find searches for the quote verbatim; then with every run of white space, line ends included, equal to one blank; then as
// a piece of a diff or of a numbered listing, without the + or the number before each line and without lines that begin with
// -. It returns the locations of the first of these readings that has any, and none for a quote shorter than [MinQuote].
func (s *Subject) Find(quote string) []rule.Location {
	for _, content := range readings(quote) {
		if found := s.find(content, '\n', appendVerbatim); len(found) > 0 {
			return found
		}
		if found := s.find(text.OneLine(content), ' ', appendSquashed); len(found) > 0 {
			return found
		}
	}
	return nil
}

// places collects locations, those with added lines separately.
type places struct {
	added, context []rule.Location

	hunk      *diff.Hunk // that functions are of
	functions []string   // of each line of the hunk
}

// functionOf returns the function that line i of a hunk is in; see [Functions].
func (p *places) functionOf(f *diff.File, h *diff.Hunk, i int) string {
	if p.hunk != h {
		p.hunk, p.functions = h, Functions(f, h)
	}
	return p.functions[i]
}

// Functions returns for each line of a hunk the declaration of the function that it is in, in the new file; it is empty for lines in none, for
// deleted lines, and where the hunk does not show it. See [lex.Functions].
func Functions(f *diff.File, h *diff.Hunk) []string {
	var src strings.Builder
	for i := range h.Lines {
		if h.Lines[i].Op != diff.OpDelete {
			src.WriteString(strings.ReplaceAll(h.Lines[i].Text, "\n", " "))
			src.WriteByte('\n')
		}
	}
	found, next := lex.Functions(f.Path, h.Section, src.String()), 0
	out := make([]string, len(h.Lines))
	for i := range h.Lines {
		if h.Lines[i].Op != diff.OpDelete {
			out[i] = found[next]
			next++
		}
	}
	return out
}

func (p *places) full() bool { return len(p.added) == MaxFound }

func (p *places) all() []rule.Location {
	all := append(p.added, p.context...)
	return all[:min(len(all), MaxFound)]
}

// put notes that lines from to to (indexes into h.Lines, the last included) hold the quote.
func (p *places) put(f *diff.File, h *diff.Hunk, from, to int) {
	list, snippet := &p.context, strings.Builder{}
	for i := from; i <= to; i++ {
		switch h.Lines[i].Op {
		case diff.OpDelete:
			continue
		case diff.OpAdd:
			list = &p.added
		case diff.OpContext:
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
		FunctionName: p.functionOf(f, h, from), Snippet: text.Fit(snippet.String(), MaxSnippet, "..."),
	})
}

// find searches the text of each hunk for a quote: its new lines as render returns them, joined by join. It leaves out lines
// whose squashed form is empty.
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

// newText is the new text of a hunk for a search.
type newText struct {
	text   []byte
	starts []int // offset of each line in text
	lines  []int // index of each line in the hunk
}

func (t *newText) read(h *diff.Hunk, join byte, render func(dst []byte, line string) []byte) {
	size := 0
	for k := range h.Lines {
		size += len(h.Lines[k].Text) + 1
	}
	t.text = slices.Grow(t.text[:0], size)
	t.starts, t.lines = slices.Grow(t.starts[:0], len(h.Lines)), slices.Grow(t.lines[:0], len(h.Lines))
	for k := range h.Lines {
		if h.Lines[k].Op == diff.OpDelete {
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

// occurrences yields the first and the last line in the hunk of each occurrence of quote, at most one for each first line.
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

// lineAt returns the index in t of the line at an offset.
func (t *newText) lineAt(at int) int {
	line, exact := slices.BinarySearch(t.starts, at)
	if !exact {
		line--
	}
	return line
}

func appendVerbatim(dst []byte, line string) []byte { return append(dst, line...) }
