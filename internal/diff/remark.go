package diff

import (
	"regexp"
	"strings"
)

// remarks notes the text beside the files of a diff for [readRemarks]. diff writes which files differ and which are in one folder
// only in the language of its user: the paths in a line show what it is about, its words do not.
type remarks struct {
	lines []remarkLine
	roots map[string]bool // first folders of the names of files without a git header
	git   bool            // a file has a git header: then no line beside files changes any
}

type remarkLine struct {
	no   int
	text string
}

// maxRemarks bounds the noted lines: one for each file.
const maxRemarks = MaxFiles

// cutLine matches a line by which a tool says that it left out the rest.
var cutLine = regexp.MustCompile(`(?i)^\s*(?:\.\.\.|…)|^\s*[\[(<].*(?:truncat|omit|elided|snip|skipped|too (?:large|big|long)|cut off|` +
	`more (?:lines|files|hunks|changes|bytes|characters)|remaining).*[\])>]\W*$|` +
	`\b(?:diff|output|patch|content|response|result)\b.*\b(?:truncated|suppressed|cut off|not shown|too (?:large|big|long))\b`)

// noteRemark notes a line of text. It refuses one after a file by which a tool says that the diff is cut.
func noteRemark(p *parser) error {
	if p.zone == message || p.line == "" || len(p.line) > 3*MaxPath {
		return nil
	}
	if (p.zone == tail || p.zone == remark) && cutLine.MatchString(p.line) {
		return brokenAt(p.no, "%s says that the diff is cut; send the whole diff", excerpt(p.line))
	}
	if len(p.remarks.lines) <= maxRemarks && (strings.Contains(p.line, "/") || strings.Contains(p.line, ": ")) {
		p.remarks.lines = append(p.remarks.lines, remarkLine{p.no, p.line})
	}
	return nil
}

// root notes the first folder of a name in a --- or +++ line without a git header.
func (r *remarks) root(name string) {
	if first, _, ok := strings.Cut(strings.TrimLeft(name, "/"), "/"); ok && first != "" {
		if r.roots == nil {
			r.roots = map[string]bool{}
		}
		r.roots[first] = true
	}
}

// readRemarks adds the files that lines beside those of a plain diff name by both of their paths, and refuses a line that names a folder
// of the diff and something in it.
func readRemarks(p *parser) error {
	if p.remarks.git {
		return nil
	}
	if n := len(p.remarks.lines); n > maxRemarks {
		return brokenAt(p.remarks.lines[n-1].no, "brings the text beside files to more than %d lines with paths; send the diff alone", maxRemarks)
	}
	shown := map[string]bool{}
	for i := range p.files {
		shown[p.files[i].Path] = true
	}
	for _, l := range p.remarks.lines {
		if path := pairIn(l.text); path != "" {
			if !shown[path] && len(p.files) < MaxFiles {
				shown[path] = true
				p.files = append(p.files, File{Path: path, Change: Modified, Missing: true, Unseen: "the diff names it and does not show its change"})
			}
			continue
		}
		before, name, ok := strings.Cut(l.text, ": ")
		words := strings.Fields(before)
		if !ok || len(words) < 2 || strings.TrimSpace(name) == "" {
			continue
		}
		if first, _, _ := strings.Cut(strings.TrimLeft(words[len(words)-1], "/"), "/"); p.remarks.roots[first] {
			return brokenAt(l.no, "%s may name a folder, and the files in it are not shown; give diff the option -N", excerpt(l.text))
		}
	}
	return nil
}

// pairIn returns the path that two words of a line name in different folders, as in "Binary files a/x and b/x differ" in any language;
// "" for another line.
func pairIn(line string) string {
	if strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Common subdirectories: ") {
		return ""
	}
	var paths []string
	for word := range strings.FieldsSeq(line) {
		if word = strings.Trim(word, "\"'`‘’“”„«»()[],.;:"); strings.Contains(word, "/") {
			paths = append(paths, word)
		}
	}
	if len(paths) != 2 || paths[0] == paths[1] {
		return ""
	}
	n := names{paths[0], paths[1]}
	if n = n.stripped(); n.old != n.new {
		return ""
	}
	path, err := diffPath(n.new)
	if err != nil {
		return ""
	}
	return path
}
