package evaluate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/subject"
)

func TestReplacerFindsWhatWasTakenOut(t *testing.T) {
	content, clean := "user=ann\npassword=hunter22 # old\n", "user=ann\npassword=[redacted:password] # old\n"
	in := subject.Input{
		Diff: "a\n+key = \"AAAA1111\", other = \"BBBB2222\"\n c\n", Files: []subject.InputFile{{Path: "x", Content: &content}, {Path: "named/AAAA1111"}},
		Facts: map[string]any{"url": "https://u:pa55word@host/", "list": []any{"CCCC3333", 1.0}, "deep": map[string]any{"token": "DDDD4444"}},
	}
	out := subject.Input{
		Diff: "a\n+key = \"[redacted:k]\", other = \"[redacted:o]\"\n c\n", Files: []subject.InputFile{{Path: "x", Content: &clean}, {Path: "named/[redacted:k]"}},
		Facts: map[string]any{"url": "https://u:[redacted:url-password]@host/", "list": []any{"[redacted:c]", 1.0}, "deep": map[string]any{"token": "[redacted:d]"}},
	}
	secrets := replacer(in, out)
	for text, want := range map[string]string{
		"return AAAA1111;":             "return [redacted:k];",
		"BBBB2222 and AAAA1111":        "[redacted:o] and [redacted:k]",
		"password=hunter22":            "password=[redacted:password]",
		"pa55word, CCCC3333, DDDD4444": "[redacted:url-password], [redacted:c], [redacted:d]",
		"nothing of it":                "nothing of it",
	} {
		if got := secrets.Replace(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestWilson(t *testing.T) {
	if Wilson(0, 0) != nil {
		t.Error("a part of nothing")
	}
	// The figures of the method's usual example: 8 of 10.
	got := *Wilson(8, 10)
	got.Low, got.High = float64(int(got.Low*1000+0.5))/1000, float64(int(got.High*1000+0.5))/1000
	if diff := cmp.Diff(Rate{Value: 0.8, Low: 0.49, High: 0.943, Of: 10}, got); diff != "" {
		t.Errorf("8 of 10 (-want +got):\n%s", diff)
	}
	if r := Wilson(10, 10); r.High != 1 || r.Low < 0.72 || r.Low > 0.73 {
		t.Errorf("10 of 10: %+v", r)
	}
}
