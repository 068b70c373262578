package subject

import (
	"regexp"
	"strings"
)

// The parser is our own. The libraries we tried drop what they do not understand: lines beyond a hunk's count and whole
// combined diffs pass for text between files, and names without prefix lose their first folder. Here such a loss would mean
// that a change is judged in part, so every line must be accounted for: a line that looks like a part of a change but is in
// no hunk is an error. The shape of headers and hunks follows git apply and diff -u; headers of Subversion, Mercurial, CVS
// and Bazaar differ only in what stands before the --- line. Property changes of Subversion count as mode changes.

// parseDiff reads unified diffs of any number of files. The error is a *diffError.
func parseDiff(text string) ([]File, error) {
	if before, _, ok := strings.Cut(text, "\x00"); ok {
		return nil, brokenAt(1+strings.Count(before, "\n"), "holds a NUL character; make binary files show as such")
	}
	// Lines are handed out as slices of one array, which never grows: each line of text makes at most one.
	p := diffParser{cursor: newCursor(text), lines: make([]Line, 0, strings.Count(text, "\n")+1)}
	for !p.end {
		if err := p.step(); err != nil {
			return nil, err
		}
		if len(p.files) > MaxFiles {
			return nil, brokenAt(p.no, "brings the diff to more than %d files; split it", MaxFiles)
		}
	}
	if len(p.files) == 0 {
		return nil, noDiff(text)
	}
	return p.files, nil
}

// IsDiff reports whether a text looks like a unified diff, sound or broken, rather than like code or prose: some line of it
// begins a file or a hunk.
func IsDiff(text string) bool {
	for c := newCursor(text); !c.end; c.advance() {
		if c.has("diff --git ") || c.has("diff --cc ") || c.has("diff --combined ") || c.has("@@ -") || c.has("@@@ -") ||
			c.has("--- ") && strings.HasPrefix(c.ahead(1), "+++ ") {
			return true
		}
	}
	return false
}

type diffParser struct {
	cursor
	files []File
	lines []Line // of all hunks
	spans []span // room for the spans of one hunk header
	zone  zone
}

// zone tells what may stand between files.
type zone int

const (
	opening zone = iota // before the first header: anything
	message             // a commit message or mail: anything but a bare hunk
	tail                // behind a file: nothing that could be a line of a hunk
	remark              // behind a line of text that follows a file: nothing that could be a changed line
)

// noDiff says why a text without any file header is no diff.
func noDiff(text string) error {
	const advice = "send the output of git diff or diff -u"
	switch {
	case strings.Contains(text, "\x1b["):
		return brokenAt(1, "holds terminal colours; make the diff with --no-color")
	case strings.Contains(text, "\n***************\n"):
		return brokenAt(1, "is a context diff; "+advice)
	}
	return brokenAt(1, "is not a unified diff: it has no file header such as diff --git a/x b/x, or --- a/x and +++ b/x; "+advice)
}

// step reads one file, or one line that belongs to none.
func (p *diffParser) step() error {
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
	if f, ok, err := p.unshown(); ok || err != nil {
		p.add(f)
		p.zone = remark
		p.advance()
		return err
	}
	return p.betweenFiles()
}

// add takes in a file that is read to its end.
func (p *diffParser) add(f File) {
	if f.Path != "" {
		p.files = append(p.files, f)
	}
	p.zone = tail
}

// atFileLines reports whether a file begins here with --- and +++ lines alone. As in git, they count only before a hunk.
func (p *diffParser) atFileLines() bool {
	return p.has("--- ") && strings.HasPrefix(p.ahead(1), "+++ ") && strings.HasPrefix(p.ahead(2), "@@ -")
}

// strayHunk refuses a hunk that belongs to no file. Text that merely begins with @@ may stand before the first file.
func (p *diffParser) strayHunk() error {
	_, ok := parseHunkHeader(p.line, parentsOf(p.line), p.spans)
	if ok || p.zone == tail || p.zone == remark {
		return brokenAt(p.no, "%s is a hunk without a file header before it; send the --- and +++ lines too", excerpt(p.line))
	}
	p.advance()
	return nil
}

// commitStart matches the first line of a commit or mail, whose text may then hold anything.
var commitStart = regexp.MustCompile(`^(commit [0-9a-f]{7,64}\b|From [0-9a-f]{40,64} |[0-9a-f]{7,64} |# HG changeset patch|changeset: )`)

// betweenFiles passes over a line that belongs to no file, unless it looks like a part of a hunk that was counted short.
func (p *diffParser) betweenFiles() error {
	line := p.line
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
