package charset

import (
	"bytes"
	"encoding/binary"
)

// isMP3 walks the frames after an ID3v2 tag, up to the end or an ID3v1 tag.
func isMP3(b []byte) bool {
	if string(b[:3]) == "ID3" {
		size := 10
		for i := range 4 {
			if b[6+i] >= 0x80 {
				return false
			}
			size += int(b[6+i]) << (7 * (3 - i))
		}
		if b[5]&0x10 != 0 {
			size += 10
		}
		if size > len(b) {
			return false
		}
		b = b[size:]
	}
	frames := 0
	for ; len(b) >= 4; frames++ {
		if len(b) == 128 && string(b[:3]) == "TAG" {
			b = nil
			break
		}
		size := frameSize(b)
		if size == 0 || size > len(b) {
			return false
		}
		b = b[size:]
	}
	return frames >= 4 && len(b) == 0
}

// frameSize returns the bytes of an MPEG layer III frame, or 0 if none begins here.
func frameSize(b []byte) int {
	h := binary.BigEndian.Uint32(b)
	version, layer, rate, sample, padding := h>>19&3, h>>17&3, h>>12&15, h>>10&3, int(h>>9&1)
	if h>>21 != 0x7ff || version == 1 || layer != 1 || rate == 0 || rate == 15 || sample == 3 {
		return 0
	}
	first := [...]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	second := [...]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	hertz := [...]int{44100, 48000, 32000}[sample]
	switch version {
	case 3:
		return 144000*first[rate]/hertz + padding
	case 2:
		return 72000*second[rate]/(hertz/2) + padding
	}
	return 72000*second[rate]/(hertz/4) + padding
}

// isOgg walks the pages to the last byte.
func isOgg(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("OggS\x00\x02")) {
		return false
	}
	pages := 0
	for ; len(b) > 0; pages++ {
		if len(b) < 27 || string(b[:5]) != "OggS\x00" || len(b) < 27+int(b[26]) {
			return false
		}
		size := 27 + int(b[26])
		for _, n := range b[27:size] {
			size += int(n)
		}
		if size > len(b) {
			return false
		}
		b = b[size:]
	}
	return pages >= 2
}

// isFLAC walks the metadata blocks, the first of which describes the stream, to the first frame.
func isFLAC(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("fLaC"))
	if !ok || rest[0]&0x7f != 0 || int(rest[1])<<16|int(rest[2])<<8|int(rest[3]) != 34 {
		return false
	}
	for last := false; !last; {
		if len(rest) < 4 || rest[0]&0x7f > 6 {
			return false
		}
		size := 4 + (int(rest[1])<<16 | int(rest[2])<<8 | int(rest[3]))
		last = rest[0]&0x80 != 0
		if size > len(rest) {
			return false
		}
		rest = rest[size:]
	}
	return len(rest) > 2 && rest[0] == 0xff && rest[1]&0xfc == 0xf8
}
