package diff

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/charset"
)

// MaxOthers is the most further readings that the path of a file may have. A diff beyond it is refused: nobody writes one without
// the wish to mislead.
const MaxOthers = 16

// Paths returns all readings of the path of a file: Path, then Others. OldPath, which is another file, is not among them.
func (f *File) Paths() []string {
	return append([]string{f.Path}, f.Others...)
}

// AnyPath reports whether is holds for some reading of the path of a file.
func (f *File) AnyPath(is func(path string) bool) bool {
	return is(f.Path) || slices.ContainsFunc(f.Others, is)
}

// Readings returns the further readings of a path that comes without a diff and that [CleanPath] made clean.
func Readings(raw, clean string) []string {
	r := readings{taken: []string{clean}}
	r.add(raw)
	return r.others()
}

// others returns all paths but the first, nil if it is the only one.
func (r *readings) others() []string {
	if len(r.taken) == 1 {
		return nil
	}
	return r.taken[1:]
}

// readings collects the paths that tools read in one header, without repeats.
type readings struct{ taken []string }

// add takes a name as a path: as it is, as Windows reads it, and as macOS does.
func (r *readings) add(raw string) {
	r.spellings(raw)
	if !utf8.ValidString(raw) {
		r.spellings(charset.Line(raw))
	}
}

func (r *readings) spellings(raw string) {
	r.put(raw)
	r.put(onWindows(raw))
	r.put(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.In(c, unicode.Cf) { // which file systems of macOS leave out
			return -1
		}
		return c
	}, raw))
}

// put takes one path in clean form, below the root whatever segments it has.
func (r *readings) put(raw string) {
	clean := strings.TrimPrefix(path.Clean("/"+visiblePath(raw)), "/")
	if clean != "" && len(clean) <= MaxPath && !slices.Contains(r.taken, clean) {
		r.taken = append(r.taken, clean)
	}
}

// onWindows reads a path as Windows does: backslashes separate, blanks and dots at the end of a name and the name of the main
// stream do not count.
func onWindows(raw string) string {
	segments := strings.Split(strings.ReplaceAll(raw, `\`, "/"), "/")
	for i, s := range segments {
		const mainStream = "::$data"
		if at := len(s) - len(mainStream); at > 0 && strings.EqualFold(s[at:], mainStream) {
			s = s[:at]
		}
		if segments[i] = strings.TrimRight(s, " "); segments[i] != ".." {
			segments[i] = strings.TrimRight(s, " .")
		}
	}
	return strings.Join(segments, "/")
}

// others returns the paths that git apply, patch -p1 and patch -p0 may read in a header, beside the path of its file, which comes
// from the name own. Names in git's pair of prefixes, a/ and b/, have one reading only.
func (h *header) others(f *File, own string) ([]string, error) {
	if h.oneReading(f.Path) {
		return nil, nil
	}
	r := readings{taken: []string{f.Path}}
	for _, pair := range h.pairs() {
		for i, name := range []string{pair.new, pair.old} {
			isOld := i == 1
			if name == "" || name == devNull || isOld && h.move.old != "" {
				continue
			}
			if strings.IndexByte(name, 0) >= 0 {
				return nil, brokenAt(h.line, "the file header has a NUL character in a name")
			}
			if stripped, ok := cutFolder(name); ok {
				r.add(stripped)
			}
			if !pair.usual {
				r.add(name)
			}
		}
	}
	for _, name := range []string{own, h.move.new, h.indexName} {
		if name != "" && !(f.Change == Deleted && name == h.move.new) {
			r.add(name)
		}
	}
	if len(r.taken)-1 > MaxOthers {
		return nil, brokenAt(h.line, "the path can be read in more than %d ways", MaxOthers)
	}
	return r.others(), nil
}

// oneReading reports whether a header is the usual one of git for a path that every system reads in the same way. Nearly all
// are, so it costs little.
func (h *header) oneReading(path string) bool {
	return isPlainPath(path) && h.move == (names{}) && h.differ == (names{}) && h.indexName == "" && !h.isMerge &&
		len(h.operands) == 2*len(path)+5 && isPrefixed(h.operands[:len(path)+2], "a/", path) &&
		h.operands[len(path)+2] == ' ' && isPrefixed(h.operands[len(path)+3:], "b/", path) &&
		(!h.hasFile || h.rawFile == h.file &&
			(h.file.old == devNull || isPrefixed(h.file.old, "a/", path)) && (h.file.new == devNull || isPrefixed(h.file.new, "b/", path)))
}

func isPrefixed(name, prefix, path string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest == path
}

// isPlainPath reports whether a path has only characters that no system reads in another way, and no dot at the end of a name.
func isPlainPath(path string) bool {
	before := byte('/')
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.', c == '+', c == '@':
		case c == '/' && before != '.' && before != '/':
		default:
			return false
		}
		before = c
	}
	return before != '.' && before != '/'
}

// namePair is a pair of names in a header. It is usual if both have the prefixes that git puts before them.
type namePair struct {
	names
	usual bool
}

// pairs returns the pairs of names of a header, in each form in which some tool reads them.
func (h *header) pairs() []namePair {
	var list []namePair
	usual := h.isMerge // the first line shows that there are prefixes
	add := func(n names) {
		n = names{strings.TrimRight(n.old, "\r"), strings.TrimRight(n.new, "\r")}
		half := n.old == devNull && strings.HasPrefix(n.new, "b/") || n.new == devNull && strings.HasPrefix(n.old, "a/")
		list = append(list, namePair{n, n.gitPrefixes() || usual && half})
	}
	if h.operands != "" {
		if first, ok := splitNames(h.operands, " "); ok {
			usual = first.gitPrefixes()
			add(first)
		}
		if name, ok := appliedName(h.operands); ok {
			list = append(list, namePair{names{"", "/" + name}, true})
		}
		if fields := strings.Split(h.operands, " "); len(fields) == 2 && !strings.Contains(h.operands, `"`) { // patch ends a name at a blank
			add(names{fields[0], fields[1]})
		}
	}
	if h.differ != (names{}) {
		add(h.differ)
	}
	if h.hasFile {
		add(h.file)
		add(names{untrimmed(h.rawFile.old), untrimmed(h.rawFile.new)})
		add(names{firstWord(h.rawFile.old), firstWord(h.rawFile.new)})
	}
	return list
}

// gitPrefixes reports whether two names begin with a/ and b/, in either order.
func (n names) gitPrefixes() bool {
	return n.prefixed() && strings.ContainsRune("ab", rune(n.old[0])) && strings.ContainsRune("ab", rune(n.new[0]))
}

// cutFolder returns a name without its first folder, as -p1 reads it. It returns false for a name without a folder.
func cutFolder(name string) (string, bool) {
	_, rest, ok := strings.Cut(name, "/")
	rest = strings.TrimLeft(rest, "/")
	return rest, ok && rest != ""
}

// untrimmed returns the name in a --- or +++ line as git apply reads it: up to a tab or a time stamp, blanks at its
// end included.
func untrimmed(raw string) string {
	if strings.HasPrefix(raw, `"`) || spacedStamp.MatchString(raw) {
		return ""
	}
	name, _, _ := strings.Cut(raw, "\t")
	return name
}

// firstWord returns the name in a --- or +++ line as patch reads it: up to a blank, if no tab follows.
func firstWord(raw string) string {
	if strings.HasPrefix(raw, `"`) || strings.Contains(raw, "\t") {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimLeft(raw, " "), " ")
	return word
}

// appliedName returns the name that git apply takes from the operands of an unquoted diff --git line: the first one that is there
// twice after the first folder of each.
func appliedName(operands string) (string, bool) {
	if len(operands) > 2*MaxPath+1 || strings.Contains(operands, `"`) {
		return "", false
	}
	_, name, ok := strings.Cut(operands, "/")
	for at := 0; ok && at < len(name); at++ {
		if name[at] != ' ' && name[at] != '\t' {
			continue
		}
		if second, found := cutFolder(name[at+1:]); found && second == name[:at] {
			return second, true
		}
	}
	return "", false
}

// visiblePath replaces characters of a path that are not text by U+FFFD.
func visiblePath(raw string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, raw)
}
