package diff

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const devNull = "/dev/null"

// CleanPath checks the path of a file that comes without a diff and returns it in the form that globs match: relative, with
// forward slashes, without . segments. Backslashes are separators here, since clients on Windows send them; so a..\b cannot
// hide a .. segment.
func CleanPath(raw string) (string, error) {
	p := strings.ReplaceAll(raw, `\`, "/")
	switch {
	case !utf8.ValidString(raw):
		return "", errors.New("is not valid UTF-8")
	case strings.IndexFunc(raw, unicode.IsControl) >= 0:
		return "", errors.New("holds a control character")
	case strings.HasPrefix(p, "/"), len(p) > 1 && p[1] == ':' && isLetter(p[0]):
		return "", errors.New("is absolute; give it relative to the root of the repository")
	}
	return inside(p)
}

// diffPath cleans a path in a diff. Git allows any path, so diffPath drops a leading slash, as git does, and replaces bytes
// that are not text by U+FFFD: neither makes it another path of the repository. It refuses a .. segment, as git does.
func diffPath(raw string) (string, error) {
	return inside(strings.TrimLeft(visiblePath(raw), "/"))
}

// inside cleans a slash-separated path that must stay below the root.
func inside(p string) (string, error) {
	if len(p) > MaxPath {
		return "", fmt.Errorf("has %d bytes; at most %d are allowed", len(p), MaxPath)
	}
	for segment := range strings.SplitSeq(p, "/") {
		if segment == ".." {
			return "", fmt.Errorf("is %q; a path must not have .. segments", p)
		}
	}
	clean := path.Clean(p)
	switch {
	case p == "" || clean == ".":
		return "", errors.New("is empty; name a file")
	case strings.HasSuffix(p, "/"):
		return "", fmt.Errorf("is %q, a folder; name a file", p)
	}
	return clean, nil
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
