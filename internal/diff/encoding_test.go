package diff

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
)

func utf16Text(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// TestTextOfGit has git show files in other encodings as text, and reads the lines that a change adds.
func TestTextOfGit(t *testing.T) {
	before := "import os\nx = 1\ny = 'naïve 日本'\nz = 3\n"
	after := strings.Replace(before, "x = 1\n", "x = eval(y)\nw = 'ü'\n", 1)
	const want = "x = eval(y)\nw = 'ü'\n"
	for name, encode := range map[string]func(s string) string{
		"UTF-16LE":          func(s string) string { return utf16Text("\ufeff"+s, binary.LittleEndian) },
		"UTF-16BE":          func(s string) string { return utf16Text("\ufeff"+s, binary.BigEndian) },
		"UTF-16LE, no mark": func(s string) string { return utf16Text(s, binary.LittleEndian) },
		"UTF-16LE, CRLF": func(s string) string {
			return utf16Text("\ufeff"+strings.ReplaceAll(s, "\n", "\r\n"), binary.LittleEndian)
		},
		"UTF-16BE, CRLF": func(s string) string { return utf16Text(strings.ReplaceAll(s, "\n", "\r\n"), binary.BigEndian) },
		"NULs":           func(s string) string { return strings.ReplaceAll(s, "=", "/*\x00*/=") },
		"Latin-1": func(s string) string {
			return strings.NewReplacer("ü", "\xfc", "ï", "\xef", "日本", "\xe9").Replace(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.write("x.py", encode(before))
			r.diff()
			r.write("x.py", encode(after))
			files, err := Parse(r.diff("--text"))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(added(&files[0]), "/**/", "")
			if got != want || files[0].Unseen != "" {
				t.Errorf("added lines are %q, want %q; unseen is %q", got, want, files[0].Unseen)
			}
		})
	}
}

func TestTextThatIsNone(t *testing.T) {
	const head = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+"
	throughJSON := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for line, want := range map[string]struct {
		text   string
		unseen bool
	}{
		"caf\xe9":                                  {"café", false},
		throughJSON("caf\xe9"):                     {"caf\uFFFD", false},
		"/*\x00*/ eval(x)":                         {"/**/ eval(x)", false},
		"\x00\x01\x02\x03\x04\x05\xff\xfe\x80":     {"\x01\x02\x03\x04\x05\uFFFD", true},
		"\x01\x02\xff eval(x)":                     {"\x01\x02\uFFFD eval(x)", true},
		"\x00" + throughJSON("\xff\xfe\xfd\xfc x"): {"\uFFFD\uFFFD\uFFFD\uFFFD x", true},
	} {
		files, err := Parse(head + line + "\n")
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if got := files[0].Hunks[0].Lines[1].Text; got != want.text || (files[0].Unseen != "") != want.unseen {
			t.Errorf("%q: the line is %q (unseen %q), want %q", line, got, files[0].Unseen, want.text)
		}
	}
}

// A diff that PowerShell wrote is in UTF-16 itself; others begin with a byte order mark.
func TestWholeDiffInAnotherEncoding(t *testing.T) {
	const text = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n" + gitHeader + "@@ -1 +1 @@\n-a\n+eval(x)\n"
	for name, diff := range map[string]string{
		"UTF-8": "\ufeff" + text, "UTF-16LE": utf16Text("\ufeff"+text, binary.LittleEndian), "UTF-16BE": utf16Text("\ufeff"+text, binary.BigEndian),
	} {
		files, err := Parse(diff)
		if err != nil || len(files) != 2 || files[0].Change != Renamed || added(&files[1]) != "eval(x)\n" {
			t.Errorf("%s: files are %s (%v)", name, show(files), err)
		}
	}
}
