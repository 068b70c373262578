package subject

import (
	"regexp"
	"strings"
	"testing"
)

func mustBuild(t testing.TB, in Input) *Subject {
	t.Helper()
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHashEqualSubjects(t *testing.T) {
	diff := gitHeader + "@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n"
	base := Input{Diff: diff, Facts: map[string]any{"a": 1.0, "b": "x"}, Action: "go", Files: []InputFile{{Path: "y", Content: new("1\n2\n")}}}
	want := mustBuild(t, base).Hash()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(want) {
		t.Errorf("hash is %q", want)
	}
	for name, change := range map[string]func(*Input){
		"CRLF":            func(in *Input) { in.Diff = strings.ReplaceAll(diff, "\n", "\r\n") },
		"no prefix":       func(in *Input) { in.Diff = strings.NewReplacer("a/x", "x", "b/x", "x").Replace(diff) },
		"preamble":        func(in *Input) { in.Diff = "commit 0123456789\n\n    message\n\n" + diff },
		"facts as ints":   func(in *Input) { in.Facts = map[string]any{"b": "x", "a": 1} },
		"path spelled":    func(in *Input) { in.Files = []InputFile{{Path: "./y", Content: new("1\r\n2")}} },
		"blanks trimmed":  func(in *Input) { in.Action = " go\n" },
		"nothing changed": func(*Input) {},
	} {
		in := base
		if change(&in); mustBuild(t, in).Hash() != want {
			t.Errorf("%s: the hash differs", name)
		}
	}
}

func TestHashDifferentSubjects(t *testing.T) {
	diff := gitHeader + "@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n"
	const moved = "diff --git a/y.go b/x.go\nsimilarity index 100%\nrename from y.go\nrename to x.go\n"
	seen := map[string]string{}
	for name, in := range map[string]Input{
		"diff":        {Diff: diff},
		"line":        {Diff: strings.Replace(diff, "+c", "+d", 1)},
		"number":      {Diff: strings.Replace(diff, "-1,2 +1,2", "-1,2 +2,2", 1)},
		"path":        {Diff: strings.ReplaceAll(diff, "x.go", "y.go")},
		"op":          {Diff: gitHeader + "@@ -1,2 +1,2 @@ f\n-a\n b\n+c\n"},
		"section":     {Diff: strings.Replace(diff, "@@ f", "@@ g", 1)},
		"binary":      {Diff: "diff --git a/x.go b/x.go\nBinary files a/x.go and b/x.go differ\n"},
		"media":       {Files: []InputFile{{Path: "x.go", ContentBase64: new("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")}}},
		"unknown":     {Files: []InputFile{{Path: "x.go", ContentBase64: new("f0VMRgIBAQAAAAAAAAAAAAIAPgABAAAAQBBAAA==")}}},
		"image":       {Files: []InputFile{{Path: "x.gif", ContentBase64: new("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")}}},
		"readings":    {Diff: strings.NewReplacer("a/x.go", "a/s/x.go", "b/x.go", "b/s/x.go").Replace(diff)},
		"no prefix":   {Diff: strings.NewReplacer("a/x.go", "s/x.go", "b/x.go", "s/x.go").Replace(diff)},
		"moved":       {Diff: moved},
		"moved whole": {Diff: moved, Files: []InputFile{{Path: "x.go", Content: new("")}}},
		"missing":     {Diff: "diff --git a/x.go b/x.go\nindex 1111111..2222222\n"},
		"executable":  {Diff: strings.Replace(diff, "index 1111111..2222222 100644\n", "old mode 100644\nnew mode 100755\nindex 1111111..2222222\n", 1)},
		"mode":        {Diff: "diff --git a/x.go b/x.go\nold mode 100644\nnew mode 100755\n"},
		"mode back":   {Diff: "diff --git a/x.go b/x.go\nold mode 100755\nnew mode 100644\n"},
		"new":         {Diff: "diff --git a/x.go b/x.go\nnew file mode 100644\n--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+c\n"},
		"new program": {Diff: "diff --git a/x.go b/x.go\nnew file mode 100755\n--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+c\n"},
		"intent":      {Diff: diff, Intent: "i"},
		"action":      {Diff: diff, Action: "i"},
		"repository":  {Diff: diff, Repository: "i"},
		"scope":       {Diff: diff, Scope: "i"},
		"facts":       {Diff: diff, Facts: map[string]any{"i": "i"}},
		"fact type":   {Diff: diff, Facts: map[string]any{"i": 1}},
		"whole":       {Files: []InputFile{{Path: "x.go", Content: new("a\nc\n")}}},
		"joined":      {Files: []InputFile{{Path: "x.go", Content: new("ac\n")}}},
		"path only":   {Files: []InputFile{{Path: "x.go"}}},
		"empty":       {Files: []InputFile{{Path: "x.go", Content: new("")}}},
		"two":         {Files: []InputFile{{Path: "x.go"}, {Path: "y.go"}}},
		"other way":   {Files: []InputFile{{Path: "y.go"}, {Path: "x.go"}}},
		"nothing":     {},
	} {
		h := mustBuild(t, in).Hash()
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

func TestHashOfLongTexts(t *testing.T) {
	// Text of any length must reach the hash: here around the size of its buffer.
	seen := map[string]bool{}
	for n := 4000; n < 4200; n++ {
		seen[mustBuild(t, Input{Action: strings.Repeat("x", n)}).Hash()] = true
		seen[mustBuild(t, Input{Action: strings.Repeat("x", n) + "y"}).Hash()] = true
	}
	if len(seen) != 400 {
		t.Errorf("400 subjects have %d hashes", len(seen))
	}
}

// The hashes are those that the version before modes were hashed gave: records hold them.
func TestHashOfRecordsFromBeforeModes(t *testing.T) {
	for diff, want := range map[string]string{
		"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n":             "70f3890fa117304735a18189161605025063fe322aaedeff0d3b745b785a7c07",
		"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n": "70fa4699d129d1bb7f8490ad75bda6ae6a515a4123893c4c7fa3e138f5a32803",
	} {
		s := mustBuild(t, Input{Diff: diff})
		if got := s.HashWithoutModes(); got != want || s.Hash() == want {
			t.Errorf("%q: without modes %s, with them %s; want %s without", diff, got, s.Hash(), want)
		}
	}
	if s := mustBuild(t, Input{Diff: gitHeader + "@@ -1 +1 @@\n-b\n+c\n"}); s.HashWithoutModes() != s.Hash() {
		t.Error("without a change of mode the hashes differ")
	}
}
