// Package patch lays out the text of a change for people: rows with line numbers, marks on the lines that verdicts rest on, words that
// changed within a line, and colours of syntax. It decides nothing.
package patch

import (
	"slices"
	"strings"

	"tenet/internal/console/wordmark"
	"tenet/internal/diff"
)

// Kind of a [Row].
type Kind int

// Kinds of rows.
const (
	Context Kind = iota
	Added
	Removed
	File // heading of a file; Text is its name
	Hunk // heading of a hunk; Text is its section
	Note // a sentence about the file, such as why its content is not shown
)

// Row is one row of a layout.
type Row struct {
	Kind Kind
	// Old and New are the numbers of the line before and after the change, from 1; 0 where it is not.
	Old, New int
	Text     string
	// Pieces are the parts of Text with their marks and colours. They make Text together.
	Pieces []Piece
	// Hit is true if a mark covers the line. Ends lists the marks, by index, whose last line this is.
	Hit  bool
	Ends []int

	file int // index of the file
}

// Piece is a part of a line.
type Piece struct {
	Text string
	// Class is the colour: k keyword, s string, c comment, n number, f name; or empty.
	Class string
	// Changed is true for words that the line opposite does not have, Quoted for text that a verdict quotes.
	Changed, Quoted bool
}

// Mark points a verdict to lines of the new version of a file. From and To count from 1 and are included; Quote, if it is not empty, is
// text within them.
type Mark struct {
	Path     string
	From, To int
	Quote    string
}

// Whole is a file that is given with its content.
type Whole struct{ Path, Content string }

// Layout is a change, laid out.
type Layout struct {
	rows  []Row
	files []string
	marks []Mark
	first []int // index of the first row of each mark, or -1
	// Broken is true if the diff could not be read; its lines are then shown as they are.
	Broken bool
}

// Read lays out a diff and whole files.
func Read(text string, whole []Whole, marks []Mark) *Layout {
	l := &Layout{marks: marks}
	var files []diff.File
	var err error
	if text != "" {
		files, err = diff.Parse(text)
	}
	if err != nil {
		l.Broken = true
		l.file("diff", "", "")
		l.plain(text)
		files = nil
	}
	for i := range files {
		f := &files[i]
		old := f.OldPath
		l.file(f.Path, old, string(f.Change))
		if f.Unseen != "" {
			l.rows = append(l.rows, Row{Kind: Note, Text: f.Unseen, file: len(l.files) - 1})
		}
		if f.Media != "" {
			l.rows = append(l.rows, Row{Kind: Note, Text: f.Media, file: len(l.files) - 1})
		}
		for h := range f.Hunks {
			l.hunk(&f.Hunks[h])
		}
	}
	for _, w := range whole {
		l.file(w.Path, "", "")
		l.plain(w.Content)
	}
	l.point()
	return l
}

func (l *Layout) file(path, old, change string) {
	l.files = append(l.files, path)
	title := path
	if old != "" {
		title = old + " → " + path
	}
	if change != "" && change != string(diff.Modified) {
		title += " (" + change + ")"
	}
	l.rows = append(l.rows, Row{Kind: File, Text: title, file: len(l.files) - 1})
}

// plain adds the lines of a text as they are.
func (l *Layout) plain(text string) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l.rows = append(l.rows, Row{Kind: Context, New: i + 1, Text: strings.TrimSuffix(line, "\r"), file: len(l.files) - 1})
	}
}

func (l *Layout) hunk(h *diff.Hunk) {
	l.rows = append(l.rows, Row{Kind: Hunk, Old: h.OldStart, New: h.NewStart, Text: h.Section, file: len(l.files) - 1})
	for _, line := range h.Lines {
		r := Row{Kind: Context, Old: line.Old, New: line.New, Text: strings.TrimSuffix(line.Text, "\r"), file: len(l.files) - 1}
		switch line.Op {
		case diff.OpAdd:
			r.Kind = Added
		case diff.OpDelete:
			r.Kind = Removed
		case diff.OpContext:
		}
		l.rows = append(l.rows, r)
	}
}

// point sets the marks on the rows.
func (l *Layout) point() {
	byPath := map[string][]int{}
	for i, m := range l.marks {
		byPath[m.Path] = append(byPath[m.Path], i)
	}
	last := make([]int, len(l.marks)) // index of the last row of each mark, and 1
	l.first = slices.Repeat([]int{-1}, len(l.marks))
	for i := range l.rows {
		r := &l.rows[i]
		if r.New == 0 || (r.Kind != Context && r.Kind != Added) {
			continue
		}
		for _, m := range byPath[l.files[r.file]] {
			if r.New >= l.marks[m].From && r.New <= l.marks[m].To {
				r.Hit = true
				last[m] = i + 1
				if l.first[m] < 0 {
					l.first[m] = i
				}
			}
		}
	}
	for m, i := range last {
		if i > 0 {
			l.rows[i-1].Ends = append(l.rows[i-1].Ends, m)
		}
	}
}

// Len is the number of rows.
func (l *Layout) Len() int { return len(l.rows) }

// Files lists the paths.
func (l *Layout) Files() []string { return l.files }

// RowOf returns the index of the first row that a mark covers, or -1 if the change does not show it.
func (l *Layout) RowOf(mark int) int { return l.first[mark] }

// First returns the index of the first row that a mark covers, or -1.
func (l *Layout) First() int {
	return slices.IndexFunc(l.rows, func(r Row) bool { return r.Hit })
}

// Page returns n rows from an index on, with their words compared and their syntax coloured.
func (l *Layout) Page(from, n int) []Row {
	from = min(max(from, 0), len(l.rows))
	rows := slices.Clone(l.rows[from:min(from+n, len(l.rows))])
	newPainter().paint(l.files, rows)
	for _, p := range opposites(rows) {
		compare(&rows[p[0]], &rows[p[1]])
	}
	for i := range rows {
		l.quote(&rows[i])
	}
	return rows
}

// opposites pairs the removed lines of each change with the added ones that follow, in order, by index.
func opposites(rows []Row) [][2]int {
	var list [][2]int
	for i := 0; i < len(rows); {
		removed := i
		for i < len(rows) && rows[i].Kind == Removed {
			i++
		}
		added := i
		for i < len(rows) && rows[i].Kind == Added {
			i++
		}
		for k := 0; removed+k < added && added+k < i; k++ {
			list = append(list, [2]int{removed + k, added + k})
		}
		if i == removed {
			i++
		}
	}
	return list
}

// Bounds of lines whose words are compared, in bytes, and of the part that must be common for the marks to help a reader.
const (
	maxCompared = 1_000
	minCommon   = 0.3
)

// compare marks the words of two opposite lines that only one of them has.
func compare(old, now *Row) {
	if len(old.Text) > maxCompared || len(now.Text) > maxCompared {
		return
	}
	pieces := wordmark.Compare(old.Text, now.Text)
	common := 0
	for _, p := range pieces {
		if p.Op == wordmark.Same {
			common += len(strings.TrimSpace(p.Text))
		}
	}
	if float64(common) < minCommon*float64(max(len(old.Text), len(now.Text))) {
		return
	}
	at, was := 0, 0
	for _, p := range pieces {
		switch p.Op {
		case wordmark.Same:
			at, was = at+len(p.Text), was+len(p.Text)
		case wordmark.Removed:
			old.mark(was, was+len(p.Text), func(q *Piece) { q.Changed = true })
			was += len(p.Text)
		case wordmark.Added:
			now.mark(at, at+len(p.Text), func(q *Piece) { q.Changed = true })
			at += len(p.Text)
		}
	}
}

// quote marks what verdicts quote of a line.
func (l *Layout) quote(r *Row) {
	if !r.Hit {
		return
	}
	for _, m := range l.marks {
		if m.Path != l.files[r.file] || r.New < m.From || r.New > m.To {
			continue
		}
		for part := range strings.SplitSeq(m.Quote, "\n") {
			part = strings.TrimSpace(part)
			if at := strings.Index(r.Text, part); part != "" && at >= 0 {
				r.mark(at, at+len(part), func(q *Piece) { q.Quoted = true })
			}
		}
	}
}

// mark changes the pieces that make the bytes from one index up to another, cutting them there.
func (r *Row) mark(from, to int, change func(*Piece)) {
	if len(r.Pieces) == 0 && r.Text != "" {
		r.Pieces = []Piece{{Text: r.Text}}
	}
	var out []Piece
	at := 0
	for _, p := range r.Pieces {
		end := at + len(p.Text)
		cut := func(a, b int, in bool) {
			if a >= b {
				return
			}
			q := p
			q.Text = p.Text[a-at : b-at]
			if in {
				change(&q)
			}
			out = append(out, q)
		}
		cut(at, min(end, max(at, from)), false)
		cut(max(at, from), min(end, to), true)
		cut(max(at, min(end, max(to, from))), end, false)
		at = end
	}
	r.Pieces = out
}

// Pair is a row of a layout side by side. Left or Right may be nil; headings and notes have both the same.
type Pair struct{ Left, Right *Row }

// Sides lays rows out side by side.
func Sides(rows []Row) []Pair {
	var list []Pair
	for i := 0; i < len(rows); {
		if k := rows[i].Kind; k != Removed && k != Added {
			list = append(list, Pair{&rows[i], &rows[i]})
			i++
			continue
		}
		removed := i
		for i < len(rows) && rows[i].Kind == Removed {
			i++
		}
		added := i
		for i < len(rows) && rows[i].Kind == Added {
			i++
		}
		for k := range max(added-removed, i-added) {
			var p Pair
			if removed+k < added {
				p.Left = &rows[removed+k]
			}
			if added+k < i {
				p.Right = &rows[added+k]
			}
			list = append(list, p)
		}
	}
	return list
}
