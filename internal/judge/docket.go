package judge

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// docket is a subject cut into parts that fit into one call each.
type docket struct {
	parts  []part
	blocks []block
	hunks  int
	// maimed holds the numbers of hunks that lines were dropped from.
	maimed map[int]bool
	// dropped names what is in no part, for the caller's account.
	dropped []rule.Unexamined
	// blind names everything that the model cannot see and that could break a rule: what was dropped, files without content,
	// and binary files that are not plain media. It forbids ALLOW.
	blind []rule.Unexamined
}

// part is what one call sees.
type part struct {
	text   string
	blocks []int  // indices into docket.blocks
	label  string // the files in it, for messages
}

// block is a piece of a subject that is not cut further.
type block struct {
	file  int // index of the file, -1 for facts, action and claim
	head  string
	text  string
	hunk  int // number of the hunk it belongs to, -1 for none; a long hunk has several blocks
	bytes int // size as in subject.Size
	label string
}

// split cuts s into at most maxParts parts of about budget bytes each, along files and hunks. Long hunks are cut between
// lines; what still does not fit is dropped and named, never cut.
func split(s *subject.Subject, budget, maxParts int) docket {
	d := docket{maimed: map[int]bool{}}
	place := placeText(s)
	core := coreBlocks(s)
	room := budget - len(place)
	size := 0
	for _, b := range core {
		size += len(b.text)
	}
	// Facts, action and claim explain the rest, so every part shows them if that leaves room for the rest.
	shared := size <= room/2
	for _, b := range core {
		if len(b.text) > room {
			d.drop(b.label, fmt.Sprintf("it is longer than the %d bytes that one model call may see", budget))
			continue
		}
		d.blocks = append(d.blocks, b)
	}
	common := len(d.blocks)
	if shared {
		room -= size
	}
	for i := range s.Files {
		d.addFile(s, i, room)
	}
	d.pack(place, room, common, shared, maxParts)
	d.nameUnseen(s)
	return d
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

func coreBlocks(s *subject.Subject) []block {
	var out []block
	if s.Intent != "" {
		out = append(out, block{file: -1, hunk: -1, label: "intent", text: "claim of the author, not verified:\n" + barred(s.Intent)})
	}
	if s.Action != "" {
		out = append(out, block{file: -1, hunk: -1, label: "action", text: "action:\n" + barred(s.Action), bytes: len(s.Action)})
	}
	if len(s.Facts) > 0 {
		n := 0
		if b, err := json.Marshal(s.Facts); err == nil {
			n = len(b)
		}
		out = append(out, block{file: -1, hunk: -1, label: "facts", text: "facts:\n" + indentedJSON(s.Facts) + "\n", bytes: n})
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
		d.blocks = append(d.blocks, block{file: i, head: head, hunk: -1, label: f.Path})
	}
	for k := range f.Hunks {
		d.addHunk(f, &f.Hunks[k], block{file: i, head: head, hunk: d.hunks, label: f.Path}, room-len(head))
		d.hunks++
	}
}

// addHunk appends the blocks of a hunk to d, each like its pattern and at most room bytes long.
func (d *docket) addHunk(f *subject.File, h *subject.Hunk, like block, room int) {
	head := "@@ " + visible(h.Section) + "\n"
	text := []byte(head)
	cur := like
	flush := func() {
		if len(text) > len(head) {
			cur.text = string(text)
			d.blocks = append(d.blocks, cur)
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
		}
	}
	flush()
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

// pack fills parts with blocks in order. The first common blocks are shown in every part if shared.
func (d *docket) pack(place string, room, common int, shared bool, maxParts int) {
	prefix, first := place, 0
	var prefixBlocks []int
	if shared {
		first = common
		for i := range common {
			prefix += d.blocks[i].text
			prefixBlocks = append(prefixBlocks, i)
		}
	}
	var text strings.Builder
	text.WriteString(prefix)
	cur := part{blocks: append([]int{}, prefixBlocks...)}
	file, used := -1, 0
	for i := first; i < len(d.blocks); i++ {
		b := &d.blocks[i]
		n := len(b.text)
		if b.file != file {
			n += len(b.head)
		}
		if used > 0 && used+n > room {
			if len(d.parts)+1 == maxParts {
				d.dropFrom(i, maxParts)
				break
			}
			cur.text = text.String()
			d.parts = append(d.parts, cur)
			text.Reset()
			text.WriteString(prefix)
			cur = part{blocks: append([]int{}, prefixBlocks...)}
			file, used, n = -1, 0, len(b.text)+len(b.head)
		}
		if b.file != file {
			text.WriteString(b.head)
			file = b.file
		}
		text.WriteString(b.text)
		used += n
		cur.blocks = append(cur.blocks, i)
		cur.label = span(cur.label, b.label)
	}
	cur.text = text.String()
	d.parts = append(d.parts, cur)
}

// span extends a label such as "a.go" or "a.go to b.go" up to last.
func span(label, last string) string {
	first, _, _ := strings.Cut(label, " to ")
	if first == "" || first == last {
		return last
	}
	return first + " to " + last
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

// dropFrom drops the blocks from index i on.
func (d *docket) dropFrom(i, maxParts int) {
	reason := fmt.Sprintf("the subject has more than the %d parts that one evaluation judges", maxParts)
	for _, b := range d.blocks[i:] {
		d.drop(b.label, reason)
	}
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
