package diff

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a repository of git in a temporary folder.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r *repository) try(stdin, name string, args ...string) (string, error) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.try("", "git", args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// diff commits everything and returns the diff of the commit.
func (r *repository) diff(args ...string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-qm", "m")
	return r.git(append(append([]string{"-c", "core.quotePath=true", "show", "--format="}, args...), "HEAD")...)
}

func pngImage(t *testing.T, side int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// text joins the lines that a file adds.
func added(f *File) string {
	var b strings.Builder
	for _, l := range f.NewLines {
		if l.Op == OpAdd {
			b.WriteString(l.Text + "\n")
		}
	}
	return b.String()
}

// TestBinaryPatchOfGit has git write binary patches and compares what they say with the files.
func TestBinaryPatchOfGit(t *testing.T) {
	r := newRepository(t)
	r.write(".gitattributes", "* binary\n")
	r.diff()
	noise := strings.Repeat("\x00\x01\x02\x03\xfe\xff\x80\x90", 40)
	for _, c := range []struct{ name, content, text, media, unseen string }{
		{"key.py", "key = 'x'\neval(key)\n", "key = 'x'\neval(key)\n", "", ""},
		{"long.py", strings.Repeat("eval(x)\n", 3000), strings.Repeat("eval(x)\n", 3000), "", ""},
		{"wide.js", "\xff\xfee\x00v\x00a\x00l\x00(\x00x\x00)\x00\n\x00", "eval(x)\n", "", ""},
		{"latin.js", "eval('caf\xe9')\n", "eval('café')\n", "", ""},
		{"nul.js", "/*\x00*/eval(x)\n", "/**/eval(x)\n", "", ""},
		{"logo.png", pngImage(t, 9), "", "a PNG image", ""},
		{"logo.py", pngImage(t, 10), "", "", "it is named like a program, but its content is that of a PNG image"},
		{"bin/run", pngImage(t, 10), "", "", "it is named like a program, but its content is that of a PNG image"},
		{".bashrc", pngImage(t, 10), "", "", "it is named like a program, but its content is that of a PNG image"},
		{"app.mk", pngImage(t, 10), "", "", "it is named like a program, but its content is that of a PNG image"},
		{"more.png", pngImage(t, 11) + "<?php eval($x);", "", "", "its content is neither text nor media that can be recognised"},
		{"noise", noise, "", "", "its content is neither text nor media that can be recognised"},
	} {
		r.write(c.name, c.content)
		files, err := Parse(r.diff("--binary"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := files[0]
		if f.Path != c.name || f.Change != Added || added(&f) != c.text || f.Media != c.media || f.Unseen != c.unseen || f.Binary != (c.text == "") {
			t.Errorf("%s: the file is %s", c.name, show(files))
		}
	}
	r.write("noise", noise+"more")
	text := r.diff("--binary")
	files, err := Parse(text)
	if err != nil || files[0].Delta == nil || files[0].Unseen == "" {
		t.Fatalf("the delta is %s (%v)\n%s", show(files), err, text)
	}
	got, err := files[0].Apply([]byte(noise))
	if err != nil || string(got) != noise+"more" {
		t.Errorf("the delta gives %q (%v)", got, err)
	}
	if _, err := files[0].Apply([]byte("other")); err == nil {
		t.Error("the delta is applied to other content")
	}
	r.git("rm", "-q", "noise")
	if files, err := Parse(r.diff("--binary")); err != nil || files[0].Change != Deleted || files[0].Unseen != "" {
		t.Errorf("a deleted file is %s (%v)", show(files), err)
	}
	r.git("mv", "key.py", "moved.py")
	r.write("moved.py", "key = 'x'\neval(key)\n# more\n")
	if files, err := Parse(r.diff("--binary", "-M20")); err != nil || files[0].Change != Renamed || files[0].Unseen == "" && added(&files[0]) == "" {
		t.Errorf("a moved file is %s (%v)", show(files), err)
	}
}

func TestBinaryPatchRefused(t *testing.T) {
	const head = "diff --git a/x b/x\nindex 1111111..2222222 100644\nGIT binary patch\n"
	r := newRepository(t)
	r.write(".gitattributes", "* binary\n")
	r.write("x", "a secret\n")
	good := r.diff("--binary")
	for name, c := range map[string]struct{ text, says string }{
		"no size":        {head + "literal \nD00000\n\n", "no size"},
		"another size":   {strings.Replace(good, "literal 9", "literal 8", 1), "size"},
		"a huge size":    {strings.Replace(good, "literal 9", "literal 99999999999", 1), "MiB"},
		"no number":      {strings.Replace(good, "literal 9", "literal 0x9", 1), "size"},
		"other content":  {good[:strings.Index(good, "..")+2] + strings.Repeat("1", 40) + good[strings.Index(good, "..")+42:], "index line"},
		"not zlib":       {head + "literal 3\nD00000\n\n", "zlib"},
		"not base 85":    {head + "literal 3\nD\"0000\n\n", "base 85"},
		"a value beyond": {head + "literal 3\nD~~~~~\n\n", "base 85"},
	} {
		if got := diffProblem(t, c.text); !strings.Contains(got, c.says) || !strings.HasPrefix(got, "line ") {
			t.Errorf("%s: message is %q, want %q in it", name, got, c.says)
		}
	}
	if _, err := Parse(good); err != nil {
		t.Error(err)
	}
}

// A small patch must not unpack to more than a subject may hold.
func TestBinaryPatchBomb(t *testing.T) {
	r := newRepository(t)
	r.write(".gitattributes", "* binary\n")
	r.write("x", strings.Repeat("\n", MaxLines+1))
	if got := diffProblem(t, r.diff("--binary")); !strings.Contains(got, "lines") {
		t.Errorf("message is %q", got)
	}
	r.write("x", strings.Repeat("x", MaxBytes/2+1))
	r.write("y", strings.Repeat("y", MaxBytes/2+1))
	if got := diffProblem(t, r.diff("--binary")); !strings.Contains(got, "MiB") {
		t.Errorf("message is %q", got)
	}
}

func TestApplyRefuses(t *testing.T) {
	old := []byte("0123456789")
	for name, delta := range map[string]string{
		"empty": "", "no result": "\x0a", "endless size": strings.Repeat("\xff", 20), "too much content": "\x0a\xff\xff\xff\xff\x7f",
		"reserved": "\x0a\x01\x00", "insert beyond": "\x0a\x05\x05ab", "copy beyond": "\x0a\x05\x91\x08\x05", "copy cut off": "\x0a\x05\x91\x08",
		"more than said": "\x0a\x01\x02ab", "less than said": "\x0a\x03\x02ab", "64 KiB of ten": "\x0a\x05\x80",
	} {
		if out, err := (&File{Delta: []byte(delta)}).Apply(old); err == nil {
			t.Errorf("%s: gives %q", name, out)
		}
	}
	out, err := (&File{Delta: []byte("\x0a\x05\x91\x08\x02\x03abc")}).Apply(old)
	if err != nil || string(out) != "89abc" {
		t.Errorf("a copy and an insertion give %q (%v)", out, err)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("\x0a\x05\x91\x08\x02\x03abc"), []byte("0123456789"))
	f.Fuzz(func(t *testing.T, delta, old []byte) {
		out, err := (&File{Delta: delta}).Apply(old)
		if err == nil && len(out) > MaxBytes {
			t.Errorf("%d bytes come out", len(out))
		}
	})
}
