// Package redact finds secrets (keys, tokens, passwords) in texts and replaces each by a placeholder, so that they neither
// reach a model nor stay in a record. It applies the rules of gitleaks, and finds truncated private keys and passwords in
// addresses besides.
//
// Most text holds no secret, and the expressions of gitleaks take milliseconds for a diff of ten kilobytes. So a cheap scan
// runs first, and the rules see only the surroundings of a possible secret; see windows.
package redact

import (
	"cmp"
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

// minSecret is the length of the shortest secret that Text replaces everywhere in a text.
const minSecret = 6

// secret is a text to replace, except keep bytes at each end.
type secret struct {
	text, kind string
	keep       int
	// from and to bound the part of the text where it is a secret; a to of 0 means all of the text.
	from, to int
}

// Text replaces every secret in text by a placeholder. Lines stay where they are: a secret that spans lines leaves a
// placeholder in each. Text returns a text without secrets as it is.
func (r *Redactor) Text(text string) (string, []wire.Redaction) { return r.text(text, nil) }

// text does the same, and adds each replaced piece with its placeholder to replaced, if that is not nil.
func (r *Redactor) text(text string, replaced map[string]string) (string, []wire.Redaction) {
	found := r.secrets(text)
	if len(found) == 0 {
		return text, nil
	}
	return replace(text, found, replaced)
}

// secrets returns the secrets of a text, each a piece of one line, the longest first.
func (r *Redactor) secrets(text string) []secret {
	if len(text) < minSecret {
		return nil
	}
	suspicious, out := windows(text)
	for piece := range pieces(suspicious) {
		for _, f := range r.rules().find(piece) {
			for line := range strings.Lines(f.secret) {
				line = strings.Trim(line, " \t\r\n+-'\"`")
				if f.rule == privateKeyKind && !keyText(line) { // any text between head and foot
					continue
				}
				out = append(out, secret{text: line, kind: f.rule})
			}
		}
	}
	out = slices.DeleteFunc(out, func(s secret) bool { return len(s.text) < minSecret })
	slices.SortFunc(out, func(a, b secret) int {
		return cmp.Or(longestFirst(a.text, b.text), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
	return slices.CompactFunc(out, func(a, b secret) bool { return a.text == b.text && a.to == b.to })
}

func longestFirst(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }

// Bytes that the rules read at once, and how many of them again with the next piece. Work within a piece may be quadratic.
const (
	pieceSize = 32 << 10
	overlap   = 2 * longRun
)

// pieces cuts text into overlapping pieces, so that one of them holds a secret and the text before it whole.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > pieceSize {
			if !yield(text[:pieceSize]) {
				return
			}
			text = text[pieceSize-overlap:]
		}
		if text != "" {
			yield(text)
		}
	}
}

// replace puts placeholders in the place of secrets, which are in order of length, the longest first. It adds the pieces that
// it replaces to replaced, if that is not nil.
func replace(text string, secrets []secret, replaced map[string]string) (string, []wire.Redaction) {
	table := tableOf(secrets)
	var b strings.Builder
	var found []wire.Redaction
	line, copied := 1, 0
	for i := 0; i+minSecret <= len(text); {
		if text[i] == '\n' {
			line++
			i++
			continue
		}
		s := table.at(text, i)
		if s == nil {
			i++
			continue
		}
		b.WriteString(text[copied : i+s.keep])
		b.WriteString(Placeholder(s.kind))
		found = append(found, wire.Redaction{Kind: s.kind, Line: line})
		if replaced != nil {
			replaced[s.text[s.keep:len(s.text)-s.keep]] = Placeholder(s.kind)
		}
		i += len(s.text)
		copied = i - s.keep
	}
	b.WriteString(text[copied:])
	return b.String(), found
}

// table finds secrets by their text in constant time, however many of them are alike.
type table struct {
	// lengths are the lengths of the secrets that begin with the same bytes, the longest first.
	lengths map[[4]byte][]int
	// texts are the secrets with the same text, in order of to.
	texts map[string][]secret
}

func tableOf(secrets []secret) table {
	t := table{map[[4]byte][]int{}, make(map[string][]secret, len(secrets))}
	for _, s := range secrets {
		key, n := start(s.text), len(s.text)
		if list := t.lengths[key]; len(list) == 0 || list[len(list)-1] != n {
			t.lengths[key] = append(list, n)
		}
		t.texts[s.text] = append(t.texts[s.text], s)
	}
	return t
}

// at returns the longest secret that begins at offset i of a text, or nil.
func (t table) at(text string, i int) *secret {
	for _, n := range t.lengths[start(text[i:])] {
		if n > len(text)-i {
			continue
		}
		list := t.texts[text[i:i+n]]
		if len(list) == 0 {
			continue
		}
		if list[0].to == 0 {
			return &list[0]
		}
		k := sort.Search(len(list), func(k int) bool { return i < list[k].to })
		if k < len(list) && list[k].from <= i {
			return &list[k]
		}
	}
	return nil
}

// start returns the first bytes of a text of at least minSecret bytes, by which table looks secrets up.
func start(s string) (key [4]byte) {
	copy(key[:], s)
	return key
}
