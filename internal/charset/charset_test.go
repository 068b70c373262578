package charset

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// wideText encodes a text in an encoding of two or four bytes, without a byte order mark.
func wideText(s, name string) string {
	var out []byte
	for _, w := range wides {
		if w.name != name {
			continue
		}
		units := []rune(s)
		if w.size == 2 {
			units = nil
			for _, u := range utf16.Encode([]rune(s)) {
				units = append(units, rune(u))
			}
		}
		for _, u := range units {
			b := make([]byte, w.size)
			if w.size == 2 {
				w.order.PutUint16(b, uint16(u))
			} else {
				w.order.PutUint32(b, uint32(u))
			}
			out = append(out, b...)
		}
	}
	return string(out)
}

func TestDecode(t *testing.T) {
	const code = "import os\n\nos.system('rm -rf /')  # naïve, 日本, 😀\n"
	const latin = "import os\n\nos.system('rm -rf /')  # naïve – “Łódź” € 5 …\n"
	russian := "привет = \"мир и труд\"\nпечать(привет)\n"
	for name, c := range map[string]struct{ in, text, encoding string }{
		"empty":               {"", "", "UTF-8"},
		"ASCII":               {"eval(x)\n", "eval(x)\n", "UTF-8"},
		"UTF-8":               {code, code, "UTF-8"},
		"UTF-8 with a mark":   {"\xef\xbb\xbf" + code, code, "UTF-8"},
		"form feed, escape":   {"a\f\x1b[1mb\r\n", "a\f\x1b[1mb\r\n", "UTF-8"},
		"UTF-16LE":            {"\xff\xfe" + wideText(code, "UTF-16LE"), code, "UTF-16LE"},
		"UTF-16BE":            {"\xfe\xff" + wideText(code, "UTF-16BE"), code, "UTF-16BE"},
		"UTF-32LE":            {"\xff\xfe\x00\x00" + wideText(code, "UTF-32LE"), code, "UTF-32LE"},
		"UTF-32BE":            {"\x00\x00\xfe\xff" + wideText(code, "UTF-32BE"), code, "UTF-32BE"},
		"UTF-16LE, no mark":   {wideText(latin, "UTF-16LE"), latin, "UTF-16LE"},
		"UTF-16BE, no mark":   {wideText(latin, "UTF-16BE"), latin, "UTF-16BE"},
		"UTF-32LE, no mark":   {wideText(latin, "UTF-32LE"), latin, "UTF-32LE"},
		"UTF-32BE, no mark":   {wideText(latin, "UTF-32BE"), latin, "UTF-32BE"},
		"Russian in UTF-16LE": {wideText(russian, "UTF-16LE"), russian, "UTF-16LE"},
		"Russian in UTF-16BE": {"\xfe\xff" + wideText(russian, "UTF-16BE"), russian, "UTF-16BE"},
		"NUL in a comment":    {"/* \x00 */ eval(x)\n", "/*  */ eval(x)\n", "UTF-8"},
		"NUL in a word":       {"ev\x00al(x)\n", "eval(x)\n", "UTF-8"},
		"NULs behind":         {"eval(x)\n" + strings.Repeat("\x00", 1000), "eval(x)\n", "UTF-8"},
		"Latin-1":             {"caf\xe9 = eval(x)\n", "café = eval(x)\n", "Windows-1252"},
		"Windows-1252":        {"\x93quoted\x94 \x80 5\n", "“quoted” € 5\n", "Windows-1252"},
		"Latin-1 and a NUL":   {"caf\xe9\x00 = eval(x)\n", "café = eval(x)\n", "Windows-1252"},
		"through JSON":        {"caf\uFFFD = eval(x)\n", "caf\uFFFD = eval(x)\n", "UTF-8"},
	} {
		text, encoding, ok := Decode([]byte(c.in))
		if !ok || text != c.text || encoding != c.encoding {
			t.Errorf("%s: text is %q in %s (%v), want %q in %s", name, text, encoding, ok, c.text, c.encoding)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	noise := make([]byte, 400)
	for i := range noise {
		noise[i] = byte(i*i*7 + i*13)
	}
	for name, in := range map[string]string{
		"noise":                              string(noise),
		"a program":                          "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00\x40\x10\x40\x00",
		"WebAssembly of small numbers":       "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x05\x01\x03\x00\x01\x0b",
		"ASCII after a mark of UTF-16":       "\xff\xfe<?php eval($_GET[0]);\n",
		"ASCII after a mark, big endian":     "\xfe\xffeval(eval(x))\n",
		"a word between NULs after a mark":   "\xff\xfe\n\x00eval(\x00x\x00)\x00\n\x00",
		"words between NULs":                 "e\x00val(x)",
		"words between NULs, big endian":     "eval\x00(1)\x00eval(1)",
		"an odd byte in UTF-16":              "\xff\xfea\x00b\x00c",
		"half a pair in UTF-16":              "\xff\xfea\x00\x00\xd8b\x00",
		"a number beyond Unicode in UTF-32":  "\x00\x00\xfe\xff\x00\x11\x00\x00",
		"the highest bit in UTF-32":          "\x00\x00\xfe\xff\x80\x00\x00\x41",
		"bytes that mean nothing in Latin-1": "a\x81\x8d\x8f",
	} {
		if text, encoding, ok := Decode([]byte(in)); ok {
			t.Errorf("%s: read as %s: %q", name, encoding, text)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain é":              "plain é",
		"caf\xe9":              "café",
		"é and \xe9":           "é and é", // both encodings in one line
		"\x80 5":               "€ 5",
		"\x01\xe9":             "\x01\uFFFD",
		"a\x81\xe9":            "a\uFFFD",
		"\xff\xd8\xff\xe0\x00": "\uFFFD\x00",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q is read as %q, want %q", in, got, want)
		}
	}
}

func TestDecodeWide(t *testing.T) {
	lines := []string{"import os", "", "x = 'ü – Łódź'"}
	var raw []string
	for _, l := range lines {
		raw = append(raw, wideText(l, "UTF-16BE"))
	}
	raw[0] = "\xfe\xff" + raw[0]
	got, ok := DecodeWide(raw, "UTF-16BE")
	if !ok || strings.Join(got, "\n") != strings.Join(lines, "\n") {
		t.Errorf("lines are %q (%v), want %q", got, ok, lines)
	}
	for _, c := range []struct {
		pieces   []string
		encoding string
	}{
		{raw, "UTF-16LE"}, {[]string{"eval(x)eval(x)"}, "UTF-16LE"}, {[]string{"a"}, "UTF-16LE"}, {raw, "EBCDIC"}, {[]string{"\n\x00a\x00"}, "UTF-16LE"},
	} {
		if got, ok := DecodeWide(c.pieces, c.encoding); ok {
			t.Errorf("%q is read in %s: %q", c.pieces, c.encoding, got)
		}
	}
}

// FuzzDecode holds the laws of Decode: text is UTF-8 without NULs, and an ASCII word that a line has, NULs aside, is in the text
// of any reading with it or the bytes are refused.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"eval(x)", "\xff\xfee\x00", "caf\xe9", "\x00\x00\xfe\xff\x00\x00\x00a", "a\x00b", "\x89PNG\r\n\x1a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, _, ok := Decode([]byte(s))
		if ok && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			t.Errorf("text is %q", text)
		}
		if line := Line(s); !utf8.ValidString(line) {
			t.Errorf("line is %q", line)
		}
		const word = "eval(secret)"
		for _, with := range []string{word + s, s + word} {
			if text, name, ok := Decode([]byte(with)); ok && !strings.Contains(text, word) {
				t.Errorf("read as %s, the text %q has lost %q", name, text, word)
			}
		}
		if name, ok := Media([]byte(s)); ok {
			if _, _, isText := Decode([]byte(s)); isText {
				t.Errorf("%q is text and %s", s, name)
			}
		}
	})
}
