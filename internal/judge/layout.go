package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// layout is a subject cut into units, for which the cache stores verdicts, and which fill the parts.
type layout struct {
	// lead is on top of every part: where the subject belongs, and facts, action and claim if they are short and explain
	// files.
	lead  string
	place place  // the first lines of lead
	top   []unit // the units behind them in lead
	units []unit
	room  int // bytes of units in one part
	// subject are the units of the subject for the ledger, about those that a rule for the model is about, lead those on top of
	// every part.
	subject *subject.Units
	about   *ledger.Set
	onTop   []int
	// gaps say why units of the subject are not, or not wholly, in any unit of the layout.
	gaps map[int]string
	// unseen names what the model cannot see and what could break a rule: gaps, and content that the subject does not hold.
	unseen []rule.Unexamined
}

// unit is a piece of a subject that no cut divides: a hunk, a piece of a long hunk, a file without hunks, or the facts,
// the action or the claim.
type unit struct {
	file int // index of the file, -1 for facts, action and claim
	id   int // its number in the ledger; a long hunk has several units
	head string
	text string
	// masking is head in a masked view.
	masking string
	// from and to are the first and the last line of the new file in it, 0 if it has none.
	from, to int
	label    string
	// content is the hash of the unit without line numbers, which move with every other change.
	content [32]byte
}

// newLayout cuts s into units for parts of about limit bytes each, along files and hunks. It cuts long hunks between lines.
// It omits and names what still does not fit, or lies beyond the last part.
func newLayout(s *subject.Subject, limit, maxParts int) layout {
	l := layout{subject: s.Units(), gaps: map[int]string{}, place: place{s.Repository, s.Scope}}
	l.lead = l.place.text("")
	l.about = l.subject.All()
	core := l.coreUnits(s)
	l.room = limit - len(l.lead)
	size := 0
	for _, u := range core {
		size += len(u.text)
	}
	// Facts, action and claim explain the rest, so every part shows them if that leaves room for the rest.
	shared := len(s.Files) > 0 && size <= l.room/2
	for _, u := range core {
		if strings.Contains(u.text, redact.Placeholder(redact.WithheldKind)) {
			l.gaps[u.id] = "a fact that is named like a secret has more than one word, and is not shown to a model"
		}
		switch {
		case shared:
			l.lead += u.text
			l.top = append(l.top, u)
			l.onTop = append(l.onTop, u.id)
			l.room -= len(u.text)
		case len(u.text) > l.room:
			l.gaps[u.id] = fmt.Sprintf("it is longer than the %d bytes that one model call may see", limit)
		default:
			l.units = append(l.units, u)
		}
	}
	for i := range s.Files {
		l.addFile(s, i, l.room)
	}
	parts := l.pack(l.all())
	if len(parts) > maxParts {
		first := parts[maxParts].units[0]
		l.omitFrom(first, maxParts)
	}
	for i := range l.units {
		l.units[i].content = l.units[i].hash()
	}
	all := ledger.NewAccount(l.subject.Units, l.about)
	all.Examined(rule.ByModel, l.about)
	for unit, reason := range l.gaps {
		all.Gap(unit, reason)
	}
	l.unseen = all.Unexamined()
	return l
}

// all lists the numbers of all units.
func (l *layout) all() []int {
	out := make([]int, len(l.units))
	for i := range out {
		out[i] = i
	}
	return out
}

// place is where a subject is, which is on top of every part.
type place struct{ repository, scope string }

// text renders a place; with a mark, for a masked view.
func (p place) text(mark string) string {
	form := visible
	if mark != "" {
		form = maskedPath
	}
	var b strings.Builder
	if p.repository != "" {
		b.WriteString("repository: " + form(p.repository) + "\n")
	}
	if p.scope != "" {
		b.WriteString("scope: " + form(p.scope) + "\n")
	}
	return b.String()
}

// coreUnits returns claim, action and facts.
func (l *layout) coreUnits(s *subject.Subject) []unit {
	var out []unit
	if s.Intent != "" {
		out = append(out, unit{file: -1, id: l.subject.Intent(), label: "intent", text: "claim of the author, not verified:\n" + barred(s.Intent)})
	}
	if s.Action != "" {
		out = append(out, unit{file: -1, id: l.subject.Action(), label: "action", text: "action:\n" + barred(s.Action)})
	}
	if len(s.Facts) > 0 {
		out = append(out, unit{file: -1, id: l.subject.Facts(), label: "facts", text: "facts:\n" + indentedJSON(s.Facts) + "\n"})
	}
	return out
}

// barred puts a bar before every line, so that no line can pass for a heading.
func barred(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("| " + visible(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

func (l *layout) addFile(s *subject.Subject, i, room int) {
	f := &s.Files[i]
	head, plain := fileHead(f), *f
	plain.Path, plain.OldPath = maskedPath(f.Path), maskedPath(f.OldPath)
	like := unit{file: i, head: head, masking: fileHead(&plain), label: f.Path}
	if len(f.Hunks) == 0 {
		like.id = l.subject.Name(i)
		l.units = append(l.units, like)
	}
	for k := range f.Hunks {
		like.id = l.subject.Hunk(i, k)
		l.addHunk(&f.Hunks[k], like, room-len(head))
	}
}

// addHunk appends the units of a hunk, each like its pattern and at most room bytes long.
func (l *layout) addHunk(h *diff.Hunk, like unit, room int) {
	head := "@@ " + visible(h.Section) + "\n"
	text := []byte(head)
	cur := like
	flush := func() {
		if len(text) > len(head) {
			cur.text = string(text)
			l.units = append(l.units, cur)
		}
		cur, text = like, append(text[:0], head...)
	}
	for _, line := range h.Lines {
		before := len(text)
		text = appendLine(text, line)
		n := len(text) - before
		if len(head)+n > room {
			text = text[:before]
			l.gaps[like.id] = fmt.Sprintf("line %d is longer than one model call may see", max(line.New, line.Old))
			continue
		}
		if len(text) > room {
			text = text[:before]
			flush()
			text = appendLine(text, line)
		}
		if line.Op != diff.OpDelete {
			if cur.to = line.New; cur.from == 0 {
				cur.from = line.New
			}
		}
	}
	flush()
}

// hash returns the hash of the unit without line numbers: each line of a file begins with its number, a bar and a sign, and no
// other text does.
func (u *unit) hash() [32]byte {
	b := make([]byte, 0, len(u.head)+len(u.text)+16)
	b = append(binary.AppendUvarint(b, uint64(len(u.head))), u.head...)
	if u.file < 0 {
		return sha256.Sum256(append(b, u.text...))
	}
	for line := range strings.Lines(u.text) {
		b = append(b, strings.TrimLeft(line, "0123456789")...)
	}
	return sha256.Sum256(b)
}

// appendLine renders a line as number, bar, sign, text. Removed lines have no number: they are not in the new file.
func appendLine(dst []byte, l diff.Line) []byte {
	if l.Op != diff.OpDelete {
		dst = strconv.AppendInt(dst, int64(l.New), 10)
	}
	dst = append(dst, '|', ' ', byte(l.Op))
	dst = append(dst, visible(l.Text)...)
	return append(dst, '\n')
}

func fileHead(f *diff.File) string {
	var b strings.Builder
	b.WriteString("file " + visible(f.Path) + " (" + string(f.Change))
	if f.OldPath != "" {
		b.WriteString(" from " + visible(f.OldPath))
	}
	if modes := f.Modes(); modes != "" {
		b.WriteString(", mode " + modes)
	}
	b.WriteString(")")
	switch {
	case f.Media != "":
		b.WriteString(", " + f.Media)
	case f.Missing:
		b.WriteString(", content not given")
	case f.Binary:
		b.WriteString(", binary, content not shown")
	}
	b.WriteString("\n")
	return b.String()
}

// omitFrom omits the units from index i on.
func (l *layout) omitFrom(i, maxParts int) {
	reason := fmt.Sprintf("the subject has more than the %d parts that one evaluation judges", maxParts)
	for _, u := range l.units[i:] {
		l.gaps[u.id] = reason
	}
	l.units = l.units[:i]
}

// contains reports whether a phrase occurs in the text of the subject.
func (l *layout) contains(phrase string) bool {
	return strings.Contains(l.lead, phrase) || slices.ContainsFunc(l.units, func(u unit) bool { return strings.Contains(u.text, phrase) })
}
