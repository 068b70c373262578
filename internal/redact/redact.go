// Package redact finds secrets (keys, tokens, passwords) in texts and replaces each by a placeholder, so that they neither
// leave for a model nor stay in a record. What is found is what gitleaks finds with its own rules, and besides private
// keys that are cut off and passwords in addresses.
//
// Most text holds no secret, and gitleaks' expressions take milliseconds for a diff of ten kilobytes. So a cheap look goes
// first, and the detector reads only the neighbourhoods of what might be a secret; see windows.
package redact

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

// Found is one place where a secret stood. It does not tell the secret.
type Found struct {
	// Kind is what the secret looks like, such as aws-access-token, private-key or url-password.
	Kind string `json:"kind"`
	// Where names the text: diff, files[2].content, facts.a.b, or the path of a file. It is empty for [Redactor.Text].
	Where string `json:"where,omitempty"`
	// Line is the line in that text, from 1. For a file of a subject it is the line of the new file, 0 in removed text.
	Line int `json:"line,omitempty"`
}

// Placeholder is what stands in place of a secret of a kind.
func Placeholder(kind string) string { return "[redacted:" + kind + "]" }

// Redactor finds and replaces secrets. It is safe for concurrent use.
type Redactor struct {
	// detector is made when the first text needs it: compiling its expressions takes some tens of milliseconds.
	detector func() *detect.Detector
}

// New makes a redactor.
func New() *Redactor { return &Redactor{detector: detector} }

// detector is shared by all redactors.
var detector = sync.OnceValue(newDetector)

func newDetector() *detect.Detector {
	const silent = 7                              // zerolog.Disabled
	logging.Logger = logging.Logger.Level(silent) // it would write to standard error
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		panic("redact: the rules of gitleaks do not load: " + err.Error()) // they are part of the program
	}
	d.IgnoreGitleaksAllow = true // whoever writes the text does not say what is looked at
	return d
}

// minSecret is the length of the shortest secret that is replaced wherever it stands.
const minSecret = 6

// secret is a text that must not be shown, but for so many bytes at each end.
type secret struct {
	text, kind string
	keep       int
	// from and to bound where it is a secret; to is 0 if that is anywhere in the text.
	from, to int
}

// Text replaces every secret in text by a placeholder. Lines stay where they are: a secret that spans lines leaves a
// placeholder in each. The text is returned as it is if there is none.
func (r *Redactor) Text(text string) (string, []Found) {
	found := r.secrets(text)
	if len(found) == 0 {
		return text, nil
	}
	return replace(text, found)
}

// secrets finds the secrets of a text, each a piece of one line, the longest first.
func (r *Redactor) secrets(text string) []secret {
	if len(text) < minSecret {
		return nil
	}
	suspicious, out := windows(text)
	for piece := range pieces(suspicious) {
		for _, f := range r.detector().DetectString(piece) {
			for line := range strings.Lines(f.Secret) {
				line = strings.Trim(line, " \t\r\n+-'\"`")
				if f.RuleID == privateKeyKind && !keyText(line) { // whatever stands between head and foot
					continue
				}
				out = append(out, secret{text: line, kind: f.RuleID})
			}
		}
	}
	out = slices.DeleteFunc(out, func(s secret) bool { return len(s.text) < minSecret })
	slices.SortFunc(out, func(a, b secret) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
	return slices.CompactFunc(out, func(a, b secret) bool { return a.text == b.text && a.to == b.to })
}

// What a detector reads at once, and how much of it twice, in bytes. It compares what it finds each with each.
const (
	pieceSize = 32 << 10
	overlap   = 2 * longRun
)

// pieces cuts text into pieces that overlap, so that a secret and what stands in front of it are whole in one of them.
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

// replace puts placeholders in the place of secrets, which must be in order of length, the longest first.
func replace(text string, secrets []secret) (string, []Found) {
	known := tableOf(secrets)
	var b strings.Builder
	var found []Found
	line, kept := 1, 0
	for i := 0; i+minSecret <= len(text); {
		if text[i] == '\n' {
			line++
			i++
			continue
		}
		s := known.at(text, i)
		if s == nil {
			i++
			continue
		}
		b.WriteString(text[kept : i+s.keep])
		b.WriteString(Placeholder(s.kind))
		found = append(found, Found{Kind: s.kind, Line: line})
		i += len(s.text)
		kept = i - s.keep
	}
	b.WriteString(text[kept:])
	return b.String(), found
}

// table finds secrets by their text, so that very many of them, all alike, cost no more than few.
type table struct {
	// lengths are those of the secrets that begin with the same bytes, the longest first.
	lengths map[[4]byte][]int
	// texts has the secrets of a text by where they end to be ones, that which is one anywhere first.
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

// at returns the longest secret that begins at a place of a text; nil if there is none.
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

// start is what secrets are looked up by: the first bytes of a text of at least minSecret bytes.
func start(s string) (key [4]byte) {
	copy(key[:], s)
	return key
}
