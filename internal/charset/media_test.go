package charset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func le(size int, n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)[:size]) }

func be(size int, n uint64) string {
	return strings.Repeat("\x00", max(0, size-8)) + string(binary.BigEndian.AppendUint64(nil, n)[max(0, 8-size):])
}

// noise returns bytes without structure, always the same.
func noise(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x>>24) | 0x80
	}
	return string(b)
}

func box(name, content string) string { return be(4, uint64(len(content)+8)) + name + content }

func chunk(name, content string) string { return name + le(4, uint64(len(content))) + content }

func riff(form, chunks string) string { return chunk("RIFF", form+chunks) }

// samples returns one file of each kind of media, by the name that Media gives it and the kind of its making.
func samples(t testing.TB) map[string]string {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, 20, 20), color.Palette{color.Black, color.White})
	var p, j, g bytes.Buffer
	for _, err := range []error{png.Encode(&p, m), jpeg.Encode(&j, m, nil), gif.Encode(&g, m, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tables := func(from, entry int, record func(tag string, at, size int) string) string {
		var directory, data string
		for i, tag := range []string{"cmap", "glyf", "head", "name"} {
			directory += record(tag, from+4*entry+i*40, 40)
			data += noise(40)
		}
		return directory + data
	}
	font := "\x00\x01\x00\x00" + be(2, 4) + be(6, 0) + tables(12, 16, func(tag string, at, size int) string {
		return tag + be(4, 0) + be(4, uint64(at)) + be(4, uint64(size))
	})
	woff := be(2, 4) + be(2, 0) + be(4, 999) + be(24, 0) + tables(44, 20, func(tag string, at, size int) string {
		return tag + be(4, uint64(at)) + be(4, uint64(size)) + be(8, 0)
	})
	woff2 := be(2, 10) + be(2, 0) + be(4, 9999) + be(4, 300) + be(24, 0) + noise(400)
	frame := "\xff\xfb\x90\x00" + noise(413)
	page := func(kind byte) string {
		return "OggS\x00" + string(rune(kind)) + be(8, 0) + be(8, 1) + be(4, 7) + "\x01\x50" + noise(80)
	}
	ftyp := func(brand string) string { return box("ftyp", brand+be(4, 0)+brand) }
	entries := be(2, 2) + be(2, 256) + be(2, 4) + be(4, 1) + be(4, 20) + be(2, 273) + be(2, 4) + be(4, 1) + be(4, 40)
	return map[string]string{
		"a PNG image":   p.String(),
		"a JPEG image":  j.String(),
		"a GIF image":   g.String(),
		"a WebP image":  riff("WEBP", chunk("VP8L", noise(64))),
		"a WAV sound":   riff("WAVE", chunk("fmt ", noise(16))+chunk("data", noise(64))),
		"a BMP image":   "BM" + le(4, 14+40+64) + le(4, 0) + le(4, 54) + le(4, 40) + noise(36) + noise(64),
		"an icon":       le(2, 0) + le(2, 1) + le(2, 1) + noise(8) + le(4, uint64(p.Len())) + le(4, 22) + p.String(),
		"a TIFF image":  "MM\x00*" + be(4, 8) + entries + be(4, 0) + noise(80),
		"an AVIF image": ftyp("avif") + box("meta", noise(40)) + box("mdat", noise(100)),
		"a HEIF image":  ftyp("heic") + box("meta", noise(40)) + box("mdat", noise(100)),
		"an MP4 video":  ftyp("isom") + box("free", "") + box("mdat", noise(100)) + box("moov", noise(50)),
		"a WebM video":  "\x1a\x45\xdf\xa3\x87\x42\x82\x84webm" + "\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + noise(100),
		"a font":        font,
		"a WOFF font":   "wOFF" + be(4, 0x10000) + be(4, uint64(len(woff)+12)) + woff,
		"a WOFF font 2": "wOF2" + be(4, 0x10000) + be(4, uint64(len(woff2)+12)) + woff2,
		"an EOT font":   le(4, 100+200) + le(4, 200) + le(4, 0x20001) + noise(22) + le(2, 0x504c) + noise(64) + noise(200),
		"an MP3 sound":  "ID3\x03\x00\x00\x00\x00\x00\x0a" + noise(10) + strings.Repeat(frame, 5),
		"an Ogg sound":  page(2) + page(0) + page(4),
		"a FLAC sound":  "fLaC\x00\x00\x00\x22" + noise(34) + "\x84\x00\x00\x08" + noise(8) + "\xff\xf8" + noise(100),
	}
}

func TestMedia(t *testing.T) {
	for want, content := range samples(t) {
		want = strings.TrimSuffix(want, " 2")
		if got, ok := Media([]byte(content)); !ok || got != want {
			t.Errorf("%s is %q (%v)", want, got, ok)
		}
	}
}

// A header alone proves nothing, nor does a structure that breaks off, and program text hides in none.
func TestMediaRefused(t *testing.T) {
	walked := map[string]bool{}
	for name, content := range samples(t) {
		for say, b := range map[string]string{
			"cut short": content[:len(content)-9],
			"a header":  content[:12],
		} {
			loose := name == "a FLAC sound" || name == "a WebM video" || name == "a TIFF image" // whose ends nothing gives
			if got, ok := Media([]byte(b)); ok && !(loose && say == "cut short") {
				t.Errorf("%s, %s: is %s", name, say, got)
			}
		}
		for _, program := range []string{"<?php system($_GET[0]);", "<script>alert(1)</script>", "*/=1;eval(atob(x))//", "\n#!/bin/sh -c 'rm'"} {
			if got, ok := Media([]byte(content + program)); ok {
				t.Errorf("%s with %q behind it: is %s", name, program, got)
			}
		}
		if got, ok := Media([]byte(content + noise(50))); ok && !strings.HasPrefix(name, "a FLAC") && !strings.HasPrefix(name, "a WebM") && !strings.HasPrefix(name, "a TIFF") {
			t.Errorf("%s with data behind it: is %s", name, got)
		}
		walked[name] = true
	}
	s := samples(t)
	for name, content := range map[string]string{
		"text like a GIF":              "GIF89a=1;eval(atob('YWxlcnQoMSk='));//" + strings.Repeat(" ", 50),
		"text like a bitmap":           "BM=1;eval(x)//" + strings.Repeat("x", 60),
		"a GIF of program text":        "GIF89a/*" + s["a GIF image"][8:],
		"PHP in a comment of a GIF":    strings.Replace(s["a GIF image"], "\x2c\x00\x00", "\x21\xfe\x16<?php eval($_GET[0]);?>\x00\x2c\x00\x00", 1),
		"PHP in a chunk of a WebP":     riff("WEBP", chunk("VP8L", noise(64))+chunk("EXIF", "<?php system('id');?>x")),
		"a font without its tables":    s["a font"][:12+4*16],
		"a picture of another format":  strings.Replace(s["an MP4 video"], "isom", "exec", 1),
		"nothing":                      "",
		"a PNG without a picture":      s["a PNG image"][:33] + "\x00\x00\x00\x00IEND\xae\x42\x60\x82",
		"an icon of something else":    le(2, 0) + le(2, 1) + le(2, 1) + noise(8) + le(4, 64) + le(4, 22) + noise(64),
		"a TIFF with a distant entry":  "II*\x00" + le(4, 8) + le(2, 1) + le(2, 256) + le(2, 2) + le(4, 1<<31) + le(4, 1<<31) + le(4, 0) + noise(64),
		"a TIFF that runs in a circle": "II*\x00" + le(4, 8) + le(2, 1) + le(2, 256) + le(2, 3) + le(4, 1) + le(4, 1) + le(4, 8) + noise(64),
	} {
		if got, ok := Media([]byte(content)); ok {
			t.Errorf("%s: is %s", name, got)
		}
	}
	if len(walked) != 19 {
		t.Errorf("%d kinds were walked", len(walked))
	}
	if fmt.Sprint(len(mediaKinds)) != "18" {
		t.Errorf("%d kinds of media; each needs a sample", len(mediaKinds))
	}
}

func FuzzMedia(f *testing.F) {
	for _, content := range samples(f) {
		if len(content) < 1000 {
			f.Add([]byte(content))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if name, ok := Media(b); ok && (len(b) < 12 || holdsProgram(b)) {
			t.Errorf("%q is %s", b, name)
		}
	})
}
