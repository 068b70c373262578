package subject

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const devNull = "/dev/null"

// cleanPath checks the path of a file given beside the diff and brings it to the form that globs are matched against:
// relative, forward slashes, no . segments. Backslashes are separators here, since clients on Windows send them; so a..\b
// cannot hide a .. segment.
func cleanPath(raw string) (string, error) {
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

// diffPath cleans a path that a diff names. A diff may hold what git can hold, so a leading slash is dropped as git does,
// and bytes that are no text become U+FFFD: neither can pass for another path of the repository. A .. segment is refused,
// as git does.
func diffPath(raw string) (string, error) {
	p := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, raw)
	return inside(strings.TrimLeft(p, "/"))
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
