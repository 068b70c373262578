package rule

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanGlob returns a path glob in its normal form: without ./ and doubled slashes, with slashes where a backslash separates folders.
// A backslash does so before a letter or a digit, which nobody escapes, and in a glob that has such a one and no slash, before
// everything but a bracket or a brace: src\gen\** is src/gen/**. Letter case stays: paths have it.
func CleanGlob(s string) string {
	if !strings.Contains(s, `\`) && !strings.Contains(s, "./") && !strings.Contains(s, "//") {
		return s
	}
	return cleanFolders(separators(cleanFolders(s)))
}

// GlobReadings returns globs in their normal form and, for those in which a backslash may be an escape or a separator, the other
// reading too. It is for lists that a rule applies by; where a glob takes files out of a rule, only the escape is certain.
func GlobReadings(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		s = CleanGlob(s)
		out = append(out, s)
		if i := strings.IndexByte(s, '\\'); i > 0 {
			if other := cleanFolders(eachBackslash(s, func(next rune) bool { return strings.ContainsRune("*?.", next) })); other != s {
				out = append(out, other)
			}
		}
	}
	return out
}

// cleanFolders drops leading ./ and the inner ./ and slashes that change nothing.
func cleanFolders(s string) string {
	for {
		next := strings.ReplaceAll(strings.ReplaceAll(s, "//", "/"), "/./", "/")
		if rest, ok := strings.CutPrefix(next, "./"); ok && rest != "" {
			next = "/" + strings.TrimLeft(rest, "/")
			if strings.Contains(strings.Trim(next, "/"), "/") {
				next = next[1:]
			}
		}
		if next == s {
			return s
		}
		s = next
	}
}

// separators turns the backslashes that separate folders for certain into slashes.
func separators(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	plain := func(next rune) bool { return unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_' }
	out := eachBackslash(s, plain)
	if out != s && !strings.Contains(s, "/") {
		out = eachBackslash(s, func(next rune) bool { return !strings.ContainsRune(`[]{}\`, next) })
	}
	return out
}

// eachBackslash turns a backslash into a slash where is holds of the character after it, outside of classes.
func eachBackslash(s string, is func(next rune) bool) string {
	b := []byte(s)
	class := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '[':
			class = true
		case b[i] == ']':
			class = false
		case b[i] == '\\' && i+1 < len(b):
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); !class && is(next) {
				b[i] = '/'
			} else {
				i++
			}
		}
	}
	return string(b)
}
