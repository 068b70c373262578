package evaluate

import (
	"testing"

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
