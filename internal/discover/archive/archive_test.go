package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

// file is an entry of an archive in a test.
type file struct {
	name, text string
	link       string // what it links to
	flags      uint16
}

func zipped(t testing.TB, comment string, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Flags: f.flags}
		if f.link != "" {
			h.SetMode(0o777 | 0o1000000000) // a symbolic link of Unix
			h.ExternalAttrs = 0o120777 << 16
			h.CreatorVersion = 3 << 8
			f.text = f.link
		}
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(to, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetComment(comment); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t testing.TB, comment string, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if comment != "" {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": comment}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.text)), Typeflag: tar.TypeReg}
		if f.link != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.link, 0
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func markdown(path string) bool { return strings.HasSuffix(path, ".md") }

const gitHash = "55c83070000000000000000000000000000000aa"

func TestReadTakesWhatIsWanted(t *testing.T) {
	files := []file{
		{name: "repo-1/a.md", text: "a"},
		{name: "repo-1/docs/b.md", text: "b"},
		{name: "repo-1/c.go", text: "c"},
		{name: "repo-1/docs/"},
		{name: "repo-1/link.md", link: "/etc/passwd"},
		{name: "repo-1/big.md", text: strings.Repeat("x", 2<<20+1)},
		{name: "repo-1/docs/b.md", text: "again"},
		{name: "repo-1/in.md", text: string(zipped(t, "", file{name: "x.md", text: "x"}))},
	}
	want := map[string]string{"a.md": "a", "docs/b.md": "b"}
	left := []LeftOut{
		{"big.md", "it has 2048 KiB; files of at most 2048 KiB are read"},
		{"docs/b.md", "the archive has two files of this name; the first is read"},
		{"in.md", "an archive within the archive is not opened"},
	}
	for name, content := range map[string][]byte{
		"zip by git": zipped(t, gitHash, files...), "tar.gz by git": gzipped(t, tarred(t, gitHash, files...)), "tar": tarred(t, gitHash, files...),
		"repo-1.tar.gz": gzipped(t, tarred(t, "", files...)), "repo-1.ZIP": zipped(t, "", files...),
	} {
		got, err := Read(t.Context(), name, content, markdown, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, texts(got)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(left, got.LeftOut); diff != "" || got.LeftOutTotal != 3 || len(got.Paths) != 6 || got.Paths[1] != "docs/b.md" {
			t.Errorf("%s: left out, %d in all of %d (-want +got):\n%s", name, got.LeftOutTotal, len(got.Paths), diff)
		}
	}
	// A folder that is part of the repository stays.
	got, err := Read(t.Context(), "upload.zip", zipped(t, "", file{name: "docs/a.md", text: "a"}), markdown, Limits{})
	if err != nil || got.Files["docs/a.md"] == nil {
		t.Errorf("files %v, %v; want docs/a.md", got, err)
	}
	// Some readers know a file by its whole path.
	agents := func(path string) bool { return path == "AGENTS.md" }
	got, err = Read(t.Context(), "r.zip", zipped(t, "", file{name: "r/AGENTS.md", text: "a"}, file{name: "r/b/AGENTS.md", text: "b"}), agents, Limits{})
	if err != nil || len(got.Files) != 1 || got.Files["AGENTS.md"] == nil {
		t.Errorf("files %v, %v; want AGENTS.md", got, err)
	}
}

func texts(r *Result) map[string]string {
	out := map[string]string{}
	for p, content := range r.Files {
		out[p] = string(content)
	}
	return out
}

func TestPathsStayInTheArchive(t *testing.T) {
	names := []string{"../a.md", "/etc/a.md", "a/../../b.md", `..\c.md`, `C:\d.md`, "a/\x01.md", strings.Repeat("x/", 70) + "e.md", strings.Repeat("y", 1001) + ".md"}
	var files []file
	for _, n := range names {
		files = append(files, file{name: n, text: "x"})
	}
	files = append(files, file{name: "./fine//f.md", text: "f"})
	for kind, content := range map[string][]byte{"zip": zipped(t, "", files...), "tar.gz": gzipped(t, tarred(t, "", files...))} {
		got, err := Read(t.Context(), "x", content, markdown, Limits{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if paths := slices.Collect(maps.Keys(got.Files)); len(paths) != 1 || paths[0] != "fine/f.md" || got.LeftOutTotal != len(names) {
			t.Errorf("%s: read %q and left out %v", kind, paths, got.LeftOut)
		}
	}
}

func TestEncryptedEntriesAreNamed(t *testing.T) {
	got, err := Read(t.Context(), "x.zip", zipped(t, "", file{name: "a.md", text: "x", flags: 1}, file{name: "b.md", text: "b"}), markdown, Limits{})
	if err != nil || len(got.Files) != 1 || len(got.LeftOut) != 1 || !strings.Contains(got.LeftOut[0].Reason, "encrypted") {
		t.Errorf("%+v, %v", got, err)
	}
}

// overlapping is a zip archive whose many entries are the same bytes.
func overlapping(t testing.TB) []byte {
	noise := make([]byte, 1000) // hardly smaller when it is packed
	for i, n := 0, uint32(1); i < len(noise); i++ {
		n = n*1664525 + 1013904223
		noise[i] = byte(n >> 24)
	}
	content := zipped(t, "", file{name: "a.md", text: string(noise)}, file{name: "b.md", text: "y"})
	start := bytes.Index(content, []byte("PK\x01\x02"))
	end := bytes.LastIndex(content, []byte("PK\x05\x06"))
	record := content[start : start+46+len("a.md")]
	var b bytes.Buffer
	b.Write(content[:start])
	for range 200 {
		b.Write(record)
	}
	tail := bytes.Clone(content[end:])
	tail[8], tail[9], tail[10], tail[11] = 200, 0, 200, 0
	size := b.Len() - start
	tail[12], tail[13], tail[14], tail[15] = byte(size), byte(size>>8), byte(size>>16), 0
	b.Write(tail)
	return b.Bytes()
}

func TestBombsAreRefused(t *testing.T) {
	many := make([]file, 300)
	for i := range many {
		many[i] = file{name: fmt.Sprintf("%d.md", i), text: "x"}
	}
	zeros := strings.Repeat("\x00", 40<<20)
	for name, test := range map[string]struct {
		content []byte
		limits  Limits
		says    string
	}{
		"ratio of a tar.gz":   {gzipped(t, tarred(t, "", file{name: "a.bin", text: zeros})), Limits{}, "bomb"},
		"ratio of a zip":      {zipped(t, "", file{name: "a.md", text: zeros}), Limits{FileSize: 1 << 30}, "bomb"},
		"size":                {tarred(t, "", file{name: "a.bin", text: zeros}), Limits{Unpacked: 1 << 20}, "more than 1 MiB"},
		"entries of a zip":    {zipped(t, "", many...), Limits{Entries: 100}, "more than 100 entries"},
		"entries of a tar":    {tarred(t, "", many...), Limits{Entries: 100}, "more than 100 entries"},
		"files":               {zipped(t, "", many...), Limits{Files: 100}, "more than 100 files"},
		"bytes of the files":  {tarred(t, "", file{name: "a.md", text: zeros[:1<<20]}, file{name: "b.md", text: zeros[:1<<20]}), Limits{Kept: 1 << 20}, "more than 1 MiB"},
		"overlapping entries": {overlapping(t), Limits{}, "overlap"},
	} {
		if _, err := Read(t.Context(), "x", test.content, markdown, test.limits); rule.CodeOf(err) != rule.CodeTooLarge || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, test.says)
		}
	}
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	whole := gzipped(t, tarred(t, "", file{name: "a.md", text: strings.Repeat("abc", 1000)}))
	for name, test := range map[string]struct {
		content []byte
		says    string
	}{
		"text": {[]byte("hello"), "no archive"}, "nothing": {nil, "no archive"}, "bzip2": {[]byte("BZh91AY"), "bzip2"},
		"gzip of a text": {gzipped(t, []byte("hello")), "damaged"}, "gzip of nothing": {gzipped(t, nil), "empty"},
		"cut short": {whole[:len(whole)-40], "damaged"}, "a zip without an end": {[]byte("PK\x03\x04xxxx"), "damaged"},
	} {
		if _, err := Read(t.Context(), "x", test.content, markdown, Limits{}); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, test.says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, "x", whole, markdown, Limits{}); err != context.Canceled { //nolint:errorlint // the very error
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzRead reads archives that anybody may have sent. Whatever comes out has a path within the archive, and keeps the limits.
func FuzzRead(f *testing.F) {
	files := []file{{name: "r/a.md", text: "must"}, {name: "r/../../b.md", text: "x"}, {name: "r/c.md", link: "/etc/passwd"}}
	f.Add(zipped(f, gitHash, files...))
	f.Add(tarred(f, gitHash, files...))
	f.Add(gzipped(f, tarred(f, "", files...)))
	f.Add(overlapping(f))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, content []byte) {
		limits := Limits{Files: 10, Kept: 1 << 16, FileSize: 1 << 14, Unpacked: 1 << 20}
		got, err := Read(t.Context(), "r.zip", content, func(string) bool { return true }, limits)
		if err != nil {
			return
		}
		total := 0
		for p, content := range got.Files {
			total += len(content)
			if clean, reason := safe(p, 64); reason != "" || clean != p {
				t.Errorf("the path %q is not safe", p)
			}
		}
		if total > 1<<16 || len(got.Files) > 10 {
			t.Errorf("%d files of %d bytes were read", len(got.Files), total)
		}
	})
}
