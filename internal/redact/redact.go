// Package redact finds secrets (keys, tokens, passwords) in texts and replaces each by a placeholder, so that they neither
// reach a model nor stay in a record. It applies the rules of gitleaks, and finds truncated private keys and passwords in
// addresses besides.
//
// Most text holds no secret, and the expressions of gitleaks take milliseconds for a diff of ten kilobytes. So a cheap scan
// runs first, and the rules see only the surroundings of a possible secret; see windows.
package redact

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"tenet/internal/wire"
)

// Placeholder returns the text that replaces a secret of a kind.
func Placeholder(kind string) string { return "[redacted:" + kind + "]" }

// Redactor finds and replaces secrets. It is safe for concurrent use.
type Redactor struct{ rules func() *ruleSet }

// New returns a redactor. It loads its rules when a text first needs them.
func New() *Redactor { return &Redactor{rules: leakRules} }

// Text replaces every secret in text by a placeholder. A secret is a token of one line, so lines and the code beside it stay. One
// of high entropy is replaced wherever the text has it. Text returns a text without secrets as it is.
func (r *Redactor) Text(text string) (string, []wire.Redaction) { return r.text(text, nil) }

// Texts does the same for texts that follow one another, such as the pieces of a document: a secret of high entropy, and a
// private key that begins in one and ends in another, is replaced in all of them.
func (r *Redactor) Texts(texts []string) []string {
	clean, found := r.Text(strings.Join(texts, "\n"))
	if len(found) == 0 {
		return texts
	}
	out := make([]string, len(texts))
	for i, was := range texts {
		end := 0
		for range strings.Count(was, "\n") + 1 {
			if n := strings.IndexByte(clean[end:], '\n'); n >= 0 {
				end += n + 1
			} else {
				end = len(clean) + 1
			}
		}
		out[i], clean = clean[:end-1], clean[min(end, len(clean)):]
	}
	return out
}

// text does the same as Text, and adds what it replaces to known, if that is not nil.
func (r *Redactor) text(text string, known *secrets) (string, []wire.Redaction) {
	spans := r.spans(text)
	if len(spans) == 0 {
		return text, nil
	}
	known.add(text, spans)
	return placed(text, spans)
}

// spans returns the secrets of a text in order.
func (r *Redactor) spans(text string) []span {
	if len(text) < minSecret {
		return nil
	}
	suspicious, places, out := windows(text)
	for at, piece := range pieces(suspicious) {
		for _, f := range r.rules().find(piece) {
			from, to := at+f.from, at+f.to
			if f.to == len(piece) && to < len(suspicious) && tokenByte(suspicious, to-1) && tokenByte(suspicious, to) {
				continue // cut off; the next piece has it whole
			}
			first := sort.Search(len(places), func(i int) bool { return places[i].at > from }) - 1
			for _, w := range places[max(first, 0):] {
				if w.at >= to {
					break
				}
				a, b := w.from+max(from-w.at, 0), min(w.from+to-w.at, w.to)
				out = append(out, narrow(text, a, b, f.rule)...)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	out = ordered(out)
	return ordered(append(out, everywhere(text, out)...))
}

// everywhere returns where else a text has those of its secrets that are of high entropy.
func everywhere(text string, spans []span) (out []span) {
	t := table{map[[4]byte][]int{}, map[string]string{}}
	for _, s := range spans {
		t.add(text[s.from:s.to], s.kind)
	}
	t.sort()
	if len(t.kinds) == 0 {
		return nil
	}
	for i := 0; i+minSecret <= len(text); {
		n, kind := t.at(text, i)
		if n == 0 {
			i++
			continue
		}
		if s, ok := tokenAt(text, i, i+n, kind); ok {
			out = append(out, s)
		}
		i += n
	}
	return out
}

// Bytes that the rules read at once, and how many of them again with the next piece. Work within a piece may be quadratic.
const (
	pieceSize = 32 << 10
	overlap   = 2 * longRun
)

// pieces cuts text into overlapping pieces, each with its offset, so that one of them holds a secret and the text before it whole.
func pieces(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		at := 0
		for ; len(text)-at > pieceSize; at += pieceSize - overlap {
			if !yield(at, text[at:at+pieceSize]) {
				return
			}
		}
		if at < len(text) {
			yield(at, text[at:])
		}
	}
}

// table finds secrets of high entropy by their text in constant time, however many of them are alike.
type table struct {
	// lengths are the lengths of the secrets that begin with the same bytes, the longest first.
	lengths map[[4]byte][]int
	kinds   map[string]string
}

// add adds a secret if it is of high entropy.
func (t table) add(secret, kind string) {
	if _, ok := t.kinds[secret]; ok || !highEntropy(secret) {
		return
	}
	t.kinds[secret] = kind
	key := start(secret)
	if !slices.Contains(t.lengths[key], len(secret)) {
		t.lengths[key] = append(t.lengths[key], len(secret))
	}
}

func (t table) sort() {
	for _, list := range t.lengths {
		slices.SortFunc(list, func(a, b int) int { return b - a })
	}
}

// at returns the length and the kind of the longest secret that begins at offset i of a text; a length of 0 for none.
func (t table) at(text string, i int) (n int, kind string) {
	for _, n := range t.lengths[start(text[i:])] {
		if n <= len(text)-i {
			if kind, ok := t.kinds[text[i:i+n]]; ok {
				return n, kind
			}
		}
	}
	return 0, ""
}

// start returns the first bytes of a text of at least minSecret bytes, by which table looks secrets up.
func start(s string) (key [4]byte) {
	copy(key[:], s)
	return key
}
