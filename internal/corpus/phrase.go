package corpus

import (
	"bytes"
	"encoding/binary"
)

// keepPhrase unmarks the documents in which terms do not follow one another within one field, or one tag.
func (x *textIndex) keepPhrase(docs bitset, terms []string) {
	var pattern []byte
	var rarest []posting
	for i, term := range terms {
		id := x.ids[term]
		if list := x.list(id); i == 0 || len(list) < len(rarest) {
			rarest = list
		}
		pattern = binary.AppendUvarint(pattern, uint64(id)<<1)
	}
	kept := newBitset(len(x.lengths))
	for _, p := range rarest {
		if doc := p.doc(); docs.has(doc) && x.hasPattern(doc, pattern) {
			kept.set(doc)
		}
	}
	copy(docs, kept)
}

// hasPattern reports whether the words of a document have a row of uvarints in them. The last byte of each uvarint, and no
// other, is below 0x80, which shows where one begins.
func (x *textIndex) hasPattern(doc int32, pattern []byte) bool {
	text := x.texts[x.begins[doc]:x.begins[doc+1]]
	for from := 0; ; {
		at := bytes.Index(text[from:], pattern)
		if at < 0 {
			return false
		}
		at += from
		if at == 0 || text[at-1] < 0x80 {
			return true
		}
		from = at + 1
	}
}
