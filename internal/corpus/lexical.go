package corpus

import (
	"unicode"
	"unicode/utf8"
)

// maxTerm is the longest term, in bytes, that is indexed; longer runs are hashes, keys and the like.
const maxTerm = 40

var stopWords = map[string]bool{
	"a": true, "an": true, "and": true, "any": true, "are": true, "as": true, "at": true, "be": true, "by": true,
	"can": true, "for": true, "from": true, "has": true, "have": true, "if": true, "in": true, "is": true, "it": true,
	"its": true, "may": true, "must": true, "no": true, "not": true, "of": true, "on": true, "or": true, "shall": true,
	"should": true, "so": true, "that": true, "the": true, "their": true, "they": true, "this": true, "to": true,
	"was": true, "when": true, "which": true, "will": true, "with": true,
}

// eachTerm calls yield for the terms of text: runs of letters and digits in lower case, camel case split into its words,
// stop words and one-letter terms left out, a plural s cut off. The term is only valid during the call.
func eachTerm(text string, yield func(term []byte)) {
	var buf [maxTerm + utf8.UTFMax]byte
	n, long := 0, false
	lowerBefore := false
	flush := func() {
		if n > 1 && !long {
			term := buf[:n]
			if n > 3 && term[n-1] == 's' && term[n-2] != 's' {
				term = term[:n-1]
			}
			if !stopWords[string(term)] {
				yield(term)
			}
		}
		n, long, lowerBefore = 0, false, false
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case 'A' <= c && c <= 'Z':
				if lowerBefore {
					flush()
				}
				c += 'a' - 'A'
				lowerBefore = false
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
				lowerBefore = true
			default:
				flush()
				continue
			}
			if n < maxTerm {
				buf[n] = c
				n++
			} else {
				long = true
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		lowerBefore = unicode.IsLower(r)
		if n < maxTerm {
			n += utf8.EncodeRune(buf[n:], unicode.ToLower(r))
		} else {
			long = true
		}
	}
	flush()
}

// posting is a document and how often the term stands in it (at most 255): ordinal in the upper 24 bits.
type posting uint32

func newPosting(doc, tf int) posting { return posting(uint32(doc)<<8 | uint32(min(tf, 255))) }

func (p posting) doc() int { return int(p >> 8) }
func (p posting) tf() int  { return int(p & 255) }

// BM25 parameters, with the usual values (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)
