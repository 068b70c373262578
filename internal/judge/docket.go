package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// docket is a subject cut into units: what verdicts are kept for, and what parts are packed from.
type docket struct {
	// lead is shown on top of every part: where the subject belongs, and facts, action and claim if they are short and there
	// are files that they explain.
	lead      string
	leadBytes int // size of it as in subject.Size
	units     []unit
	room      int // bytes of units in one part
	hunks     int
	// maimed holds the numbers of hunks that lines were dropped from.
	maimed map[int]bool
	// dropped names what is in no unit, for the caller's account.
	dropped []rule.Unexamined
	// blind names everything that the model cannot see and that could break a rule: what was dropped, files without content,
	// and binary files that are not plain media. It forbids ALLOW.
	blind []rule.Unexamined
}

// unit is a piece of a subject that is not cut further: a hunk, a piece of a long hunk, a file without hunks, or the facts,
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
	// content is what the unit says without line numbers, which move with every other change.
	content [32]byte
}

// cutUp cuts s into units for parts of about limit bytes each, along files and hunks. Long hunks are cut between lines; what
// still does not fit, or lies beyond the last part, is dropped and named, never cut.
func cutUp(s *subject.Subject, limit, maxParts int) docket {
	d := docket{maimed: map[int]bool{}, lead: placeText(s)}
	core := coreUnits(s)
	d.room = limit - len(d.lead)
	size := 0
	for _, u := range core {
		size += len(u.text)
	}
	// Facts, action and claim explain the rest, so every part shows them if that leaves room for the rest.
	shared := len(s.Files) > 0 && size <= d.room/2
	for _, u := range core {
		switch {
		case shared:
			d.lead += u.text
			d.leadBytes += u.bytes
			d.room -= len(u.text)
		case len(u.text) > d.room:
			d.drop(u.label, fmt.Sprintf("it is longer than the %d bytes that one model call may see", limit))
		default:
			d.units = append(d.units, u)
		}
	}
	for i := range s.Files {
		d.addFile(s, i, d.room)
	}
	parts := d.pack(d.all())
	if len(parts) > maxParts {
		first := parts[maxParts].units[0]
		d.dropFrom(first, maxParts)
	}
	for i := range d.units {
		d.units[i].content = d.units[i].hash()
	}
	d.nameUnseen(s)
	return d
}

// all lists the numbers of all units.
func (d *docket) all() []int {
	out := make([]int, len(d.units))
	for i := range out {
		out[i] = i
	}
	return out
}

// placeText is shown on top of every part.
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

func (d *docket) addFile(s *subject.Subject, i, room int) {
	f := &s.Files[i]
	head := fileHead(f)
	if len(f.Hunks) == 0 {
		d.units = append(d.units, unit{file: i, head: head, hunk: -1, label: f.Path})
	}
	for k := range f.Hunks {
		d.addHunk(f, &f.Hunks[k], unit{file: i, head: head, hunk: d.hunks, label: f.Path}, room-len(head))
		d.hunks++
	}
}

// addHunk appends the units of a hunk to d, each like its pattern and at most room bytes long.
func (d *docket) addHunk(f *subject.File, h *subject.Hunk, like unit, room int) {
	head := "@@ " + visible(h.Section) + "\n"
	text := []byte(head)
	cur := like
	flush := func() {
		if len(text) > len(head) {
			cur.text = string(text)
			d.units = append(d.units, cur)
		}
		cur, text = like, append(text[:0], head...)
	}
	for _, l := range h.Lines {
		before := len(text)
		text = appendLine(text, l)
		n := len(text) - before
		if len(head)+n > room {
			text = text[:before]
			d.drop(f.Path, fmt.Sprintf("line %d is longer than one model call may see", max(l.New, l.Old)))
			d.maimed[like.hunk] = true
			continue
		}
		if len(text) > room {
			text = text[:before]
			flush()
			text = appendLine(text, l)
		}
		if l.Op != subject.OpDelete {
			cur.bytes += len(l.Text) + 1
			if cur.to = l.New; cur.from == 0 {
				cur.from = l.New
			}
		}
	}
	flush()
}

// hash is the hash of what the unit says. Line numbers are left out: each line of a file begins with its number, a bar and
// a sign, and no other text does.
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
func appendLine(dst []byte, l subject.Line) []byte {
	if l.Op != subject.OpDelete {
		dst = strconv.AppendInt(dst, int64(l.New), 10)
	}
	dst = append(dst, '|', ' ', byte(l.Op))
	dst = append(dst, visible(l.Text)...)
	return append(dst, '\n')
}

func fileHead(f *subject.File) string {
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

// maxNamed bounds how many unexamined pieces are named one by one.
const maxNamed = 100

func (d *docket) drop(name, reason string) {
	switch n := len(d.dropped); {
	case n > 0 && d.dropped[n-1].Part == name && d.dropped[n-1].Reason == reason, n > maxNamed:
	case n == maxNamed:
		d.dropped = append(d.dropped, rule.Unexamined{Part: "more", Reason: "further pieces were not examined either"})
	default:
		d.dropped = append(d.dropped, rule.Unexamined{Part: name, Reason: reason})
	}
}

// dropFrom drops the units from index i on.
func (d *docket) dropFrom(i, maxParts int) {
	reason := fmt.Sprintf("the subject has more than the %d parts that one evaluation judges", maxParts)
	for _, u := range d.units[i:] {
		d.drop(u.label, reason)
		if u.hunk >= 0 {
			d.maimed[u.hunk] = true
		}
	}
	d.units = d.units[:i]
}

// media are endings of files whose content is an image, a sound, a film or a font: nothing that rules about text speak of.
// Any other binary file may be a text file that a repository setting hides from the diff.
var media = map[string]bool{
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true, ".ico": true, ".bmp": true, ".avif": true,
	".tif": true, ".tiff": true, ".woff": true, ".woff2": true, ".ttf": true, ".otf": true, ".eot": true, ".mp3": true,
	".wav": true, ".ogg": true, ".flac": true, ".mp4": true, ".webm": true, ".mov": true,
}

func (d *docket) nameUnseen(s *subject.Subject) {
	d.blind = append(d.blind, d.dropped...)
	for i := range s.Files {
		switch f := &s.Files[i]; {
		case f.Missing:
			d.blind = append(d.blind, rule.Unexamined{Part: f.Path, Reason: "the file was named without its content"})
		case f.Binary && !media[strings.ToLower(path.Ext(f.Path))]:
			d.blind = append(d.blind, rule.Unexamined{Part: f.Path, Reason: "the file is binary"})
		}
	}
}
