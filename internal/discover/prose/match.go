package prose

import (
	"maps"
	"strings"
)

// element is one word of a compiled pattern.
type element struct {
	words          map[string]bool
	not, code, any bool
	verb           bool // any verb of the lexicon
}

func (e *element) fits(t []token, i int) bool {
	inside := i >= 0 && i < len(t)
	w := at(t, i)
	return (w != "" && e.words[w] || inside && (e.any || e.code && w == "" || e.verb && verb(w))) != e.not
}

// sequence is the compiled words of a pattern.
type sequence struct {
	elements   []element
	decides    int // index of the element that decides
	from, to   int // the elements of the phrase
	begin, end bool
}

// fits reports whether the words around i are those of the sequence.
func (s *sequence) fits(t []token, i int) bool {
	first := i - s.decides
	if s.begin && first != 0 || s.end && first+len(s.elements) != len(t) {
		return false
	}
	for k := range s.elements {
		if !s.elements[k].fits(t, first+k) {
			return false
		}
	}
	return true
}

// parse reads the words of a pattern.
func parse(words string) sequence {
	s := sequence{decides: -1}
	for f := range strings.FieldsSeq(words) {
		switch f {
		case "^":
			s.begin = true
			continue
		case "$":
			s.end = true
			continue
		}
		f, opens := strings.CutPrefix(f, "[")
		f, closes := strings.CutSuffix(f, "]")
		f, decides := strings.CutPrefix(f, "*")
		if opens {
			s.from = len(s.elements)
		}
		if opens && s.decides < 0 || decides {
			s.decides = len(s.elements)
		}
		s.elements = append(s.elements, parseElement(f))
		if closes {
			s.to = len(s.elements)
		}
	}
	if s.to == 0 || len(s.elements[s.decides].words) == 0 {
		panic("prose: the pattern " + words + " has no phrase")
	}
	return s
}

func parseElement(f string) element {
	f, not := strings.CutPrefix(f, "!")
	e := element{words: map[string]bool{}, not: not}
	for w := range strings.SplitSeq(f, "|") {
		name, isList := strings.CutPrefix(w, "{")
		switch {
		case w == "_":
			e.any = true
		case w == "{verb}":
			e.verb = true
		case w == "`":
			e.code = true
		case isList:
			maps.Copy(e.words, list(strings.TrimSuffix(name, "}")))
		default:
			e.words[w] = true
		}
	}
	return e
}

// find returns the first pattern that fits the word at i; nil if none does.
func (tab table) find(t []token, i int, c place) *pattern {
	for _, p := range tab[at(t, i)] {
		if p.allows(i, c) && p.fits(t, i) && !(p.unless != nil && p.unless.fits(t, i)) && (p.test == nil || p.test(t, i, c)) {
			return p
		}
	}
	return nil
}

// allows reports whether the pattern counts in a place, for the word at i.
func (p *pattern) allows(i int, c place) bool {
	person := c.genre == Policy || c.genre == Remarks && p.means == ByRestraint
	return !(p.in&rules != 0 && c.genre.describes() || p.in&policy != 0 && !person || p.in&behind != 0 && i == 0 || p.in&item != 0 && !c.item || p.in&advice != 0 && !c.advises)
}

// reading returns the duty that the pattern states with the word at i.
func (p *pattern) reading(t []token, i int) reading {
	out := reading{modality: p.says, means: p.means, phrase: strings.ReplaceAll(p.phrase, "%", t[i].low), at: i}
	if p.phrase == "" {
		first := i - p.decides
		words := make([]string, 0, p.to-p.from)
		for k := first + p.from; k < first+p.to; k++ {
			words = append(words, t[k].low)
		}
		out.phrase = strings.Join(words, " ")
	}
	if p.turns {
		out.turn(t, i)
	}
	return out
}
