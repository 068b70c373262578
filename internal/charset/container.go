package charset

import (
	"bytes"
	"encoding/binary"
)

// extent is a part of a file, by offsets of 8 bytes so that no sum overflows.
type extent struct{ from, size uint64 }

func (e extent) within(b []byte) bool {
	return e.size <= uint64(len(b)) && e.from <= uint64(len(b))-e.size
}

// isBMP checks that the header has a known length and gives the length of the file and the place of its pixels.
func isBMP(b []byte) bool {
	if len(b) < 30 || string(b[:2]) != "BM" || uint64(binary.LittleEndian.Uint32(b[2:])) != uint64(len(b)) {
		return false
	}
	header, pixels := binary.LittleEndian.Uint32(b[14:]), binary.LittleEndian.Uint32(b[10:])
	switch header {
	case 12, 40, 52, 56, 64, 108, 124:
		return pixels >= 14+header && uint64(pixels) < uint64(len(b)) && pixels <= 14+header+1024+12
	}
	return false
}

// isICO checks that the pictures follow their list without gaps up to the end, and that each is a PNG or a bitmap.
func isICO(b []byte) bool {
	kind, count := binary.LittleEndian.Uint16(b[2:]), int(binary.LittleEndian.Uint16(b[4:]))
	if binary.LittleEndian.Uint16(b) != 0 || kind != 1 && kind != 2 || count == 0 || count > 64 || len(b) < 6+16*count {
		return false
	}
	next := uint64(6 + 16*count)
	for i := range count {
		entry := b[6+16*i:]
		e := extent{uint64(binary.LittleEndian.Uint32(entry[12:])), uint64(binary.LittleEndian.Uint32(entry[8:]))}
		if e.from != next || e.size < 40 || !e.within(b) {
			return false
		}
		picture := b[e.from : e.from+e.size]
		if !isPNG(picture) && binary.LittleEndian.Uint32(picture) != 40 {
			return false
		}
		next += e.size
	}
	return next == uint64(len(b))
}

// isTIFF walks the directories, whose entries must have the types of the format and lie within the file.
func isTIFF(b []byte) bool {
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return false
	}
	sizes := [...]uint64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4}
	at := uint64(order.Uint32(b[4:]))
	for directories := 0; at != 0; directories++ {
		if directories > 256 || !(extent{at, 2}).within(b) {
			return false
		}
		count := uint64(order.Uint16(b[at:]))
		if count == 0 || !(extent{at, 2 + 12*count + 4}).within(b) {
			return false
		}
		for i := range count {
			entry := b[at+2+12*i:]
			kind, n := order.Uint16(entry[2:]), uint64(order.Uint32(entry[4:]))
			if kind == 0 || int(kind) >= len(sizes) {
				return false
			}
			if size := sizes[kind] * n; size > 4 && !(extent{uint64(order.Uint32(entry[8:])), size}).within(b) {
				return false
			}
		}
		at = uint64(order.Uint32(b[at+2+12*count:]))
	}
	return len(b) > 64
}

// isBoxes walks the boxes of an ISO media file, the first of which names one of some brands. It has pictures or tracks, and data.
func isBoxes(b []byte, brands ...string) bool {
	if string(b[4:8]) != "ftyp" || !oneOf(b[8:12], brands) {
		return false
	}
	described, data := false, false
	for rest := b; len(rest) > 0; {
		if len(rest) < 8 {
			return false
		}
		size, head := uint64(binary.BigEndian.Uint32(rest)), uint64(8)
		switch {
		case size == 1 && len(rest) >= 16:
			size, head = binary.BigEndian.Uint64(rest[8:]), 16
		case size == 0 && string(rest[4:8]) == "mdat":
			size = uint64(len(rest))
		}
		if size < head || size > uint64(len(rest)) {
			return false
		}
		switch string(rest[4:8]) {
		case "moov", "meta", "moof":
			described = true
		case "mdat":
			data = true
		case "ftyp", "styp", "sidx", "mfra", "free", "skip", "wide", "udta", "uuid", "pdin", "emsg", "idat", "prft":
		default:
			return false
		}
		rest = rest[size:]
	}
	return described && data
}

// isWebM walks the two elements of a Matroska file: a header that names WebM or Matroska, and one segment to the end.
func isWebM(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("\x1a\x45\xdf\xa3"))
	if !ok {
		return false
	}
	size, n, known := vint(rest)
	if !known || n == 0 || size > uint64(len(rest)-n) {
		return false
	}
	header := rest[n : n+int(size)]
	if !bytes.Contains(header, []byte("\x42\x82\x84webm")) && !bytes.Contains(header, []byte("\x42\x82\x88matroska")) {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest[n+int(size):], []byte("\x18\x53\x80\x67")); !ok {
		return false
	}
	size, n, known = vint(rest)
	return n > 0 && (!known || size == uint64(len(rest)-n)) && len(rest) > 64
}

// vint reads a number of Matroska and its length; known is false for the number that means an unknown size.
func vint(b []byte) (value uint64, length int, known bool) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0, false
	}
	length = 1
	for mask := byte(0x80); b[0]&mask == 0; mask >>= 1 {
		length++
	}
	if len(b) < length {
		return 0, 0, false
	}
	value = uint64(b[0]) & (1<<(8-length) - 1)
	for _, c := range b[1:length] {
		value = value<<8 | uint64(c)
	}
	return value, length, value != 1<<(7*length)-1
}

// isFont checks the table directory of a TrueType or OpenType font.
func isFont(b []byte) bool {
	switch string(b[:4]) {
	case "\x00\x01\x00\x00", "OTTO", "true":
	default:
		return false
	}
	return tables(b, 12, 16, int(binary.BigEndian.Uint16(b[4:])), 8)
}

// tables checks a directory of tables of a font: count entries of a size from an offset on, each with the place and the length of
// its table at field. The tables reach to the end of the file, padding included.
func tables(b []byte, from, entry, count, field int) bool {
	if count < 4 || count > 256 || len(b) < from+entry*count {
		return false
	}
	end := uint64(0)
	for i := range count {
		record := b[from+entry*i:]
		e := extent{uint64(binary.BigEndian.Uint32(record[field:])), uint64(binary.BigEndian.Uint32(record[field+4:]))}
		if !e.within(b) || e.from < uint64(from+entry*count) || !printable(record, 4) {
			return false
		}
		end = max(end, e.from+e.size)
	}
	return uint64(len(b))-end < 4
}

// isWOFF checks that the header gives the length of the file; for WOFF also the directory of tables.
func isWOFF(b []byte) bool {
	if len(b) < 48 || uint64(binary.BigEndian.Uint32(b[8:])) != uint64(len(b)) {
		return false
	}
	count := int(binary.BigEndian.Uint16(b[12:]))
	switch string(b[:4]) {
	case "wOFF":
		meta, private := binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[36:])
		return meta == 0 && private == 0 && tables(b, 44, 20, count, 4)
	case "wOF2":
		compressed := uint64(binary.BigEndian.Uint32(b[20:]))
		meta, private := binary.BigEndian.Uint32(b[28:]), binary.BigEndian.Uint32(b[40:])
		return meta == 0 && private == 0 && count >= 4 && count <= 256 && compressed < uint64(len(b)) && compressed+48+uint64(count)*24 >= uint64(len(b))
	}
	return false
}

// isEOT checks the lengths and the magic number in the header of an embedded OpenType font.
func isEOT(b []byte) bool {
	if len(b) < 82 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) || binary.LittleEndian.Uint16(b[34:]) != 0x504c {
		return false
	}
	version, font := binary.LittleEndian.Uint32(b[8:]), uint64(binary.LittleEndian.Uint32(b[4:]))
	return (version == 0x10000 || version == 0x20001 || version == 0x20002) && font < uint64(len(b)) && font+2048 > uint64(len(b))
}
