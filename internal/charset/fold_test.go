package charset

import (
	"testing"
	"unicode/utf8"
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
}
