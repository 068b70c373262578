package diff

import (
	"strings"
)

// header holds the lines before the hunks of a file.
type header struct {
	line     int    // its first line
	operands string // of the diff --git line
	hasFile  bool   // there are --- and +++ lines
	file     names  // the names in them
	rawFile  names  // the text of these lines behind their mark
	differ   names  // in a line that says that two files differ
	move     names  // in rename or copy lines, which never have prefixes
	change   Change // from extended lines, else ""
	mode     bool   // the mode changes
	isBinary bool
	isMerge  bool // of a combined diff
	hasText  tri  // whether the file has new content that hunks must show
	// Modes and names of blobs, old and new, as far as the header has them.
	oldMode, newMode, oldBlob, newBlob string
	patch                              *binaryPatch
	indexName                          string // in a line Index:
}

// tri is a boolean that may be unknown.
type tri int

const (
	unknown tri = iota
	no
	yes
)

// gitFile reads a file that begins with a diff --git line.
func (p *parser) gitFile() error {
	h := header{line: p.no, operands: p.line[len("diff --git "):]}
	p.remarks.git = true
	p.advance()
	for !p.end {
		more, err := p.extendedLine(&h)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	f, err := h.fileOf(h.resolve())
	if err != nil {
		return err
	}
	return p.finish(f, &h, 1)
}

// finish reads the hunks of a file and checks that they agree with its header.
func (p *parser) finish(f File, h *header, parents int) error {
	f.Binary = h.isBinary
	f.OldMode, f.NewMode, f.OldBlob, f.NewBlob = h.oldMode, h.newMode, h.oldBlob, h.newBlob
	if h.hasFile && !p.has("@@") {
		return brokenAt(p.no, "a hunk must follow the --- and +++ lines; send the whole diff")
	}
	if h.isBinary && p.has("@@") {
		return brokenAt(p.no, "a hunk follows a file that is shown as binary")
	}
	p.garbled = false
	if err := p.hunks(&f, parents, h.operands == "" && !h.isMerge); err != nil {
		return err
	}
	for i := range f.Hunks {
		switch {
		case f.Change == Added && f.Hunks[i].OldLines > 0:
			return brokenAt(h.line, "the file is new, but its hunk has old lines")
		case f.Change == Deleted && f.Hunks[i].NewLines > 0:
			return brokenAt(h.line, "the file is deleted, but its hunk has new lines")
		}
	}
	if len(f.Hunks) == 0 && !f.Binary && f.Change != Deleted {
		f.Missing = h.hasText == yes || h.hasText == unknown && (f.Change == Added || f.Change == Modified)
	}
	if p.nul && p.decodeLines(&f) {
		p.garbled = true
	}
	f.Unseen = f.unseen()
	if f.Unseen == "" && f.Change == Mode && !h.staysFile() {
		f.Unseen = modeUnseen
	}
	if f.Unseen == "" && p.garbled {
		f.Unseen = garbledUnseen
	}
	if h.patch != nil {
		if err := p.unpack(&f, h); err != nil {
			return err
		}
	}
	p.add(f)
	return nil
}

// extendedLine reads one line of a git header. It returns false at the first other line, which it does not read.
func (p *parser) extendedLine(h *header) (more bool, err error) {
	word := func(prefix string) bool { return strings.HasPrefix(p.line, prefix) }
	value := func(prefix string) string { return p.line[len(prefix):] }
	ok := true
	switch {
	case word("index "):
		h.index(value("index "))
	case word("old mode "):
		h.mode, h.oldMode = true, modeOf(value("old mode "))
	case word("new mode "):
		h.mode, h.newMode = true, modeOf(value("new mode "))
	case word("mode "): // of a combined diff, with a mode per parent
		older, newer, _ := strings.Cut(value("mode "), "..")
		older, _, _ = strings.Cut(older, ",")
		h.mode, h.oldMode, h.newMode = true, modeOf(older), modeOf(newer)
	case word("new file mode "):
		h.change, h.newMode = Added, modeOf(value("new file mode "))
	case word("deleted file mode "):
		older, _, _ := strings.Cut(value("deleted file mode "), ",")
		h.change, h.oldMode = Deleted, modeOf(older)
	case word("rename from "):
		h.change = Renamed
		h.move.old, ok = wholeName(value("rename from "))
	case word("rename to "):
		h.change = Renamed
		h.move.new, ok = wholeName(value("rename to "))
	case word("copy from "):
		h.change = Copied
		h.move.old, ok = wholeName(value("copy from "))
	case word("copy to "):
		h.change = Copied
		h.move.new, ok = wholeName(value("copy to "))
	case word("similarity index "):
		if value("similarity index ") == "100%" {
			h.hasText = no
		} else {
			h.hasText = yes
		}
	case word("dissimilarity index "):
	case word("Binary files ") && strings.HasSuffix(p.line, " differ"):
		h.isBinary = true
	case word("Binary file ") && strings.HasSuffix(p.line, " has changed"):
		h.isBinary = true
	case p.line == "GIT binary patch":
		h.isBinary = true
		h.patch, err = p.binaryPatch()
		return false, err
	case word("--- "):
		return false, p.fileLines(h)
	default:
		return false, nil
	}
	if !ok {
		return false, brokenAt(p.no, "cannot read the file name in %s", excerpt(p.line))
	}
	p.advance()
	return true, nil
}

// fileLines reads the --- line (a combined diff may have one per parent) and the +++ line.
func (p *parser) fileLines(h *header) (err error) {
	h.hasFile = true
	for first := true; p.has("--- ") && (first || h.isMerge); first = false {
		h.rawFile.old = p.line[len("--- "):]
		if h.file.old, _, err = p.fileLine(); err != nil {
			return err
		}
	}
	if !p.has("+++ ") {
		return brokenAt(p.no, "a +++ line must follow the --- line; send the whole diff")
	}
	h.rawFile.new = p.line[len("+++ "):]
	h.file.new, _, err = p.fileLine()
	return err
}

// fileLine reads a --- or +++ line.
func (p *parser) fileLine() (name, stamp string, err error) {
	name, stamp, ok := fileLineName(p.line[len("--- "):])
	if !ok {
		return "", "", brokenAt(p.no, "cannot read the file name in %s", excerpt(p.line))
	}
	p.advance()
	return name, stamp, nil
}
