package diff

import (
	"strings"
)

// resolve returns the names of a file with a git header, without prefixes. Rename and copy lines come first, then the --- and
// +++ lines, then the first line. It fails if they contradict one another, as two readers could then see two files.
func (h *header) resolve() (names, error) {
	first, split := splitNames(h.operands, " ")
	switch {
	case h.move.old != "" && h.move.new != "":
		if h.hasFile && !(endsInPath(h.file.old, h.move.old) && endsInPath(h.file.new, h.move.new)) {
			return names{}, h.contradiction()
		}
		return h.move, nil
	case h.move != names{}:
		return names{}, brokenAt(h.line, "the header has only one of the names of a rename or copy")
	case h.hasFile && (h.file.old == devNull || h.file.new == devNull):
		return h.resolveHalf(first, split)
	case h.hasFile:
		return h.file.stripped(), nil
	case split:
		return first.stripped(), nil
	}
	return names{}, brokenAt(h.line, "cannot find the file name in %s", excerpt("diff --git "+h.operands))
}

// resolveHalf returns the names if the --- or the +++ line is /dev/null. The first line then shows the prefix.
func (h *header) resolveHalf(first names, split bool) (names, error) {
	old, newer := h.file.old, h.file.new
	switch {
	case old == devNull && newer == devNull:
		return names{}, h.contradiction()
	case !split && old == devNull:
		first.new = newer
		first.old, split = strings.CutSuffix(h.operands, " "+newer)
	case !split:
		first.old = old
		first.new, split = strings.CutPrefix(h.operands, old+" ")
	}
	if !split || old != devNull && old != first.old || newer != devNull && newer != first.new {
		return names{}, h.contradiction()
	}
	first = first.stripped()
	if old == devNull {
		first.old = devNull
	} else {
		first.new = devNull
	}
	return first, nil
}

func (h *header) contradiction() error {
	return brokenAt(h.line, "the lines of the file header name different files")
}

// endsInPath reports whether name is path, or a prefix of one folder and path.
func endsInPath(name, path string) bool {
	prefix, ok := strings.CutSuffix(name, path)
	folder := strings.TrimRight(prefix, "/")
	return ok && (prefix == "" || folder != prefix && !strings.Contains(folder, "/"))
}

// fileOf returns the file of a header and of names without prefixes. It passes on an error of the names.
func (h *header) fileOf(n names, err error) (File, error) {
	if err != nil {
		return File{}, err
	}
	f := File{Change: h.change}
	switch {
	case f.Change != "":
	case n.old == devNull:
		f.Change = Added
	case n.new == devNull:
		f.Change = Deleted
	case h.mode && h.hasText != yes && !h.hasFile && !h.isBinary:
		f.Change = Mode
	case n.old != n.new && h.file.prefixed():
		f.Change = Renamed
	default:
		f.Change = Modified
	}
	name := n.new
	if name == devNull || f.Change == Deleted {
		name = n.old
	}
	if name == devNull {
		return File{}, brokenAt(h.line, "the file header names no file")
	}
	if f.Path, err = diffPath(name); err != nil {
		return File{}, brokenAt(h.line, "the path %s", err.Error())
	}
	if f.Change == Renamed || f.Change == Copied {
		if f.OldPath, err = diffPath(n.old); err != nil {
			return File{}, brokenAt(h.line, "the old path %s", err.Error())
		}
	}
	if f.Others, err = h.others(&f, name); err != nil {
		return File{}, err
	}
	return f, nil
}
