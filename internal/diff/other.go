package diff

import (
	"regexp"
	"strings"
)

// combinedFile reads a file of a combined diff, which shows a merge against all its parents. Its first line has the path
// without a prefix.
func (p *parser) combinedFile() error {
	h := header{line: p.no, isMerge: true}
	p.remarks.git = true
	_, operand, _ := strings.Cut(p.line[len("diff "):], " ")
	path, ok := wholeName(operand)
	if !ok {
		return brokenAt(p.no, "cannot read the file name in %s", excerpt(p.line))
	}
	p.advance()
	for more := true; more && !p.end; {
		var err error
		if more, err = p.extendedLine(&h); err != nil {
			return err
		}
	}
	if h.hasFile && h.file.new != devNull && !endsInPath(h.file.new, path) {
		return h.contradiction()
	}
	n := names{path, path}
	if h.file.new == devNull {
		n.new = devNull
	}
	// A rename in a merge has one old name per parent; rules judge the new one.
	moved := h.change == Renamed || h.change == Copied
	if moved {
		h.change = Modified
	}
	f, err := h.fileOf(n, nil)
	if err != nil {
		return err
	}
	if err := p.finish(f, &h, parentsOf(p.line)); err != nil {
		return err
	}
	if last := &p.files[len(p.files)-1]; moved && last.Unseen == "" {
		last.Unseen = "it comes from another path, and the diff shows only what else has changed in it"
	}
	return nil
}

var (
	submoduleLine = regexp.MustCompile(`^Submodule (.+) (?:[0-9a-f]{7,64}\.{2,3}[0-9a-f]{7,64}(?: \(.*\))?:?|contains (?:un|mod).* content)$`)
	onlyInLine    = regexp.MustCompile(`^Only in .+: .+$`)
	otherKindLine = regexp.MustCompile(`^File .+ is an? .+ while file .+ is an? .+$`)
)

// fileWithoutText reads a line that names a file whose content the diff does not show: a binary file, a file that diff -q
// finds different, an unmerged file, or a submodule in the form of a log. It refuses a line of diff -r that may mean many files.
func (p *parser) fileWithoutText() (f File, ok bool, err error) {
	h := header{line: p.no, change: Modified}
	line := p.line
	if len(line) > 3*MaxPath {
		return f, false, nil // not a line of this kind
	}
	var n names
	submodule := false
	switch {
	case p.has("Binary files ") && strings.HasSuffix(line, " differ"):
		if n, ok = splitNames(strings.TrimSuffix(line[len("Binary files "):], " differ"), " and "); !ok {
			return f, false, brokenAt(p.no, "cannot find the file name in %s", excerpt(line))
		}
		h.isBinary, h.change, h.differ, n = true, "", n, n.stripped()
	case p.has("Files ") && strings.HasSuffix(line, " differ") && p.zone != message:
		rest := strings.TrimSuffix(line[len("Files "):], " differ")
		if n, ok = splitNames(rest, " and "); !ok {
			if n.old, n.new, ok = strings.Cut(rest, " and "); !ok {
				return f, false, nil
			}
		}
		h.differ, n = n, n.stripped()
	case p.has("Binary file ") && strings.HasSuffix(line, " has changed"):
		name := strings.TrimSuffix(line[len("Binary file "):], " has changed")
		h.isBinary, n = true, names{name, name}
	case p.has("* Unmerged path "):
		name, good := wholeName(line[len("* Unmerged path "):])
		if !good {
			return f, false, brokenAt(p.no, "cannot find the file name in %s", excerpt(line))
		}
		n = names{name, name}
	case p.has("Submodule "):
		found := submoduleLine.FindStringSubmatch(line)
		if found == nil {
			return f, false, nil
		}
		n, submodule = names{found[1], found[1]}, true
		switch {
		case strings.HasSuffix(strings.TrimSuffix(line, ":"), " (new submodule)"):
			h.change = Added
		case strings.HasSuffix(strings.TrimSuffix(line, ":"), " (submodule deleted)"):
			h.change = Deleted
		}
	case p.zone != message && onlyInLine.MatchString(line):
		return f, false, brokenAt(p.no, "%s may name a folder, and the files in it are not shown; give diff the option -N", excerpt(line))
	case p.zone != message && otherKindLine.MatchString(line):
		return f, false, brokenAt(p.no, "%s: diff does not show what changes; send the output of git diff --no-index", excerpt(line))
	default:
		return f, false, nil
	}
	f, err = h.fileOf(n, nil)
	f.Binary, f.Missing = h.isBinary, !h.isBinary
	if f.Unseen = f.unseen(); submodule {
		f.Unseen = submoduleUnseen
	}
	return f, err == nil, err
}
