package diff

import (
	"strings"
)

// names are the two names of a file in a header, with prefixes such as a/ and b/. Either may be /dev/null.
type names struct{ old, new string }

// stripped returns the names without prefixes: without one leading folder, as git does by default, if the names show that it
// is a prefix. A path with a prefix too many is harmless; one that has lost a real folder would slip past rules about that
// folder.
func (n names) stripped() names {
	old, new := dropFolder(n.old), dropFolder(n.new)
	switch {
	case n.old == n.new: // without prefixes
		return n
	case n.old == devNull || n.new == devNull:
		return names{dropMarker(n.old), dropMarker(n.new)}
	case old != "" && old == new, n.prefixed(): // old/x and new/x; a/x and b/y
		return names{old, new}
	case old == n.new: // a/x and x
		return names{old, n.new}
	case new == n.old: // x and b/x
		return names{n.old, new}
	default:
		return n
	}
}

// prefixed reports whether both names begin with different prefixes of git: a/ and b/, or the mnemonic ones for commits,
// index, working tree, objects and outside files.
func (n names) prefixed() bool {
	return marked(n.old) && marked(n.new) && n.old[0] != n.new[0]
}

func marked(name string) bool {
	return len(name) > 2 && name[1] == '/' && strings.IndexByte("abciow12", name[0]) >= 0
}

// dropFolder returns a name without its first folder, or "" if it has none.
func dropFolder(name string) string {
	_, rest, _ := strings.Cut(name, "/")
	return rest
}

// dropMarker returns a name without a prefix of git, for a name without a partner to compare it with.
func dropMarker(name string) string {
	if name != devNull && marked(name) {
		return name[2:]
	}
	return name
}

// splitNames splits two names with sep between them. Unquoted names may contain sep, so it splits where both sides name one
// file. They do unless the file is renamed, and then other lines have the names.
func splitNames(s, sep string) (n names, ok bool) {
	switch {
	case len(s) > 2*MaxPath+len(sep):
		return n, false
	case strings.HasPrefix(s, `"`):
		old, rest, ok := unquote(s)
		if !ok || !strings.HasPrefix(rest, sep) {
			return n, false
		}
		name, ok := wholeName(rest[len(sep):])
		return names{old, name}, ok
	case strings.HasSuffix(s, `"`):
		at := strings.Index(s, sep+`"`)
		if at < 0 {
			return n, false
		}
		name, ok := wholeName(s[at+len(sep):])
		return names{s[:at], name}, ok
	case strings.HasPrefix(s, devNull+sep):
		return names{devNull, s[len(devNull+sep):]}, true
	case strings.HasSuffix(s, sep+devNull):
		return names{s[:len(s)-len(sep+devNull)], devNull}, true
	}
	return splitEqual(s, sep)
}

// splitEqual splits two names that differ in their first folders at most. It compares last, so that a line of blanks and
// slashes costs little.
func splitEqual(s, sep string) (n names, ok bool) {
	if half := (len(s) - len(sep)) / 2; half > 0 && s == s[:half]+sep+s[:half] {
		return names{s[:half], s[:half]}, true
	}
	rest := strings.IndexByte(s, '/') + 1 // the old name after its first folder
	for at := rest; rest > 0; at++ {
		next := strings.Index(s[at:], sep)
		if next < 0 {
			break
		}
		at += next
		from := at + len(sep)
		to := len(s) - (at - rest) // the new name after its first folder, if they are equal
		if to > from && at > rest && s[to-1] == '/' && strings.IndexByte(s[from:to-1], '/') < 0 && s[rest:at] == s[to:] {
			return names{s[:at], s[from:]}, true
		}
	}
	return n, false
}

// wholeName reads a name, quoted or not, that takes all of s.
func wholeName(s string) (string, bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, s != ""
	}
	name, rest, ok := unquote(s)
	return name, ok && rest == "" && name != ""
}

// fileLineName reads the name in a --- or +++ line, which ends at a tab unless it is quoted, and the time stamp after it.
func fileLineName(s string) (name, stamp string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		name, rest, ok := unquote(s)
		return name, strings.TrimSpace(rest), ok && name != ""
	}
	name, stamp, ended := strings.Cut(s, "\t")
	if !ended {
		name = strings.TrimRight(name, " ")
	}
	return name, strings.TrimSpace(stamp), name != ""
}

// unquote reads a name in the quoting of git: C escapes between double quotes, with bytes as octal numbers.
func unquote(s string) (name, rest string, ok bool) {
	const letters, meant = `abtnvfr"\`, "\a\b\t\n\v\f\r\"\\"
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i+2 < len(s) && '0' <= s[i] && s[i] <= '3' && isOctal(s[i+1]) && isOctal(s[i+2]) {
				b.WriteByte((s[i]-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
				i += 2
				continue
			}
			if i >= len(s) {
				return "", "", false
			}
			at := strings.IndexByte(letters, s[i])
			if at < 0 {
				return "", "", false
			}
			b.WriteByte(meant[at])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }
