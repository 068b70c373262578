package oracletest

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// drawer draws trees and changes of them.
type drawer struct{ *rapid.T }

// pick draws an element of a list.
func pick[T any](d drawer, label string, list []T) T { return rapid.SampledFrom(list).Draw(d.T, label) }

// upTo draws a number from 0 to n.
func (d drawer) upTo(label string, n int) int { return rapid.IntRange(0, n).Draw(d.T, label) }

// one draws true once in n times.
func (d drawer) one(label string, n int) bool { return d.upTo(label, n-1) == n-1 }

// paths are names that tools write and read in several ways.
var paths = []string{
	"src/a.py", "a.py", "src/b.js", "lib/a.py", "src/deep/x.py", "secret/key.txt", "docs/read me.txt", "src/\u00fcn\u00ef.py", "src/tab\there.py",
	`src/quo"te.py`, "a/src/a.py", "b/src/a.py", "b/a/src/x.py", "src/src/a.py", "src/a.py.orig", "Src/A.py", "vendor/src/a.py", "logo.png", "src/logo.png",
	`src/c\d.py`, "a/secret/x", "b", "src/ b/src/ b", "src/x b/src/x", "secret/x", "dev/null", "src/new\nline.py", "src/trailing ", "index", "src/caf\xe9.py",
}

// bad breaks all rules about content; odd breaks those that ignore case.
const (
	bad = "forbidden("
	odd = "Forbidden("
)

// lineTexts are lines of files. Many look like parts of diffs, mails and secrets.
var lineTexts = []string{
	"", " ", "a", "b", "c", "x = 1", "\treturn x", "    y = 2", "}", "caf\xe9", "\u00fcn\u00ef", "- item", "+ item", "-- a/x", "++ b/x", "--- a/src/a.py", "+++ b/src/a.py",
	"@@ -1 +1 @@", "diff --git a/x b/x", `\ No newline at end of file`, "Binary files a/x and b/x differ", "-- ", "--", "commit 0123456789abcdef0123", "Index: x", "GIT binary patch",
	"literal 5", "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001", "Only in a: b", "carriage\rreturn", "rename from x",
	`# curl -u "x:`, `"`, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "https://u:p@example.org/", "password = '", "'", "/*", "*/", "# nosec", strings.Repeat("long ", 60),
}

// badLines are lines with the forbidden words.
var badLines = []string{
	bad + "1)", "  " + bad + "x)", "x = 1; " + bad + "2)", odd + "3)", "caf\xe9 " + bad + "4)", "a\r" + bad + "5)", "-- " + bad + "6)", "++ " + bad + "7)",
	`"` + bad + `8)"`, "password = '" + bad + "9)'", "https://u:" + bad + "10)@example.org/", "# " + bad + "11)", `\ ` + bad, "@@ " + bad,
	"diff --git a/x b/" + bad, "+" + bad, "-" + bad, "\t" + bad + "12) // \u00fc", strings.Repeat("long ", 60) + bad,
}

// line draws a line of a file.
func (d drawer) line() string {
	if d.one("bad", 4) {
		return pick(d, "bad line", badLines)
	}
	return pick(d, "line", lineTexts)
}

// lines draws up to n lines of a file.
func (d drawer) lines(n int) []string {
	list := make([]string, d.upTo("lines", n))
	for i := range list {
		list[i] = d.line()
	}
	return list
}

// text is a file before it is encoded.
type text struct {
	lines    []string
	end      string // of lines
	open     bool   // the last line has no end
	encoding string
}

// encodings are ways to write a text.
var encodings = []string{
	"utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8 bom", "utf-16le bom", "utf-16be bom", "utf-16le", "utf-16be", "utf-32le bom", "utf-32be", "nul", "gif", "many nuls", "binary",
}

func (d drawer) text(lines int) text {
	return text{d.lines(lines), pick(d, "end", []string{"\n", "\n", "\n", "\r\n", "\r"}), d.one("open", 4), pick(d, "encoding", encodings)}
}

// bytes returns a text as it is stored.
func (t text) bytes() string {
	s := strings.Join(t.lines, t.end)
	if !t.open && len(t.lines) > 0 {
		s += t.end
	}
	wide := func(size int, order binary.AppendByteOrder, bom bool) string {
		var out []byte
		if bom {
			s = "\uFEFF" + s
		}
		if size == 4 {
			for _, r := range s {
				out = order.AppendUint32(out, uint32(r)) //nolint:gosec // runes are not negative
			}
			return string(out)
		}
		for _, u := range utf16.Encode([]rune(s)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	switch t.encoding {
	case "utf-8 bom":
		return "\uFEFF" + s
	case "utf-16le bom", "utf-16le":
		return wide(2, binary.LittleEndian, t.encoding != "utf-16le")
	case "utf-16be bom", "utf-16be":
		return wide(2, binary.BigEndian, t.encoding != "utf-16be")
	case "utf-32le bom":
		return wide(4, binary.LittleEndian, true)
	case "utf-32be":
		return wide(4, binary.BigEndian, false)
	case "nul":
		return "// \x00\n" + s
	case "many nuls":
		return s + strings.Repeat("\x00", 600)
	case "gif":
		return "GIF89a=1;\n" + s
	case "binary":
		return "\x01\x02\xfe\x00\x80\x81\n" + s + "\x00\x03\xff\xf0\x9f"
	}
	return s
}

// entry draws a file, a link, a submodule or an image.
func (d drawer) entry() entry {
	switch d.upTo("kind", 15) {
	case 15:
		return entry{gitMode, strings.Repeat(pick(d, "commit", []string{"1", "2", "ab"}), 40)[:40]}
	case 14:
		return entry{linkMode, pick(d, "target", []string{"a.py", "../x", bad + "13)"})}
	case 13:
		return entry{plainMode, string(image) + strings.Repeat("\x00\x01", d.upTo("size", 40))}
	}
	return entry{pick(d, "mode", []string{plainMode, plainMode, execMode}), d.text(12).bytes()}
}

// tree draws a tree of one to four files.
func (d drawer) tree() tree {
	t := tree{}
	for range 1 + d.upTo("files", 3) {
		if path := pick(d, "path", paths); t.free(path) {
			t[path] = d.entry()
		}
	}
	return t
}

// change draws a tree that differs from t by one to three edits.
func (d drawer) change(t tree) tree {
	after := maps.Clone(t)
	for range 1 + d.upTo("edits", 2) {
		d.edit(after)
	}
	return after
}

// edit changes a tree in one way.
func (d drawer) edit(t tree) {
	add := func(e entry) {
		if path := pick(d, "new path", paths); t.free(path) {
			t[path] = e
		}
	}
	if len(t) == 0 {
		add(d.entry())
		return
	}
	path := pick(d, "of", t.paths())
	e := t[path]
	switch pick(d, "edit", []string{"lines", "lines", "lines", "lines", "add", "add", "delete", "rename", "rename and edit", "copy", "copy and edit", "mode", "replace", "encode"}) {
	case "lines":
		t[path] = d.edited(e)
	case "add":
		add(d.entry())
	case "delete":
		delete(t, path)
	case "rename":
		delete(t, path)
		add(e)
	case "rename and edit":
		delete(t, path)
		add(d.edited(e))
	case "copy":
		add(e)
	case "copy and edit":
		add(d.edited(e))
	case "mode":
		if e.mode == plainMode {
			t[path] = entry{execMode, e.data}
		} else if e.mode == execMode {
			t[path] = entry{plainMode, e.data}
		}
	case "replace":
		t[path] = d.entry()
	case "encode":
		if e.mode == plainMode || e.mode == execMode {
			t[path] = entry{e.mode, text{append(e.lines(), d.line()), "\n", false, pick(d, "encoding", encodings)}.bytes()}
		}
	}
}

// edited changes up to three places of a file.
func (d drawer) edited(e entry) entry {
	if e.mode != plainMode && e.mode != execMode {
		return d.entry()
	}
	lines := strings.SplitAfter(e.data, "\n")
	for range 1 + d.upTo("places", 2) {
		at := d.upTo("at", len(lines))
		to := min(len(lines), at+d.upTo("deleted", 2))
		added := d.lines(3)
		for i := range added {
			added[i] += "\n"
		}
		lines = slices.Replace(lines, at, to, added...)
	}
	return entry{e.mode, strings.Join(lines, "")}
}
