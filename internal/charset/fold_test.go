package charset

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestFold(t *testing.T) {
	for _, equal := range [][]string{
		{"src/a.py", "SRC/A.py", "src/a.PY"},
		{"café/x", "CAFÉ/X", "cafe\u0301/x", "CAFE\u0301/x"},
		{"straße", "STRASSE", "STRAẞE"},
		{"key", "\u212Aey", "Key"}, // the Kelvin sign
		{"σας", "ΣΑΣ", "σασ"},
	} {
		for _, s := range equal[1:] {
			if Fold(s) != Fold(equal[0]) {
				t.Errorf("%q and %q have the forms %q and %q", s, equal[0], Fold(s), Fold(equal[0]))
			}
		}
	}
	if Fold("a") == Fold("á") || Fold("a/b") != "a/b" {
		t.Error("other letters are equal")
	}
}

func TestASCIIForm(t *testing.T) {
	for r, want := range map[rune]string{
		'ｅ': "e", '７': "7", '＿': "_", '𝐞': "e", '𝓥': "V", '𝟚': "2", 'ﬁ': "fi", 'ſ': "s", '\u212A': "K", 'ª': "a", 'ₐ': "a",
		'e': "", 'é': "", 'е': "", '値': "", '½': "", '（': "", '…': "", utf8.RuneError: "", -1: "",
	} {
		if got := ASCIIForm(r); got != want {
			t.Errorf("%q: %q, want %q", r, got, want)
		}
	}
	// What is taken for a character without forms has none.
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if form := norm.NFKC.String(string(r)); isASCII(form) && ASCIIForm(r) == "" {
			t.Errorf("%U is a form of %q", r, form)
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] != '_' && !letterOrDigit(s[i]) {
			return false
		}
	}
	return true
}
