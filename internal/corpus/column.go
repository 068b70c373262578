package corpus

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// textColumn holds the texts of a segment in lower case, one after another, so that a search for a part of them reads memory in
// order. It is made at its first use.
type textColumn struct {
	once sync.Once
	text []byte
	ends []int // of each document in text
	// grams marks, by the hash of three bytes, the documents that have three bytes with that hash.
	grams [gramHashes]bitset
}

// gramHashes are the different hashes of three bytes: with one bit more, half as many documents pass for one that has three given bytes, and the memory is
// twice as large.
const (
	gramBits   = 9
	gramHashes = 1 << gramBits
)

// gramHash is the hash of three bytes: the upper gramBits of a product, which the lower bytes change most.
func gramHash(a, b, c byte) uint32 {
	return (uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 0x9E3779B1 >> (32 - gramBits)
}

// between separates texts. No text in UTF-8 has this byte, and strings.ToLower returns none.
const between = "\xff"

func (c *textColumn) fill(entries []*Entry) {
	c.once.Do(func() {
		var b bytes.Buffer
		c.ends = make([]int, len(entries))
		for i, e := range entries {
			for _, s := range []string{e.Rule.Slug, e.Rule.Statement, e.Rule.Rationale} {
				b.WriteString(strings.ToLower(s))
				b.WriteString(between)
			}
			c.ends[i] = b.Len()
		}
		c.text = b.Bytes()
		c.fillGrams()
	})
}

// fillGrams fills grams. A segment whose documents fit into one word is read as fast without.
func (c *textColumn) fillGrams() {
	if len(c.ends) <= 64 {
		return
	}
	words := (len(c.ends) + 63) / 64
	all := make(bitset, gramHashes*words)
	for i := range c.grams {
		c.grams[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	for doc := range c.ends {
		text := c.of(int32(doc))
		for i := 2; i < len(text); i++ {
			c.grams[gramHash(text[i-2], text[i-1], text[i])].set(int32(doc))
		}
	}
}

// keepGrams unmarks documents that cannot have a part, since they do not have three of its bytes in a row.
func (c *textColumn) keepGrams(docs bitset, part []byte) {
	for i := 2; i < len(part) && c.grams[0] != nil; i++ {
		docs.intersect(c.grams[gramHash(part[i-2], part[i-1], part[i])])
	}
}

// fewDocuments is the share of a segment up to which keepText looks at each selected document alone.
const fewDocuments = 16

// keepText unmarks the documents whose slug, statement and rationale do not have a part, in any letter case.
func (s *segment) keepText(docs bitset, part string) {
	part = strings.ToLower(part)
	if part == "" || strings.Contains(part, between) { // the second cannot be
		return
	}
	c := &s.folded
	c.fill(s.entries)
	needle := []byte(part)
	c.keepGrams(docs, needle)
	if docs.count()*fewDocuments < len(s.entries) {
		docs.keep(func(doc int32) bool { return bytes.Contains(c.of(doc), needle) })
		return
	}
	found := newBitset(len(s.entries))
	for from := 0; from < len(c.text); {
		i := bytes.Index(c.text[from:], needle)
		if i < 0 {
			break
		}
		doc := sort.SearchInts(c.ends, from+i+1)
		found.set(int32(doc))
		from = c.ends[doc]
	}
	docs.intersect(found)
}

func (c *textColumn) of(doc int32) []byte {
	from := 0
	if doc > 0 {
		from = c.ends[doc-1]
	}
	return c.text[from:c.ends[doc]]
}

// How closely a source reference answers to a source that is looked for.
const (
	citedExactly float32 = 1    // one of its parts, or address and section together, is the source
	citedBelow   float32 = 0.75 // one of them begins with it
	citedWithin  float32 = 0.5  // it occurs inside one of them
)

// source is a source reference in the form in which sources are compared.
type source struct {
	uri, section, kind, document, quote string
	both                                string // address and section
}

// sourceColumn holds the different source references of a segment with the documents that have them. It is made at its first use.
type sourceColumn struct {
	once sync.Once
	refs []source
	docs [][]int32 // by reference
	// names are the addresses, sections, and both together.
	names map[string]bool
}

func (c *sourceColumn) fill(entries []*Entry) {
	c.once.Do(func() {
		normal := map[string]string{} // many rules share their sources
		of := func(part string) string {
			have, ok := normal[part]
			if !ok {
				have = NormalSource(part)
				normal[part] = have
			}
			return have
		}
		at := map[source]int{}
		c.names = map[string]bool{}
		for doc, e := range entries {
			for i := range e.Rule.SourceRefs {
				ref := sourceOf(&e.Rule.SourceRefs[i], of)
				n, ok := at[ref]
				if !ok {
					n = len(c.refs)
					at[ref] = n
					c.refs, c.docs = append(c.refs, ref), append(c.docs, nil)
					for _, name := range []string{ref.uri, ref.section, ref.both} {
						c.names[name] = true
					}
				}
				if list := c.docs[n]; len(list) == 0 || list[len(list)-1] != int32(doc) {
					c.docs[n] = append(list, int32(doc))
				}
			}
		}
		delete(c.names, "")
	})
}

// Cited returns the parts of a source reference that answer to a source: uri, section, quote, kind or document_id; none if the
// reference does not.
func Cited(ref *rule.SourceRef, source string) (parts []string) {
	one := sourceOf(ref, NormalSource)
	wanted := NormalSource(source)
	if wanted == "" || one.cites(wanted) == 0 {
		return nil
	}
	number, numbered := strings.CutPrefix(wanted, "§ ")
	for _, part := range []struct{ name, text string }{
		{"uri", one.uri}, {"section", one.section}, {"quote", one.quote}, {"kind", one.kind}, {"document_id", one.document},
	} {
		if indexPart(part.text, wanted) >= 0 || part.name == "section" && numbered && indexPart(part.text, number) == 0 {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		parts = []string{"uri", "section"}
	}
	return parts
}

// sourceOf brings a reference into the form in which sources are compared.
func sourceOf(r *rule.SourceRef, normal func(string) string) source {
	s := source{uri: normal(r.URI), section: normal(r.Section), kind: normal(r.Kind), document: normal(r.DocumentID), quote: normal(r.Quote)}
	if r.URI != "" && r.Section != "" {
		s.both = normal(r.URI + " " + r.Section)
	}
	return s
}

// cites returns how closely a reference answers to a source in its normal form; 0 if not at all.
func (r *source) cites(wanted string) float32 {
	best := float32(0)
	for _, have := range [...]string{r.uri, r.section, r.both, r.kind, r.document, r.quote} {
		if have == wanted {
			return citedExactly
		}
		switch at := indexPart(have, wanted); {
		case at == 0:
			best = max(best, citedBelow)
		case at > 0:
			best = max(best, citedWithin)
		}
	}
	// A rule may name the section 5.2 without the sign.
	if number, ok := strings.CutPrefix(wanted, "§ "); ok {
		switch {
		case r.section == number:
			return citedExactly
		case indexPart(r.section, number) == 0:
			best = max(best, citedBelow)
		}
	}
	return best
}

// indexPart is the first place of a part in a source, or -1. A number is found as a whole: 3 is in neither 32 nor 13.
func indexPart(have, part string) int {
	for from := 0; from <= len(have)-len(part); {
		i := strings.Index(have[from:], part)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(part)
		if !(digitAt(part, 0) && i > 0 && digitAt(have, i-1)) && !(digitAt(part, len(part)-1) && digitAt(have, end)) {
			return i
		}
		from = i + 1
	}
	return -1
}

func digitAt(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

// sectionWords are ways to write the same.
var sectionWords = strings.NewReplacer("article ", "art. ", "art.", "art. ", "section ", "§ ", "sec. ", "§ ", "sec.", "§ ", "§§", "§ ", "§", "§ ")

// NormalSource brings the name, address or section of a source into the form in which sources are compared.
func NormalSource(s string) string {
	s = text.OneLine(strings.ToLower(s))
	for _, scheme := range []string{"https://", "http://"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok {
			s = strings.TrimPrefix(rest, "www.")
			break
		}
	}
	if strings.Contains(s, "://") || strings.HasPrefix(s, "/") {
		return strings.TrimRight(s, "/")
	}
	return strings.TrimRight(text.OneLine(sectionWords.Replace(s)), "/")
}

// citing marks the documents with a reference for which has returns more than 0, and returns the largest value of each.
func (s *segment) citing(has func(*source) float32) (docs bitset, scores []float32) {
	s.sources.fill(s.entries)
	docs, scores = newBitset(len(s.entries)), make([]float32, len(s.entries))
	for i := range s.sources.refs {
		x := has(&s.sources.refs[i])
		if x == 0 {
			continue
		}
		for _, doc := range s.sources.docs[i] {
			docs.set(doc)
			scores[doc] = max(scores[doc], x)
		}
	}
	return docs, scores
}

// keepSources unmarks the documents whose sources the filter does not select.
func (f *Filter) keepSources(s *segment, docs bitset) {
	kind, document := NormalSource(f.SourceKind), NormalSource(f.DocumentID)
	if kind != "" || document != "" {
		found, _ := s.citing(func(r *source) float32 {
			if (kind != "" && r.kind != kind) || (document != "" && r.document != document) {
				return 0
			}
			return 1
		})
		docs.intersect(found)
	}
	for _, cited := range f.Cites {
		if wanted := NormalSource(cited); wanted != "" {
			found, _ := s.citing(func(r *source) float32 { return r.cites(wanted) })
			docs.intersect(found)
		}
	}
}

// Citing ranks the rules that a filter selects and that refer to a source, the closest first, and returns limit of them after offset,
// and their total. Rules that name the source exactly score 1, those that name something below it 0.75, the others 0.5. Equal scores
// are in the order of rule ids.
func Citing(v *View, source string, f Filter, offset, limit int) (hits []Hit, total int) {
	offset, limit = pageOf(offset, limit)
	best, _ := citing(&v.index, NormalSource(source), &f)
	return v.index.page(best, offset, limit), len(best)
}

// citing lists all documents that refer to a source in its normal form, in order, and marks them.
func citing(x *index, wanted string, f *Filter) (best []found, sel selection) {
	docs := make([]bitset, len(x.segments))
	for i, s := range x.segments {
		if wanted == "" {
			docs[i] = newBitset(len(s.entries))
			continue
		}
		selected, scores := s.citing(func(r *source) float32 { return r.cites(wanted) })
		if d := x.deleted[i]; d != nil {
			selected.without(d.docs)
		}
		f.restrict(s, selected)
		docs[i] = selected
		selected.each(func(doc int32) { best = append(best, found{scores[doc], int32(i), doc}) })
	}
	slices.SortFunc(best, x.compare)
	return best, selection{x, docs}
}

// NamesSource reports whether some rule has a source reference with this address, section, or both together.
func NamesSource(v *View, name string) bool {
	name = NormalSource(name)
	if name == "" {
		return false
	}
	for _, s := range v.index.segments {
		s.sources.fill(s.entries)
		if s.sources.names[name] {
			return true
		}
	}
	return false
}
