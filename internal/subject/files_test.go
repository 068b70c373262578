package subject

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names blobs so
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"tenet/internal/diff"
)

func blobName(content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

func encoded(content string) *string {
	return new(base64.StdEncoding.EncodeToString([]byte(content)))
}

// addedText joins the lines that a file adds.
func addedText(f *diff.File) string {
	var b strings.Builder
	for _, l := range f.NewLines {
		if l.Op == diff.OpAdd {
			b.WriteString(l.Text + "\n")
		}
	}
	return b.String()
}

// A whole file completes what the diff does not show of the file at its path.
func TestWholeFilesCompleteTheDiff(t *testing.T) {
	const code, latin = "eval(x)\nmore()\n", "eval('caf\xe9')\n"
	head := func(before, after string) string {
		return "diff --git a/x.py b/x.py\nindex " + before + ".." + after + " 100644\n"
	}
	renamed := "diff --git a/old.py b/x.py\nsimilarity index 90%\nrename from old.py\nrename to x.py\nindex 1111111.." + blobName(code) + " 100644\n"
	var logo bytes.Buffer
	if err := png.Encode(&logo, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		diff, path            string
		content, base64       *string
		text, media, complete string
	}{
		"missing":      {head("1111111", blobName(code)), "x.py", new(code), nil, code, "", "x.py"},
		"binary":       {head("1111111", blobName(code)[:8]) + "Binary files a/x.py and b/x.py differ\n", "x.py", new(code), nil, code, "", "x.py"},
		"Latin-1":      {head("1111111", blobName(latin)) + "Binary files a/x.py and b/x.py differ\n", "x.py", nil, encoded(latin), "eval('café')\n", "", "x.py"},
		"CRLF":         {head("1111111", blobName(code)), "x.py", new(strings.ReplaceAll(code, "\n", "\r\n")), nil, code, "", "x.py"},
		"a rename":     {renamed, "x.py", new(code), nil, code, "", "x.py"},
		"a whole move": {"diff --git a/old.py b/x.py\nsimilarity index 100%\nrename from old.py\nrename to x.py\n", "./x.py", new(code), nil, code, "", "x.py"},
		"a copy": {
			"diff --git a/old.py b/x.py\nsimilarity index 100%\ncopy from old.py\ncopy to x.py\n", "x.py", nil, encoded(code), code, "", "x.py",
		},
		"media": {
			"diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000.." + blobName(logo.String()) + "\nBinary files /dev/null and b/x.png differ\n",
			"x.png", nil, encoded(logo.String()), "", "a PNG image", "x.png",
		},
		"an empty file": {"diff --git a/old.py b/x.py\nsimilarity index 100%\nrename from old.py\nrename to x.py\n", "x.py", new(""), nil, "", "", "x.py"},
		"another path":  {renamed, "y.py", new(code), nil, "", "", ""},
		"a link":        {"diff --git a/x.py b/x.py\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "x.py", new(code), nil, "/etc/passwd\n", "", ""},
		"a submodule":   {"diff --git a/x b/x\nindex 1111111..2222222 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n", "x", new(code), nil, "Subproject commit 2222222\n", "", ""},
		"a deletion":    {"diff --git a/x.py b/x.py\ndeleted file mode 100644\nindex 1111111..0000000\n", "x.py", new(code), nil, "", "", ""},
	} {
		s, err := Build(Input{Diff: c.diff, Files: []InputFile{{Path: c.path, Content: c.content, ContentBase64: c.base64}}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := &s.Files[0]
		if addedText(f) != c.text || f.Media != c.media || (c.complete != "") != (len(s.Files) == 1) {
			t.Errorf("%s: %d files, the first has %q, media %q", name, len(s.Files), addedText(f), f.Media)
		}
		if c.complete != "" && (f.Path != c.complete || f.Unseen != "" || f.Missing || f.Change == diff.Whole) {
			t.Errorf("%s: the file is %+v", name, f)
		}
		if c.complete == "" && f.Unseen == "" && f.Change != diff.Deleted {
			t.Errorf("%s: nothing of the file is unseen", name)
		}
	}
}

func TestContentsThatTheDiffDoesNotName(t *testing.T) {
	const renamed = "diff --git a/old.py b/x.py\nsimilarity index 90%\nrename from old.py\nrename to x.py\nindex 1111111..2222222 100644\n"
	for field, file := range map[string]InputFile{
		"files[0].content":        {Path: "x.py", Content: new("harmless\n")},
		"files[0].content_base64": {Path: "x.py", ContentBase64: encoded("harmless\n")},
	} {
		got := problems(t, Input{Diff: renamed, Files: []InputFile{file}})
		if !strings.Contains(got[field], "2222222") || len(got) != 1 {
			t.Errorf("problems are %v", got)
		}
	}
	// Without the name of a blob, the content must at least have the lines that the diff shows.
	for name, c := range map[string]struct{ diff, content string }{
		"other lines":         {"diff --git a/old.py b/x.py\nrename from old.py\nrename to x.py\n--- a/old.py\n+++ b/x.py\n@@ -2 +2 @@\n-a\n+eval(x)\n", "ok\nok\n"},
		"the lines elsewhere": {"diff --git a/old.py b/x.py\nrename from old.py\nrename to x.py\n--- a/old.py\n+++ b/x.py\n@@ -2 +2 @@\n-a\n+eval(x)\n", "eval(x)\nok\n"},
		"too short":           {"diff --git a/old.py b/x.py\nrename from old.py\nrename to x.py\n--- a/old.py\n+++ b/x.py\n@@ -2 +2 @@\n-a\n+eval(x)\n", "ok"},
		"another content of LFS": {"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,3 @@\n+version https://git-lfs.github.com/spec/v1\n+oid sha256:" +
			strings.Repeat("ab", 32) + "\n+size 8\n", "ok\n"},
	} {
		if got := problems(t, Input{Diff: c.diff, Files: []InputFile{{Path: "x.py", Content: &c.content}}}); !strings.Contains(got["files[0].content"], "x.py") || len(got) != 1 {
			t.Errorf("%s: problems are %v", name, got)
		}
	}
	agreeing := "ok\r\neval(x)\r\nmore\r\n"
	s, err := Build(Input{
		Diff:  "diff --git a/old.py b/x.py\nrename from old.py\nrename to x.py\n--- a/old.py\n+++ b/x.py\n@@ -2 +2 @@\n-a\n+eval(x)\n",
		Files: []InputFile{{Path: "x.py", Content: &agreeing}},
	})
	if err != nil || len(s.Files) != 1 || s.Files[0].Unseen != "" {
		t.Errorf("a content with the lines of the diff is not taken: %v", err)
	}
	// A record whose secrets are redacted has other contents.
	s, err = Build(Input{Diff: renamed, Files: []InputFile{{Path: "x.py", Content: new("key = [redacted:key]\n")}}, Redacted: true})
	if err != nil || len(s.Files) != 1 || s.Files[0].Unseen != "" {
		t.Errorf("a redacted content is refused: %v", err)
	}
	// A series of commits may show several contents at one path; the one given is one of them.
	second := strings.ReplaceAll(strings.ReplaceAll(renamed, "2222222", blobName("b\n")), "old.py", "older.py")
	s, err = Build(Input{Diff: renamed + second, Files: []InputFile{{Path: "x.py", Content: new("b\n")}}})
	if err != nil || len(s.Files) != 2 || s.Files[0].Unseen == "" || s.Files[1].Unseen != "" {
		t.Errorf("of a series, the commit with the content is not completed: %v", err)
	}
}

// TestDeltas gives the content before a binary delta.
func TestDeltas(t *testing.T) {
	const old = "0123456789"
	// The delta copies 89 and adds a line.
	s := &Subject{Files: []diff.File{{
		Path: "x.py", Change: diff.Modified, Binary: true, Unseen: "a delta", Delta: []byte("\x0a\x0a\x91\x08\x02\x08\neval(x)"),
		OldBlob: blobName(old), NewBlob: blobName("89\neval(x)"),
	}}}
	c := completion{files: s.Files, left: MaxBytes}
	if !c.complete("x.py", given{content: []byte(old)}) || addedText(&s.Files[0]) != "89\neval(x)\n" || s.Files[0].Unseen != "" {
		t.Errorf("the file is %+v", s.Files[0])
	}
}

func TestBase64(t *testing.T) {
	for name, c := range map[string]struct {
		file  InputFile
		field string
		says  string
	}{
		"no base64": {InputFile{Path: "x", ContentBase64: new("*")}, "files[0].content_base64", "base64"},
		"twice":     {InputFile{Path: "x", Content: new("a"), ContentBase64: new("YQ==")}, "files[0].content_base64", "give one"},
		"too large": {InputFile{Path: "x", ContentBase64: new(strings.Repeat("A", MaxBytes/3*4+8))}, "files[0].content_base64", "MiB"},
		"too long":  {InputFile{Path: "x", ContentBase64: encoded(strings.Repeat("\n", MaxLines+1))}, "files[0].content_base64", "lines"},
	} {
		if got := problems(t, Input{Files: []InputFile{c.file}}); !strings.Contains(got[c.field], c.says) {
			t.Errorf("%s: problems are %v", name, got)
		}
	}
	s, err := Build(Input{Files: []InputFile{
		{Path: "wide.js", ContentBase64: encoded("\xff\xfee\x00v\x00a\x00l\x00(\x00x\x00)\x00")},
		{Path: "program", ContentBase64: encoded("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00\x40\x10\x40\x00")},
		{Path: "nul.js", Content: new("/*\x00*/eval(x)")},
		{Path: "empty", ContentBase64: new("")},
		{Path: "control.js", Content: new("eval(x)\x01\x02\x03\x04")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		text   string
		unseen bool
	}{{"eval(x)\n", false}, {"", true}, {"/**/eval(x)\n", false}, {"", false}, {"eval(x)\x01\x02\x03\x04\n", true}} {
		if f := &s.Files[i]; addedText(f) != want.text || (f.Unseen != "") != want.unseen || f.Missing {
			t.Errorf("%s: %q, unseen %q", f.Path, addedText(f), f.Unseen)
		}
	}
}
