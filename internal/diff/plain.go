package diff

import (
	"regexp"
	"strings"
	"time"
)

// plainFile reads a file that begins with --- and +++ lines. The name in a line Index: before them counts if the lines have
// only its last part, as those of CVS do.
func (p *parser) plainFile(index string) error {
	h := header{line: p.no, hasFile: true, change: Modified}
	h.indexName, h.rawFile.old = index, p.line[len("--- "):]
	oldName, oldStamp, err := p.plainLine()
	if err != nil {
		return err
	}
	h.rawFile.new = p.line[len("+++ "):]
	newName, newStamp, err := p.plainLine()
	if err != nil {
		return err
	}
	h.file = names{oldName, newName}
	p.remarks.root(oldName)
	p.remarks.root(newName)
	n := h.file.stripped()
	if index != "" && strings.HasSuffix(index, "/"+n.new) {
		n = names{index, index}
	}
	// Different names in a plain diff are mostly those of a backup, such as x.orig and x, and not a rename.
	switch {
	case n.old == devNull:
		h.change = Added
	case n.new == devNull:
		h.change = Deleted
	}
	f, err := h.fileOf(n, nil)
	if err != nil {
		return err
	}
	if err := p.finish(f, &h, 1); err != nil {
		return err
	}
	last := &p.files[len(p.files)-1]
	last.presume(oldStamp == "" || absent(oldStamp), absent(newStamp))
	return nil
}

// presume marks a file of one hunk as added or deleted if its time stamp says so and its hunk agrees. A stamp alone is not
// enough: files with the time stamp 0 do exist. Without a stamp, what was empty may not have been there: tools then make the file.
func (f *File) presume(added, deleted bool) {
	switch {
	case f.Change != Modified || len(f.Hunks) != 1:
	case added && f.Hunks[0].OldStart == 0:
		f.Change = Added
	case deleted && f.Hunks[0].NewStart == 0:
		f.Change = Deleted
	}
}

// spacedStamp matches a name and a time stamp whose tab has become blanks.
var spacedStamp = regexp.MustCompile(`^(.*\S) +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [+-]\d\d:?\d\d)?)$`)

// plainLine reads a --- or +++ line of a tool other than git, which may write backslashes.
func (p *parser) plainLine() (name, stamp string, err error) {
	name, stamp, err = p.fileLine()
	if found := spacedStamp.FindStringSubmatch(name); found != nil && stamp == "" {
		name, stamp = found[1], found[2]
	}
	return strings.ReplaceAll(name, `\`, "/"), stamp, err
}

// absent reports whether the stamp after a name says that the file does not exist on this side.
func absent(stamp string) bool {
	if strings.Contains(stamp, "(nonexistent)") || strings.Contains(stamp, "(revision 0)") {
		return true
	}
	for _, layout := range []string{"2006-01-02 15:04:05.999999999 -0700", "Mon Jan 02 15:04:05 2006 -0700"} {
		if t, err := time.Parse(layout, stamp); err == nil {
			return t.Equal(time.Unix(0, 0))
		}
	}
	return false
}

// indexFile reads a file that begins with a line Index:, as Subversion and CVS write it.
func (p *parser) indexFile() error {
	h := header{line: p.no}
	path := strings.TrimSpace(p.line[len("Index: "):])
	p.advance()
	p.advance()
	for p.has("RCS file: ") || p.has("retrieving revision ") || p.has("diff -") {
		p.advance()
	}
	switch {
	case p.atFileLines():
		return p.plainFile(path)
	case p.has("--- ") && strings.HasPrefix(p.ahead(1), "+++ "): // only properties change
		p.advance()
		p.advance()
		for !p.end && p.line == "" {
			p.advance()
		}
		if !p.has("Property changes on: ") {
			return brokenAt(p.no, "a hunk must follow the --- and +++ lines; send the whole diff")
		}
		h.change = Mode
	case p.has("Cannot display: "):
		h.isBinary = true
		p.advance()
		if p.has("svn:mime-type = ") {
			p.advance()
		}
	case p.line == "" && strings.HasPrefix(p.ahead(1), "Property changes on: "):
		h.change = Mode
	}
	f, err := h.fileOf(names{path, path}, nil)
	if err != nil {
		return err
	}
	return p.finish(f, &h, 1)
}

// properties skips the property changes of a file in a Subversion diff, which are metadata. It counts their hunks, so that it
// takes no line of a file for one of a property.
func (p *parser) properties() error {
	h := header{line: p.no, change: Mode}
	path := strings.TrimSpace(p.line[len("Property changes on: "):])
	f, err := h.fileOf(names{path, path}, nil)
	if err != nil {
		return err
	}
	if len(p.files) == 0 || p.files[len(p.files)-1].Path != f.Path {
		p.add(f)
	}
	p.advance()
	for p.advance(); !p.end; {
		switch {
		case p.has("## "):
			header := strings.ReplaceAll(p.line, "##", "@@")
			span, ok := parseHunkHeader(header, 1, p.spans)
			if !ok {
				return brokenAt(p.no, "%s is not the header of a property change", excerpt(p.line))
			}
			begun := len(p.lines)
			if err := p.hunkBody(span); err != nil {
				return err
			}
			p.lines = p.lines[:begun]
		case p.has("Added: svn:special"), p.has("Name: svn:special"): // Subversion writes the file as a link
			if at := &p.files[len(p.files)-1]; at.Unseen == "" {
				at.Unseen = "it becomes a link, and its target is not given"
			}
			p.advance()
		case p.has("Added: svn:externals"), p.has("Modified: svn:externals"), p.has("Name: svn:externals"):
			if at := &p.files[len(p.files)-1]; at.Unseen == "" {
				at.Unseen = "it brings the content of other repositories (svn:externals), which is not given"
			}
			p.advance()
		case p.line == "", p.has("   "), p.has("Added: "), p.has("Modified: "), p.has("Deleted: "), p.has("Name: "):
			p.advance()
		default:
			return nil
		}
	}
	return nil
}
