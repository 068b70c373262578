package approval

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/wire"
)

func TestWhatPeopleCannotSeeIsWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"rm -rf /\n\tnext":         "rm -rf /\n\tnext",
		"größer 漢字 👍":              "größer 漢字 👍",
		"a\x00b":                   "a⟨U+0000⟩b",
		"safe\rrm":                 "safe⟨U+000D⟩rm",
		"\x1b]0;title\a":           "⟨U+001B⟩]0;title⟨U+0007⟩",
		"user\u202enimda":          "user⟨U+202E⟩nimda",
		"pass\u200bword":           "pass⟨U+200B⟩word",
		"a\u00a0b\u3000c":          "a⟨U+00A0⟩b⟨U+3000⟩c",
		"x\U000e0041y":             "x⟨U+E0041⟩y",
		"bad \xff byte":            "bad ⟨0xFF⟩ byte",
		"line\u2028line":           "line⟨U+2028⟩line",
		"blank\u3164\u2800\ufe0f.": "blank⟨U+3164⟩⟨U+2800⟩⟨U+FE0F⟩.",
	} {
		if got, _ := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x00\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got, marks := Visible(text)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\r\u202e\u200b") {
			t.Errorf("%q is shown as %q", text, got)
		}
		if marks == 0 && got != text {
			t.Errorf("%q is shown as %q without a mark", text, got)
		}
	})
}

func TestASubjectIsShownWhole(t *testing.T) {
	content, encoded := "b\x1b", "/w=="
	list, err := Display(&wire.RecordedSubject{
		Action: "send", Facts: map[string]any{"note": "<a>\u202e", "amount": 5.0}, Diff: "+x", Intent: "why",
		Files: []wire.InputFile{{Path: "a\u202e.py", Content: &content}, {Path: "b.bin", ContentBase64: &encoded, Incomplete: "the end"}, {Path: "c"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, "|"); got != "action|facts|diff|a⟨U+202E⟩.py|b.bin (base64)|b.bin, left out|c|intent" {
		t.Errorf("texts: %s", got)
	}
	if facts := list[1]; !strings.Contains(facts.Text, `"<a>⟨U+202E⟩"`) || facts.Marks != 1 {
		t.Errorf("facts: %+v", facts)
	}
	if list[3].Text != "b⟨U+001B⟩" {
		t.Errorf("content: %q", list[3].Text)
	}
}
