package corpus

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// posting is a document and the weight of a term in it (at most 255): ordinal in the upper 24 bits.
type posting uint32

func newPosting(doc, weight int) posting { return posting(uint32(doc)<<8 | uint32(min(weight, 255))) }

func (p posting) doc() int32 { return int32(p >> 8) }
func (p posting) tf() int    { return int(p & 255) }

// textIndex finds words in the rules of a segment. Terms are numbered from 1, the most frequent first.
type textIndex struct {
	ids   map[string]uint32 // term to number
	posts []posting         // of all terms, one after the other
	lists []uint64          // the postings of term n are posts[lists[n]:lists[n+1]]
	// words are all words as they are written, in order, with their terms, to find beginnings.
	words     []string
	wordTerms []uint32
	// texts holds the terms of each document, field by field, as uvarints of the number of the term, shifted to make room for one
	// bit: first the words in the order of the text, then the wholes (see token), which have the bit set, then endOfField.
	// Document d has texts[begins[d]:begins[d+1]].
	texts   []byte
	begins  []uint64
	lengths []uint16 // weighted words per document, stop words and examples aside
	total   int64    // of lengths
}

// Fields of a rule's text, in the order of textIndex.texts.
const (
	fieldStatement = iota
	fieldRationale
	fieldTags
	fieldSlug
	fieldExamples
	fields
)

// Numbers in textIndex.texts besides terms: 0 ends a field, and 1 separates words that do not follow one another.
const (
	endOfField = 0
	gap        = 1
)

// fieldWeights is how much one word counts in each field.
var fieldWeights = [fields]int{2, 1, 2, 2, 1}

// list returns the postings of a term; none for 0, the unknown term.
func (x *textIndex) list(term uint32) []posting {
	if term == 0 {
		return nil
	}
	return x.posts[x.lists[term]:x.lists[term+1]]
}

// vocabulary is one more than the highest number of a term.
func (x *textIndex) vocabulary() int { return len(x.lists) - 1 }

// bytes estimates the memory that the index takes.
func (x *textIndex) bytes() int64 {
	n := 4*len(x.posts) + 8*len(x.lists) + len(x.texts) + 10*len(x.begins) + 80*len(x.ids) + 32*len(x.words)
	return int64(n)
}

// eachTerm calls yield for the terms of a document: its number, the field, and whether it is a whole.
func (x *textIndex) eachTerm(doc int32, yield func(term uint32, field int, whole bool)) {
	text, field := x.texts[x.begins[doc]:x.begins[doc+1]], 0
	for i := 0; i < len(text); {
		code, n := uint64(text[i]), 1
		if code >= 0x80 {
			code, n = binary.Uvarint(text[i:])
		}
		i += n
		if code <= gap {
			if code == endOfField {
				field++
			}
			continue
		}
		yield(uint32(code>>1), field, code&1 != 0)
	}
}

// newTextIndex indexes entries, on several cores if they are many: each worker reads a run of documents with numbers of its own
// for the terms, which are then merged.
func newTextIndex(entries []*Entry) *textIndex {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(entries)/1000))
	parts := make([]*termReader, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			parts[w] = newTermReader()
			parts[w].read(entries[len(entries)*w/workers : len(entries)*(w+1)/workers])
		})
	}
	wg.Wait()
	x := &textIndex{begins: make([]uint64, 1, len(entries)+1), lengths: make([]uint16, 0, len(entries))}
	numbers := x.number(parts)
	for w, part := range parts {
		wg.Go(func() { part.renumber(numbers[w]) })
	}
	wg.Wait()
	size := 0
	for _, part := range parts {
		size += len(part.texts)
	}
	x.texts = make([]byte, 0, size)
	for _, part := range parts {
		for _, end := range part.ends {
			x.begins = append(x.begins, uint64(len(x.texts)+end))
		}
		x.texts = append(x.texts, part.texts...)
		x.lengths = append(x.lengths, part.lengths...)
		x.total += part.total
	}
	x.invert()
	return x
}

// number gives every term its number and every word its term, and returns the numbers by part and by the part's own numbers.
func (x *textIndex) number(parts []*termReader) [][]uint32 {
	type seen struct {
		name string
		n    int
	}
	at := make(map[string]int, len(parts[0].names))
	var all []seen
	for _, part := range parts {
		for i, name := range part.names {
			k, ok := at[name]
			if !ok {
				k = len(all)
				at[name] = k
				all = append(all, seen{name: name})
			}
			all[k].n += part.counts[i]
		}
	}
	slices.SortFunc(all, func(a, b seen) int { return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.name, b.name)) })
	x.ids = make(map[string]uint32, len(all))
	for i, s := range all {
		x.ids[s.name] = uint32(i + 1)
	}
	x.lists = make([]uint64, len(all)+2)
	numbers := make([][]uint32, len(parts))
	words := make(map[string]uint32, len(parts[0].words))
	for w, part := range parts {
		numbers[w] = make([]uint32, len(part.names))
		for i, name := range part.names {
			numbers[w][i] = x.ids[name]
		}
		for word, term := range part.words {
			words[word] = numbers[w][term]
		}
	}
	x.words = make([]string, 0, len(words))
	for word := range words {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	x.wordTerms = make([]uint32, len(x.words))
	for i, word := range x.words {
		x.wordTerms[i] = words[word]
	}
	return numbers
}

// invert makes the postings from the texts: it counts the documents of each term, and then fills the lists.
func (x *textIndex) invert() {
	docs := len(x.begins) - 1
	last := make([]int32, len(x.lists)) // the last document of each term, plus one
	for doc := range int32(docs) {
		x.eachTerm(doc, func(term uint32, _ int, _ bool) {
			if last[term] != doc+1 {
				last[term] = doc + 1
				x.lists[term]++
			}
		})
	}
	sum := uint64(0)
	for term, n := range x.lists {
		x.lists[term] = sum
		sum += n
	}
	x.posts = make([]posting, sum)
	next := slices.Clone(x.lists)
	for doc := range int32(docs) {
		x.eachTerm(doc, func(term uint32, field int, _ bool) {
			n := next[term]
			if n > x.lists[term] && x.posts[n-1].doc() == doc {
				x.posts[n-1] = newPosting(int(doc), x.posts[n-1].tf()+fieldWeights[field])
				return
			}
			x.posts[n] = newPosting(int(doc), fieldWeights[field])
			next[term]++
		})
	}
}

// termReader reads the terms of a run of documents.
type termReader struct {
	words   map[string]uint32 // words as they are written, and the number of their term
	terms   map[string]uint32
	names   []string // of terms
	counts  []int    // of terms in the texts
	stop    []bool   // of terms
	texts   []byte
	ends    []int // of the documents in texts
	lengths []uint16
	total   int64
}

func newTermReader() *termReader {
	return &termReader{words: map[string]uint32{}, terms: map[string]uint32{}}
}

func (p *termReader) read(entries []*Entry) {
	var wholes []byte
	for _, e := range entries {
		length := 0
		eachField(e.Rule, func(field int, text string) {
			eachToken(text, func(t token) bool {
				term := p.term(t)
				code := uint64(term+1) << 1
				if t.whole {
					wholes = binary.AppendUvarint(wholes, code|1)
					return true
				}
				if !p.stop[term] && field != fieldExamples { // else a rule would rank lower for having examples
					length += fieldWeights[field]
				}
				p.texts = binary.AppendUvarint(p.texts, code)
				return true
			})
			if field == fieldTags || field == fieldExamples {
				p.texts = append(p.texts, gap)
			}
		}, func() {
			p.texts = append(append(p.texts, wholes...), endOfField)
			wholes = wholes[:0]
		})
		p.ends = append(p.ends, len(p.texts))
		p.lengths = append(p.lengths, uint16(min(length, 1<<16-1)))
		p.total += int64(min(length, 1<<16-1))
	}
}

// maxExampleText bounds the text of a rule's examples that is indexed, in bytes.
const maxExampleText = 2 << 10

// eachField calls yield for the texts of a rule, with their field, and end after each field.
func eachField(r *rule.Rule, yield func(field int, text string), end func()) {
	yield(fieldStatement, r.Statement)
	end()
	yield(fieldRationale, r.Rationale)
	end()
	for _, tag := range r.Tags {
		yield(fieldTags, tag)
	}
	end()
	yield(fieldSlug, r.Slug)
	end()
	room := maxExampleText
	for i := range r.Examples {
		text := r.Examples[i].Input
		if len(text) > room {
			text = text[:strings.LastIndexAny(text[:room], " \n")+1] // whole words
		}
		yield(fieldExamples, text)
		if room -= len(text); len(text) < len(r.Examples[i].Input) {
			break
		}
	}
	end()
}

func (p *termReader) term(t token) uint32 {
	term, ok := p.words[string(t.text)]
	if !ok {
		name := termOf(t)
		if term, ok = p.terms[name]; !ok {
			term = uint32(len(p.names))
			p.terms[name] = term
			p.names, p.counts, p.stop = append(p.names, name), append(p.counts, 0), append(p.stop, stopWords[name])
		}
		p.words[string(t.text)] = term
	}
	p.counts[term]++
	return term
}

// renumber rewrites the texts with other numbers for the terms.
func (p *termReader) renumber(numbers []uint32) {
	out := make([]byte, 0, len(p.texts))
	end := 0
	for i := 0; i < len(p.texts); {
		code, n := binary.Uvarint(p.texts[i:])
		i += n
		if code > gap {
			code = uint64(numbers[code>>1-1])<<1 | code&1
		}
		out = binary.AppendUvarint(out, code)
		for end < len(p.ends) && p.ends[end] == i {
			p.ends[end] = len(out)
			end++
		}
	}
	p.texts = out
}
