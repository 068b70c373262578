package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// textKey is the first half of the SHA-256 of a text that is embedded.
type textKey [16]byte

// EmbeddingText returns the text of a rule to embed: the statement and, below it, the rationale.
func EmbeddingText(r *rule.Rule) string {
	if r.Rationale == "" {
		return r.Statement
	}
	return r.Statement + "\n" + r.Rationale
}

// TextHash names the text of a rule that is embedded: the first 16 bytes of its SHA-256, in hex.
func TextHash(r *rule.Rule) string { return newTextKey(r).String() }

func newTextKey(r *rule.Rule) textKey {
	sum := sha256.Sum256([]byte(EmbeddingText(r)))
	return textKey(sum[:16])
}

// String is the key as a TextHash.
func (k textKey) String() string { return hex.EncodeToString(k[:]) }

// parseTextKey is the opposite of [textKey.String]; false for what no TextHash is.
func parseTextKey(hash string) (key textKey, ok bool) {
	n, err := hex.Decode(key[:], []byte(hash[:min(len(hash), 2*len(key))]))
	return key, err == nil && n == len(key) && len(hash) == 2*n
}

// textKey is [newTextKey], computed once.
func (e *Entry) textKey() textKey {
	if k := e.key.Load(); k != nil {
		return *k
	}
	k := newTextKey(e.Rule)
	e.key.Store(&k)
	return k
}

// placed maps the documents of a segment to rows of a view's vectors.
type placed struct {
	rows []int32 // by document; -1 without a vector
	have bitset  // documents with a vector
}

// place finds the rows of entries.
func (s *vectors) place(entries []*Entry) *placed {
	p := &placed{rows: make([]int32, len(entries)), have: newBitset(len(entries))}
	for doc, e := range entries {
		p.rows[doc] = -1
		if row, ok := s.row(e.textKey()); ok {
			p.rows[doc] = row
			p.have.set(int32(doc))
		}
	}
	return p
}

// Vectors returns the number of the view's rules that have a vector, the number of all, and the model; without vectors, model
// is empty.
func (v *View) Vectors() (model string, have, of int) {
	x := &v.index
	if x.vectors == nil {
		return "", 0, x.live
	}
	for i, p := range x.placed {
		have += p.have.count()
		if d := x.deleted[i]; d != nil {
			d.docs.each(func(doc int32) {
				if p.rows[doc] >= 0 {
					have--
				}
			})
		}
	}
	return x.vectors.model, have, x.live
}

// WithoutVector walks the rules that have no vector, in order of their ids.
func (v *View) WithoutVector() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for e := range v.All() {
			if !v.Embedded(e) && !yield(e) {
				return
			}
		}
	}
}

// Embedded reports whether a rule of the view has a vector.
func (v *View) Embedded(e *Entry) bool {
	if v.index.vectors == nil {
		return false
	}
	_, ok := v.index.vectors.row(e.textKey())
	return ok
}

// WithVectors returns the view with embeddings of a model added; vectors of another model are dropped. What no rule without a
// vector needs is left out, and so are vectors that do not have [store.Dimensions] numbers.
func (v *View) WithVectors(model string, embeddings []store.Embedding) *View {
	return v.with(v.version, v.index.embed(model, embeddings))
}

// embed returns the index with embeddings of a model added.
func (x *index) embed(model string, embeddings []store.Embedding) index {
	next := *x
	if x.vectors == nil || x.vectors.model != model {
		next.vectors, next.placed = &vectors{model: model}, make([]*placed, len(x.segments))
		for i, s := range x.segments {
			next.placed[i] = next.vectors.place(s.entries)
		}
	}
	given := make(map[textKey]int, len(embeddings))
	for i, e := range embeddings {
		if key, ok := parseTextKey(e.TextHash); ok && e.Model == model && len(e.Vector) == dimensions {
			given[key] = i
		}
	}
	if len(given) == 0 {
		return next
	}
	var keys []textKey
	var list [][]float32
	rows := map[textKey]int32{}
	changed := slices.Clone(next.placed)
	for i, s := range next.segments {
		var p *placed
		for doc, e := range s.entries {
			if next.placed[i].rows[doc] >= 0 {
				continue
			}
			key := e.textKey()
			at, ok := given[key]
			if !ok {
				continue
			}
			row, ok := rows[key]
			if !ok {
				row = int32(next.vectors.rows + len(keys))
				rows[key] = row
				keys, list = append(keys, key), append(list, embeddings[at].Vector)
			}
			if p == nil {
				p = &placed{slices.Clone(next.placed[i].rows), slices.Clone(next.placed[i].have)}
				changed[i] = p
			}
			p.rows[doc] = row
			p.have.set(int32(doc))
		}
	}
	if len(keys) > 0 {
		next.placed, next.vectors = changed, next.vectors.with(keys, list)
	}
	return next
}

// vectorOf is the vector of a rule; nil without.
func (x *index) vectorOf(e *Entry) []float32 {
	if x.vectors == nil {
		return nil
	}
	row, ok := x.vectors.row(e.textKey())
	if !ok {
		return nil
	}
	codes, scale := x.vectors.at(row)
	out := make([]float32, dimensions)
	for i, c := range codes {
		out[i] = float32(c) * scale
	}
	return out
}

// wasteful reports whether most vectors are of texts that no rule has any more.
func (x *index) wasteful() bool {
	return x.vectors != nil && x.vectors.rows > 1000 && x.vectors.rows > 2*x.live
}

// usedVectors are the vectors that a segment of all rules needs.
func (x *index) usedVectors(s *segment) *vectors {
	if !x.wasteful() {
		return x.vectors
	}
	var rows []int32
	seen := make(map[int32]bool, len(s.entries))
	for _, row := range x.vectors.place(s.entries).rows {
		if row >= 0 && !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	return x.vectors.only(rows)
}
