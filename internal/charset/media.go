package charset

import (
	"bytes"
	"encoding/binary"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
)

// Media returns the kind of media that bytes are, such as "a PNG image". It reads their structure to the last byte: a header
// alone, a file cut short, and one with data behind its end are no media. Nor are bytes that [Decode] reads as text, and those
// with program text between them, such as PHP in the comment of an image.
func Media(b []byte) (name string, ok bool) {
	for _, k := range mediaKinds {
		if len(b) >= 12 && k.is(b) {
			if _, _, isText := Decode(b); isText || holdsProgram(b) {
				return "", false
			}
			return k.name, true
		}
	}
	return "", false
}

// mediaKinds are the kinds of media. Each function reads the whole structure.
var mediaKinds = []struct {
	name string
	is   func(b []byte) bool
}{
	{"a PNG image", isPNG},
	{"a JPEG image", isJPEG},
	{"a GIF image", isGIF},
	{"a WebP image", func(b []byte) bool { return isRIFF(b, "WEBP", "VP8 ", "VP8L", "VP8X") }},
	{"a WAV sound", func(b []byte) bool { return isRIFF(b, "WAVE", "fmt ", "JUNK", "bext") }},
	{"a BMP image", isBMP},
	{"an icon", isICO},
	{"a TIFF image", isTIFF},
	{"an AVIF image", func(b []byte) bool { return isBoxes(b, "avif", "avis") }},
	{"a HEIF image", func(b []byte) bool { return isBoxes(b, "heic", "heix", "mif1") }},
	{"an MP4 video", func(b []byte) bool {
		return isBoxes(b, "isom", "iso2", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4A ", "M4V ", "M4B ", "dash", "qt  ", "3gp4", "3gp5", "f4v ")
	}},
	{"a WebM video", isWebM},
	{"a font", isFont},
	{"a WOFF font", isWOFF},
	{"an EOT font", isEOT},
	{"an MP3 sound", isMP3},
	{"an Ogg sound", isOgg},
	{"a FLAC sound", isFLAC},
}

// programMarks begin program text that interpreters find anywhere in a file.
var programMarks = [][]byte{
	[]byte("<?php"), []byte("<?="), []byte("<script"), []byte("<%"), []byte("*/"), []byte("#!/"), []byte("<svg"), []byte("<html"), []byte("eval("),
}

// holdsProgram reports whether a mark of program text occurs with printable text behind it.
func holdsProgram(b []byte) bool {
	lower := bytes.ToLower(b)
	for _, mark := range programMarks {
		for rest := lower; ; {
			at := bytes.Index(rest, mark)
			if at < 0 {
				break
			}
			rest = rest[at+len(mark):]
			// In data at random, a mark with so much text behind it occurs about once in a hundred megabytes.
			behind := 6
			if len(mark) < 3 {
				behind = 8
			}
			if printable(rest, min(behind, len(rest))) {
				return true
			}
		}
	}
	return false
}

// printable reports whether the first n bytes are printable ASCII or white space.
func printable(b []byte, n int) bool {
	for _, c := range b[:n] {
		if (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}

// isPNG walks the chunks from IHDR to IEND.
func isPNG(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("\x89PNG\r\n\x1a\n"))
	if _, err := png.DecodeConfig(bytes.NewReader(b)); !ok || err != nil {
		return false
	}
	data := false
	for len(rest) >= 12 {
		size := uint64(binary.BigEndian.Uint32(rest)) + 12
		if size > uint64(len(rest)) {
			return false
		}
		data = data || string(rest[4:8]) == "IDAT"
		if string(rest[4:8]) == "IEND" {
			return data && size == 12 && len(rest) == 12
		}
		rest = rest[size:]
	}
	return false
}

// isJPEG walks the segments to the end marker. Those before the picture have lengths; in the picture, a marker follows 0xff.
func isJPEG(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("\xff\xd8\xff")) {
		return false
	}
	if _, err := jpeg.DecodeConfig(bytes.NewReader(b)); err != nil {
		return false
	}
	scanned := false
	for at := 2; at+2 <= len(b); {
		if b[at] != 0xff {
			return false
		}
		switch kind := b[at+1]; {
		case kind == 0xff: // padding
			at++
			continue
		case kind == 0xd9:
			return scanned && at+2 == len(b)
		case kind == 0x01, 0xd0 <= kind && kind <= 0xd8, kind == 0:
			return false
		}
		if at+4 > len(b) {
			return false
		}
		scanned = scanned || b[at+1] == 0xda
		picture := b[at+1] == 0xda
		at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
		for picture && at+1 < len(b) && (b[at] != 0xff || b[at+1] == 0 || 0xd0 <= b[at+1] && b[at+1] <= 0xd7) {
			at++
		}
	}
	return false
}

// isGIF walks the blocks to the trailer. Sizes beyond 8191, whose bytes would be letters, occur in no picture of use, but in
// program text that begins like one.
func isGIF(b []byte) bool {
	c, err := gif.DecodeConfig(bytes.NewReader(b))
	if err != nil || c.Width > 8191 || c.Height > 8191 || c.Width == 0 || c.Height == 0 {
		return false
	}
	at := 13
	if b[10]&0x80 != 0 {
		at += 3 << (b[10]&7 + 1)
	}
	for pictures := 0; at < len(b); {
		switch b[at] {
		case 0x3b:
			return pictures > 0 && at+1 == len(b)
		case 0x21:
			at += 2
		case 0x2c:
			pictures++
			if at+10 > len(b) {
				return false
			}
			table := b[at+9]
			at += 11
			if table&0x80 != 0 {
				at += 3 << (table&7 + 1)
			}
		default:
			return false
		}
		for at < len(b) && b[at] != 0 {
			at += 1 + int(b[at])
		}
		at++
	}
	return false
}

// isRIFF walks the chunks of a RIFF file of a form, the first of which is one of some.
func isRIFF(b []byte, form string, first ...string) bool {
	if string(b[:4]) != "RIFF" || string(b[8:12]) != form || uint64(binary.LittleEndian.Uint32(b[4:]))+8 != uint64(len(b)) {
		return false
	}
	chunks := 0
	for rest := b[12:]; len(rest) > 0; chunks++ {
		if len(rest) < 8 || chunks == 0 && !oneOf(rest[:4], first) {
			return false
		}
		size := uint64(binary.LittleEndian.Uint32(rest[4:]))
		size += size&1 + 8
		if size > uint64(len(rest)) {
			return false
		}
		rest = rest[size:]
	}
	return chunks > 0
}

func oneOf(b []byte, list []string) bool {
	return slices.Contains(list, string(b))
}
