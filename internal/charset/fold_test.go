package charset

import "testing"

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
