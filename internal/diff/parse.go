package diff

import (
	"regexp"
	"strings"
)

// Parse reads unified diffs of any number of files. The error names the line where the text breaks.
func Parse(text string) ([]File, error) {
	text = unmarkedText(text)
	// Hunks have slices of one array, which never grows: each line of text makes at most one line.
	p := parser{
		cursor: newCursor(text), lines: make([]Line, 0, strings.Count(text, "\n")+1),
		nul: strings.IndexByte(text, 0) >= 0, bytesLeft: MaxBytes, linesLeft: MaxLines,
	}
	for !p.end {
		if err := p.step(); err != nil {
			return nil, err
		}
		if len(p.files) > MaxFiles {
			return nil, brokenAt(p.no, "brings the diff to more than %d files; split it", MaxFiles)
		}
	}
	if len(p.files) == 0 {
		return nil, errNoDiff
	}
	addNamed(&p)
	if err := readRemarks(&p); err != nil {
		return nil, err
	}
	return p.files, nil
}

type parser struct {
	cursor
	files   []File
	lines   []Line // of all hunks
	spans   []span // the spans of one hunk header, reused
	zone    zone
	foreign foreign
	named   []string // paths in raw lines
	remarks remarks
	// nul is true for a diff with NUL characters: its lines wait in their raw form until [parser.decodeLines].
	nul bool
	// garbled is true if the current file has a line that is no text in any encoding.
	garbled bool
	// bytesLeft and linesLeft are how much more binary patches may unpack to.
	bytesLeft, linesLeft int
}

// zone is a part of a diff outside of files.
type zone int

const (
	opening zone = iota // before the first header: may hold any line
	message             // a commit message or mail: any line except a hunk
	tail                // after a file: no line that could be in a hunk
	remark              // after a line of text after a file: no line that could be a changed one
)

// errNoDiff is the error for a text without a file header.
var errNoDiff = brokenAt(1, "is not a unified diff: it has no file header such as diff --git a/x b/x, or --- a/x and +++ b/x; send the output of git diff or diff -u")

// step reads one file, or one line between files.
func (p *parser) step() error {
	switch {
	case p.has("diff --git "):
		return p.gitFile()
	case p.has("diff --cc "), p.has("diff --combined "):
		return p.combinedFile()
	case p.atFileLines():
		return p.plainFile("")
	case p.has("Index: ") && strings.HasPrefix(p.ahead(1), "====="):
		return p.indexFile()
	case p.has("Property changes on: ") && strings.HasPrefix(p.ahead(1), "____"):
		return p.properties()
	case p.has("@@"):
		return p.strayHunk()
	}
	if f, ok, err := p.fileWithoutText(); ok || err != nil {
		p.add(f)
		p.zone = remark
		p.advance()
		return err
	}
	return p.betweenFiles()
}

// add appends a file.
func (p *parser) add(f File) {
	if f.Path != "" {
		p.files = append(p.files, f)
	}
	// The names of a file without hunks hold for what follows.
	p.zone, p.foreign = tail, foreign{named: len(f.Hunks) == 0}
}

// atFileLines reports whether a file begins here with --- and +++ lines alone. As in git, they count only before a hunk.
func (p *parser) atFileLines() bool {
	return p.has("--- ") && strings.HasPrefix(p.ahead(1), "+++ ") && strings.HasPrefix(p.ahead(2), "@@ -")
}

// strayHunk refuses a hunk without a file. A text that begins with @@ may come before the first file.
func (p *parser) strayHunk() error {
	_, ok := parseHunkHeader(p.line, parentsOf(p.line), p.spans)
	if ok || p.zone == tail || p.zone == remark || p.foreign.named {
		return brokenAt(p.no, "%s is a hunk without a file header before it; send the --- and +++ lines too", excerpt(p.line))
	}
	p.advance()
	return nil
}

// commitStart matches the first line of a commit or mail, whose text may then hold anything.
var commitStart = regexp.MustCompile(`^(commit [0-9a-f]{7,64}\b|From [0-9a-f]{40,64} |[0-9a-f]{7,64} |# HG changeset patch|changeset: )`)

// betweenFiles skips a line that belongs to no file. It refuses one that looks like a line of a hunk with too low a count.
func (p *parser) betweenFiles() error {
	line := p.line
	if p.has("\x1b[") { // some of the headers may have no colour
		return brokenAt(p.no, "holds terminal colours; make the diff with --no-color")
	}
	if err := p.foreignLine(); err != nil {
		return err
	}
	if err := noteRaw(p); err != nil {
		return err
	}
	if err := noteRemark(p); err != nil {
		return err
	}
	switch {
	case commitStart.MatchString(line):
		p.zone = message
	case p.zone == opening || p.zone == message, strings.TrimSpace(line) == "":
	case line == "-- " || line == "--": // the signature of a mail
		p.zone = message
	case line[0] == '+', line[0] == '-', p.zone == tail && (line[0] == ' ' || line[0] == '\\'):
		return brokenAt(p.no, "%s belongs to no hunk; the header of the hunk before it counts too few lines, or a header is missing", excerpt(line))
	default:
		p.zone = remark
	}
	p.advance()
	return nil
}
