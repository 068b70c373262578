package check

import "unicode/utf8"

// cut shortens a text to so many bytes, at the start of a character; a cut text ends in "...".
func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return s[:runeStart(s, longest-len("..."))] + "..."
}

// runeStart returns the start of the character that holds the byte at.
func runeStart(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// notGiven says that a file was named without its content.
func notGiven(path string) string { return "content of " + path + " was not given" }
