package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// layout is a subject cut into units, for which the cache stores verdicts, and which fill the parts.
type layout struct {
	// lead is on top of every part: where the subject belongs, and facts, action and claim if they are short and explain
	// files.
	lead      string
	leadBytes int // size of it as in subject.Size
	units     []unit
	room      int // bytes of units in one part
	hunks     int
	// partialHunks holds the numbers of hunks with omitted lines.
	partialHunks map[int]bool
	// omitted names what is in no unit, for the caller's account.
	omitted []rule.Unexamined
	// unseen names everything that the model cannot see and that could break a rule: omitted pieces, files without content,
	// and binary files that are not plain media. It forbids ALLOW.
	unseen []rule.Unexamined
}

// unit is a piece of a subject that no cut divides: a hunk, a piece of a long hunk, a file without hunks, or the facts,
// the action or the claim.
type unit struct {
	file  int // index of the file, -1 for facts, action and claim
	head  string
	text  string
	hunk  int // number of the hunk it belongs to, -1 for none; a long hunk has several units
	bytes int // size as in subject.Size
	// from and to are the first and the last line of the new file in it, 0 if it has none.
	from, to int
	label    string
	// content is the hash of the unit without line numbers, which move with every other change.
	content [32]byte
}

// newLayout cuts s into units for parts of about limit bytes each, along files and hunks. It cuts long hunks between lines.
// It omits and names what still does not fit, or lies beyond the last part.
func newLayout(s *subject.Subject, limit, maxParts int) layout {
	l := layout{partialHunks: map[int]bool{}, lead: placeText(s)}
	core := coreUnits(s)
	l.room = limit - len(l.lead)
	size := 0
	for _, u := range core {
		size += len(u.text)
	}
	// Facts, action and claim explain the rest, so every part shows them if that leaves room for the rest.
	shared := len(s.Files) > 0 && size <= l.room/2
	for _, u := range core {
		switch {
		case shared:
			l.lead += u.text
			l.leadBytes += u.bytes
			l.room -= len(u.text)
		case len(u.text) > l.room:
			l.omit(u.label, fmt.Sprintf("it is longer than the %d bytes that one model call may see", limit))
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
	if l.contains(redact.Placeholder(redact.WithheldKind)) {
		l.omit("facts", "a fact is named like a secret and has more than one word, so the model did not see it")
	}
	l.findUnseen(s)
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

// placeText returns the place of the subject, which is on top of every part.
func placeText(s *subject.Subject) string {
	var b strings.Builder
	if s.Repository != "" {
		b.WriteString("repository: " + visible(s.Repository) + "\n")
	}
	if s.Scope != "" {
		b.WriteString("scope: " + visible(s.Scope) + "\n")
	}
	return b.String()
}

func coreUnits(s *subject.Subject) []unit {
	var out []unit
	if s.Intent != "" {
		out = append(out, unit{file: -1, hunk: -1, label: "intent", text: "claim of the author, not verified:\n" + barred(s.Intent)})
	}
	if s.Action != "" {
		out = append(out, unit{file: -1, hunk: -1, label: "action", text: "action:\n" + barred(s.Action), bytes: len(s.Action)})
	}
	if len(s.Facts) > 0 {
		n := 0
		if b, err := json.Marshal(s.Facts); err == nil {
			n = len(b)
		}
		out = append(out, unit{file: -1, hunk: -1, label: "facts", text: "facts:\n" + indentedJSON(s.Facts) + "\n", bytes: n})
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
	head := fileHead(f)
	if len(f.Hunks) == 0 {
		l.units = append(l.units, unit{file: i, head: head, hunk: -1, label: f.Path})
	}
	for k := range f.Hunks {
		l.addHunk(f, &f.Hunks[k], unit{file: i, head: head, hunk: l.hunks, label: f.Path}, room-len(head))
		l.hunks++
	}
}

// addHunk appends the units of a hunk to d, each like its pattern and at most room bytes long.
func (l *layout) addHunk(f *diff.File, h *diff.Hunk, like unit, room int) {
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
			l.omit(f.Path, fmt.Sprintf("line %d is longer than one model call may see", max(line.New, line.Old)))
			l.partialHunks[like.hunk] = true
			continue
		}
		if len(text) > room {
			text = text[:before]
			flush()
			text = appendLine(text, line)
		}
		if line.Op != diff.OpDelete {
			cur.bytes += len(line.Text) + 1
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
	b.WriteString(")")
	switch {
	case f.Missing:
		b.WriteString(", content not given")
	case f.Binary:
		b.WriteString(", binary, content not shown")
	}
	b.WriteString("\n")
	return b.String()
}

// maxNamed bounds how many unexamined pieces have an entry of their own.
const maxNamed = 100

func (l *layout) omit(name, reason string) {
	switch n := len(l.omitted); {
	case n > 0 && l.omitted[n-1].Part == name && l.omitted[n-1].Reason == reason, n > maxNamed:
	case n == maxNamed:
		l.omitted = append(l.omitted, rule.Unexamined{Part: "more", Reason: "further pieces were not examined either"})
	default:
		l.omitted = append(l.omitted, rule.Unexamined{Part: name, Reason: reason})
	}
}

// omitFrom omits the units from index i on.
func (l *layout) omitFrom(i, maxParts int) {
	reason := fmt.Sprintf("the subject has more than the %d parts that one evaluation judges", maxParts)
	for _, u := range l.units[i:] {
		l.omit(u.label, reason)
		if u.hunk >= 0 {
			l.partialHunks[u.hunk] = true
		}
	}
	l.units = l.units[:i]
}

// media are endings of images, sounds, films and fonts, which rules about text do not concern. Any other binary file may be a
// text file that a repository setting hides from the diff.
var media = map[string]bool{
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true, ".ico": true, ".bmp": true, ".avif": true,
	".tif": true, ".tiff": true, ".woff": true, ".woff2": true, ".ttf": true, ".otf": true, ".eot": true, ".mp3": true,
	".wav": true, ".ogg": true, ".flac": true, ".mp4": true, ".webm": true, ".mov": true,
}

func (l *layout) findUnseen(s *subject.Subject) {
	l.unseen = append(l.unseen, l.omitted...)
	for i := range s.Files {
		switch f := &s.Files[i]; {
		case f.Missing:
			l.unseen = append(l.unseen, rule.Unexamined{Part: f.Path, Reason: "the file was named without its content"})
		case f.Binary && !media[strings.ToLower(path.Ext(f.Path))]:
			l.unseen = append(l.unseen, rule.Unexamined{Part: f.Path, Reason: "the file is binary"})
		}
	}
}

// contains reports whether a phrase occurs in the text of the subject.
func (l *layout) contains(phrase string) bool {
	return strings.Contains(l.lead, phrase) || slices.ContainsFunc(l.units, func(u unit) bool { return strings.Contains(u.text, phrase) })
}
