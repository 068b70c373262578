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

func TestLettersAndMarksApart(t *testing.T) {
	for text, want := range map[string]string{"\u00e9": "e\u0301", "e\u0302\u0323": "e\u0323\u0302", "\uac00": "\u1100\u1161", "a": "a"} {
		if got := string(Apart([]byte(text))); got != want {
			t.Errorf("%+q is apart %+q, want %+q", text, got, want)
		}
	}
	for r, want := range map[rune]bool{'a': false, '\u00e9': false, '\u0301': true, '\u0323': true, '\u1161': false} {
		if IsMark(r) != want {
			t.Errorf("%+q is a mark: %v", r, !want)
		}
	}
}
