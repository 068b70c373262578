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
	move     names  // in rename or copy lines, which never have prefixes
	change   Change // from extended lines, else ""
	mode     bool   // the mode changes
	isBinary bool
	isMerge  bool // of a combined diff
	hasText  tri  // whether the file has new content that hunks must show
}

// tri is a boolean that may be unknown.
type tri int

const (
	unknown tri = iota
	no
	yes
)

func triOf(b bool) tri {
	if b {
		return yes
	}
	return no
}

// gitFile reads a file that begins with a diff --git line.
func (p *parser) gitFile() error {
	h := header{line: p.no, operands: p.line[len("diff --git "):]}
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
	if h.hasFile && !p.has("@@") {
		return brokenAt(p.no, "a hunk must follow the --- and +++ lines; send the whole diff")
	}
	if h.isBinary && p.has("@@") {
		return brokenAt(p.no, "a hunk follows a file that is shown as binary")
	}
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
		h.hasText = triOf(hasContent(value("index ")))
	case word("old mode "), word("new mode "), word("mode "):
		h.mode = true
	case word("new file mode "):
		h.change = Added
	case word("deleted file mode "):
		h.change = Deleted
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
		h.hasText = triOf(value("similarity index ") != "100%")
	case word("dissimilarity index "):
	case word("Binary files ") && strings.HasSuffix(p.line, " differ"):
		h.isBinary = true
	case word("Binary file ") && strings.HasSuffix(p.line, " has changed"):
		h.isBinary = true
	case p.line == "GIT binary patch":
		h.isBinary = true
		return false, p.binaryPatch()
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
		if h.file.old, _, err = p.fileLine(); err != nil {
			return err
		}
	}
	if !p.has("+++ ") {
		return brokenAt(p.no, "a +++ line must follow the --- line; send the whole diff")
	}
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

// hasContent reports whether a line "index OLD..NEW MODE" names new content that is not empty, which hunks must show.
func hasContent(index string) bool {
	const empty1, empty256 = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	hashes, _, _ := strings.Cut(index, " ")
	older, newer, _ := strings.Cut(hashes, "..")
	return older != newer && strings.Trim(newer, "0") != "" &&
		!strings.HasPrefix(empty1, newer) && !strings.HasPrefix(empty256, newer)
}

// binaryPatch skips the payload of a binary patch: up to two blocks, each ended by an empty line. No rule can judge the
// payload, but a line that is not payload must not get lost in it.
func (p *parser) binaryPatch() error {
	p.advance()
	for p.has("literal ") || p.has("delta ") {
		for p.advance(); !p.end && p.line != ""; p.advance() {
			if !isPayload(p.line) {
				return brokenAt(p.no, "%s is no line of the binary patch before it", excerpt(p.line))
			}
		}
		p.advance()
	}
	return nil
}

// isPayload reports whether a line is a letter for its length and 5 characters for every 4 bytes of that length.
func isPayload(line string) bool {
	length := 0
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		length = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		length = int(c-'a') + 27
	}
	return length > 0 && len(line) == 1+(length+3)/4*5
}
