package charset

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form of a text in which file systems compare names that ignore case and the Unicode form (composed or not) of
// letters. Texts that one of them takes as equal have the same form.
func Fold(s string) string {
	upper := false
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
		}
		upper = upper || 'A' <= s[i] && s[i] <= 'Z'
	}
	if upper {
		return strings.ToLower(s)
	}
	return s
}
