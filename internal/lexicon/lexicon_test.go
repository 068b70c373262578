package lexicon_test

import (
	"strings"
	"testing"

	"tenet/internal/lexicon"
)

// Words are known that no list of ours names.
func TestVerbs(t *testing.T) {
	for w, want := range map[string][2]bool{
		"quarantine": {true, true}, "annotate": {true, false}, "reinstate": {true, false}, "report": {true, true}, "document": {true, true},
		"quickly": {}, "naming": {}, "": {}, "passwords": {},
	} {
		if is, noun := lexicon.Verb(w); is != want[0] || noun != want[1] {
			t.Errorf("%q: %v, %v, want %v", w, is, noun, want)
		}
	}
	for w, want := range map[string]string{"reviews": "review", "applies": "apply", "discusses": "discuss", "encrypts": "encrypt", "review": "", "always": ""} {
		if got := lexicon.Third(w); got != want {
			t.Errorf("%q: %q, want %q", w, got, want)
		}
	}
}

func TestMeanings(t *testing.T) {
	for _, pair := range []string{"car automobile", "doctor physician", "begin start"} {
		a, b, _ := strings.Cut(pair, " ")
		if !lexicon.Same(a, b) || !lexicon.Same(b, a) {
			t.Errorf("%s are not the same", pair)
		}
	}
	for _, pair := range []string{"car bicycle", "doctor patient", "begin end", "key lock"} {
		a, b, _ := strings.Cut(pair, " ")
		if lexicon.Same(a, b) {
			t.Errorf("%s are the same", pair)
		}
	}
	for _, pair := range []string{"include exclude", "enable disable", "begin end"} {
		a, b, _ := strings.Cut(pair, " ")
		if !lexicon.Opposite(a, b) || !lexicon.Opposite(b, a) || lexicon.Opposite(a, a) {
			t.Errorf("%s are no opposites", pair)
		}
	}
	if !lexicon.Kind("bicycle", "vehicle") || lexicon.Kind("vehicle", "bicycle") || lexicon.Kind("bicycle", "cat") {
		t.Error("a bicycle is a vehicle, and no cat")
	}
}

func TestLicence(t *testing.T) {
	if !strings.Contains(lexicon.Licence, "Princeton University") || !strings.Contains(lexicon.Licence, "WordNet 3.1") {
		t.Error("the licence of the tables is missing")
	}
}

func BenchmarkVerb(b *testing.B) {
	for b.Loop() {
		lexicon.Verb("quarantine")
	}
}
