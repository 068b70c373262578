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

// IsMark reports whether a character is an accent or another mark of the letter before it.
func IsMark(r rune) bool { return norm.NFD.PropertiesString(string(r)).CCC() != 0 }

// Apart returns a text with letters and their marks as characters of their own, and the marks of a letter in one order.
func Apart(text []byte) []byte { return norm.NFD.Bytes(text) }

// ASCIIForm returns the ASCII letters, digits and _ that a character is another form of, such as e of a wide e and fi of the ligature; empty for
// any other character.
func ASCIIForm(r rune) string {
	if r < 0xAA || r > 0x33F && r < 0x1D00 || r >= 0x3400 && r < 0xFB00 && !('\ua7f2' <= r && r <= '\ua7f4') { // no forms among them; most of the texts of the world
		return ""
	}
	var buf [utf8.UTFMax]byte
	form := norm.NFKC.PropertiesString(string(utf8.AppendRune(buf[:0], r))).Decomposition()
	for _, c := range form {
		if c >= utf8.RuneSelf || c != '_' && !letterOrDigit(c) {
			return ""
		}
	}
	return string(form)
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
