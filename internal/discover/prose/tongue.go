package prose

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"sync"

	"tenet/internal/blocks"
	"tenet/internal/rule"
)

//go:embed tongues.txt
var tonguesFile string

// tongue is a language other than English.
type tongue struct {
	name  string
	words map[string]map[string]bool // the lists of tongues.txt, by their names
	ends  []string                   // of infinitives
}

// tongues are read when a text in another language than English comes first.
var tongues = sync.OnceValue(func() []*tongue {
	var all []*tongue
	for line := range strings.Lines(tonguesFile) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			all = append(all, &tongue{name: strings.Trim(line, "[]"), words: map[string]map[string]bool{}})
			continue
		}
		name, rest, _ := strings.Cut(line, ": ")
		last := all[len(all)-1]
		if name == "infinitives" {
			last.ends = strings.Fields(rest)
			continue
		}
		if last.words[name] == nil {
			last.words[name] = map[string]bool{}
		}
		for w := range strings.FieldsSeq(rest) {
			last.words[name][w] = true
		}
	}
	return all
})

// english are its most frequent words that none of the other languages has.
var english = map[string]bool{
	"the": true, "of": true, "and": true, "to": true, "is": true, "for": true, "with": true, "are": true, "that": true, "be": true, "must": true, "by": true,
	"use": true, "this": true, "should": true, "or": true, "not": true, "all": true, "from": true, "your": true, "you": true, "if": true, "any": true, "when": true,
}

// sampled bounds the words by which a language is recognised.
const sampled = 2000

// tongueOf returns the language of a text; nil for English, and for those that are not read.
func tongueOf(list []blocks.Block) *tongue {
	seen, own, foreign := 0, 0, 0
	counts := make([]int, 3)
	for i := range list {
		for w := range strings.FieldsSeq(list[i].Text) {
			if seen++; seen > sampled {
				break
			}
			w = lower(strings.Trim(w, ".,;:()*_`\"'"))
			if english[w] {
				own++
				continue
			}
			if len(w) > 8 {
				continue
			}
			for k, other := range tongues() {
				if other.words["common"][w] {
					counts[k]++
					foreign++
				}
			}
		}
		if seen >= 100 && foreign < own/2 || seen > sampled {
			break
		}
	}
	best := slices.Index(counts, slices.Max(counts))
	if counts[best] < 3 || counts[best] < 2*own {
		return nil
	}
	return tongues()[best]
}

func (l *tongue) is(list, w string) bool { return w != "" && l.words[list][w] }

// classify reads a sentence in the language.
func (l *tongue) classify(t []token, c place) (reading, bool) {
	if len(t) < 2 || c.facts && c.genre.describes() {
		return reading{}, false
	}
	for i := range t {
		if t[i].low == "" || t[i].quoted {
			continue
		}
		if r, ok := l.binds(t, i, c); ok {
			r.subject = i > 0
			return r, true
		}
	}
	if c.genre.describes() || c.facts || c.row {
		return reading{}, false
	}
	if r, ok := l.order(t, c); ok {
		return r, true
	}
	if l.is("openers", t[0].low) {
		for i := 1; i < len(t)-1; i++ {
			if t[i].before != ',' {
				continue
			}
			if r, ok := l.order(t[i:], c); ok && (l.name == "de" || !l.is("never", t[i].low)) {
				r.at += i
				return r, true
			}
			if !l.is("relatives", t[i].low) { // "Wenn ein Schlüssel, der passt, fehlt, ..."
				break
			}
		}
	}
	return l.stated(t, c)
}

// prescribes reports whether a text is there to regulate, whatever its name: a tenth of its sentences bind, four at least.
func (l *tongue) prescribes(list []blocks.Block) bool {
	all, bind := 0, 0
	enough := func() bool { return bind >= leastFirm && 10*bind >= all }
	for i := range list {
		if list[i].Kind == blocks.Heading || list[i].Kind == blocks.Row {
			continue
		}
		for _, p := range places(&list[i]) {
			if all == maxSurvey {
				return enough()
			}
			if p[1]-p[0] > maxSentence {
				continue
			}
			t := tokenize(list[i].Text[p[0]:p[1]])
			if len(t) < 3 {
				continue
			}
			all++
			for k := range t {
				if r, ok := l.binds(t, k, place{genre: Policy}); ok && t[k].low != "" && r.modality != rule.May {
					bind++
					break
				}
			}
		}
	}
	return enough()
}

// clauseAt returns where the clause that the word at i is in begins.
func clauseAt(t []token, i int) int {
	for i > 0 && t[i].before == 0 {
		i--
	}
	return i
}

// guarded reports whether the word at i is in a clause that says nothing alone.
func (l *tongue) guarded(t []token, i int) bool {
	from := clauseAt(t, i)
	first := t[from].low
	if l.is("guards", first) || from > 0 && t[from].before == ',' && l.is("relatives", first) {
		return true
	}
	return l.name != "de" && (l.is("relatives", at(t, i-1)) || l.is("not", at(t, i-1)) && l.is("relatives", at(t, i-2)))
}

// denies reports whether the word at i is denied: behind it in German, before it in the others.
func (l *tongue) denies(t []token, i int) bool {
	if l.name != "de" {
		return l.is("not", at(t, i-1)) || strings.HasPrefix(t[i].low, "n'") || l.is("not", at(t, i-2)) && (l.name == "es" && len(at(t, i-1)) <= 3 || l.is("copulas", at(t, i-1)))
	}
	for k := i + 1; k < len(t) && (t[k].before == 0 || k == i+1); k++ {
		if l.is("not", t[k].low) && at(t, k+1) != "nur" {
			return true
		}
	}
	return l.is("not", t[clauseAt(t, i)].low)
}

// restrains reports whether only little is allowed by the word at i.
func (l *tongue) restrains(t []token, i int) bool {
	for k := i + 1; k < len(t) && k < i+10; k++ {
		if l.is("only", t[k].low) {
			return true
		}
	}
	return l.is("only", t[clauseAt(t, i)].low)
}

// binds reads the word at i, such as muss, with the words around it.
func (l *tongue) binds(t []token, i int, c place) (reading, bool) {
	w := t[i].low
	r := reading{modality: rule.Must, means: ByBinding, phrase: w, at: i}
	no := func() bool { return l.denies(t, i) }
	if l.name == "es" && (w == "tiene" || w == "tienen" || w == "hay") && at(t, i+1) == "que" {
		return r, !l.guarded(t, i) && !no()
	}
	if l.name == "fr" && w == "à" && l.is("copulas", at(t, i-1)) && l.infinitive(at(t, i+1)) { // "est à proscrire"
		switch done := at(t, i+1); done {
		case "proscrire", "bannir", "interdire":
			r.modality = rule.MustNot
		case "éviter":
			r.modality, r.means = rule.Should, ByAdvice
		}
		return r, !l.guarded(t, i) && !l.denied(t, i) && !c.genre.describes()
	}
	if l.name == "de" && l.gerundive(t, i) {
		if l.is("not", at(t, i-1)) || l.is("not", at(t, i-2)) {
			r.modality = rule.MustNot
		}
		return r, !l.guarded(t, i)
	}
	switch {
	case l.is("must", w):
		if l.guarded(t, i) {
			return r, false
		}
		if no() {
			r.modality = rule.MustNot
			if l.name == "de" && !l.is("not", t[clauseAt(t, i)].low) { // muss nicht: need not
				return r, false
			}
		}
		return r, true
	case l.is("should", w):
		r.modality, r.means = rule.Should, ByAdvice
		return r, !c.genre.describes() && !l.guarded(t, i) && !(i == 0 && l.name == "de" && later(t, 0)) // not "Sollte ... sein, ..."
	case l.is("can", w):
		r.modality, r.means = rule.MustNot, ByRestraint
		if c.genre != Policy || l.guarded(t, i) {
			return r, false
		}
		if !no() && l.restrains(t, i) {
			r.modality = rule.Must
			return r, true
		}
		return r, no() && clauseAt(t, i) == 0
	case l.is("may", w):
		r.means = ByRestraint
		if l.guarded(t, i) || c.genre.describes() && l.name != "de" {
			return r, false
		}
		switch {
		case no() && l.name == "fr" && l.restrains(t, i):
			return r, true // ne peut que
		case no():
			r.modality = rule.MustNot
			return r, true
		case l.restrains(t, i) && l.name != "fr" || l.is("only", t[clauseAt(t, i)].low) || l.is("only", t[0].low):
			return r, true
		}
		r.modality, r.means = rule.May, ByPermission
		return r, l.name == "de" && !c.genre.describes()
	case l.is("forbidden", w):
		r.modality = rule.MustNot
		return r, !no() && !l.guarded(t, i)
	case l.is("allowed", w):
		r.modality = rule.MustNot
		back := i - 1
		for back > 0 && i-back < 6 && !l.is("not", t[back].low) {
			back--
		}
		denied := back >= 0 && l.is("not", at(t, back)) || strings.HasPrefix(at(t, i-2), "n'") || strings.HasPrefix(at(t, i-3), "n'")
		return r, denied && !l.guarded(t, i)
	case l.is("required", w):
		if l.name != "de" && !l.near(t, i) && !(c.item && strings.HasPrefix(w, "obligato")) && !strings.HasPrefix(w, "impér") && !strings.HasPrefix(w, "requier") { // "les heures requises"
			return r, false
		}
		return r, !l.denied(t, i) && !l.guarded(t, i) && !c.genre.describes()
	case l.is("advised", w):
		r.modality, r.means = rule.Should, ByAdvice
		said := hasAny(w, []string{"é", "ée", "és", "ées", "ado", "en"}, strings.HasSuffix)
		return r, !c.genre.describes() && (l.name == "de" || !said || l.near(t, i))
	}
	return r, false
}

// near reports whether a form of to be is shortly before i.
func (l *tongue) near(t []token, i int) bool {
	for k := max(i-4, 0); k < i; k++ {
		if w := t[k].low; l.is("copulas", w) || l.is("copulas", strings.TrimPrefix(w, "n'")) {
			return true
		}
	}
	return false
}

// conditional reports whether a text that leads to items ends with a word such as if.
func (l *tongue) conditional(lead string) bool {
	words := strings.Fields(lower(strings.TrimRight(lead, ":*_ ")))
	return len(words) > 0 && l.is("guards", words[len(words)-1])
}

// denied reports whether one of the three words before i denies it.
func (l *tongue) denied(t []token, i int) bool {
	for k := max(i-3, 0); k < i; k++ {
		if l.is("not", t[k].low) || strings.HasPrefix(t[k].low, "n'") {
			return true
		}
	}
	return false
}

// order reads an order at the beginning of a sentence.
func (l *tongue) order(t []token, c place) (reading, bool) {
	w, next := strings.TrimSuffix(t[0].low, "-vous"), at(t, 1)
	r := reading{modality: rule.Must, means: BySentence, phrase: w}
	if c.item {
		r.means = ByItem
	}
	switch {
	case l.is("avoid", w):
		r.modality = rule.Should
		return r, true
	case l.is("never", w) && (l.is("nouns", next) || l.is("nouns", at(t, 2))): // "Pas de garanties"
		return r, false
	case l.is("never", w):
		r.modality, r.means = rule.MustNot, ByNegation
		switch l.name {
		case "de":
			return r, c.item && (!l.finite(t) || strings.HasPrefix(w, "kein"))
		case "es":
			return r, (c.item || w != "no") && !l.is("copulas", next) && (l.infinitive(next) || l.is("orders", next) || strings.HasSuffix(next, "e") || strings.HasSuffix(next, "a") || strings.HasSuffix(next, "as") || strings.HasSuffix(next, "es"))
		}
		return r, w == "ne" && (next == "pas" || next == "jamais" || strings.HasSuffix(next, "ez")) || strings.HasSuffix(w, "ez") || w == "jamais" && c.item || w == "pas" && c.item && (next == "de" || strings.HasPrefix(next, "d'")) || strings.HasPrefix(w, "auc") && c.item && !l.finite(t)
	}
	switch l.name {
	case "de":
		return l.germanOrder(t, c, r)
	case "fr":
		if w == "toujours" && c.item { // "Toujours fermer la porte"
			return r, l.infinitive(next) || strings.HasSuffix(next, "ez")
		}
		return r, strings.HasSuffix(w, "ez") && !l.is("others", w) && len(w) > 4 || c.item && l.infinitive(w)
	}
	return r, l.is("orders", w) || c.item && l.infinitive(w)
}

// refuses returns the verb of a French statement that the people of an organisation do not do something: "Les agents ne communiquent aucune ..."; 0
// for none.
func (l *tongue) refuses(t []token) int {
	if l.name != "fr" || t[0].low != "les" && t[0].low != "le" && t[0].low != "la" {
		return 0
	}
	for i := 2; i+2 < len(t) && i < 8 && t[i].before == 0; i++ {
		if t[i].low != "ne" {
			continue
		}
		switch next := at(t, i+2); {
		case next == "aucun", next == "aucune", next == "jamais", next == "rien", next == "pas" && strings.HasSuffix(t[i+1].low, "ent"):
			if !l.is("copulas", t[i+1].low) && !l.is("may", t[i+1].low) {
				return i + 1
			}
		}
		return 0
	}
	return 0
}

// finite reports whether a sentence has a form of to be or the like.
func (l *tongue) finite(t []token) bool {
	return slices.ContainsFunc(t, func(w token) bool { return l.is("copulas", w.low) })
}

// infinitive reports whether a word has the ending of an infinitive.
func (l *tongue) infinitive(w string) bool {
	if l.is("more", w) || w == "proscrire" {
		return true
	}
	return len(w) > 3 && !l.is("others", w) && slices.ContainsFunc(l.ends, func(e string) bool { return strings.HasSuffix(w, e) })
}

// stated reads a statement of what is done that means what must be done: "Alle Zugriffe werden protokolliert".
func (l *tongue) stated(t []token, c place) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true}
	if c.genre != Policy || len(t) < 4 {
		return r, false
	}
	timely := slices.ContainsFunc(t, func(w token) bool { return l.is("times", w.low) })
	for i := 1; i < len(t); i++ {
		timely = timely || l.is("periods", t[i].low) && (l.is("whole", t[i-1].low) || t[i-1].low == "par" || t[i-1].low == "al")
	}
	if (t[0].low == "chaque" || t[0].low == "cada") && l.is("people", t[1].low) && len(t) > 4 && !l.finite(t) {
		r.phrase = t[0].low
		return r, true
	}
	if k := l.refuses(t); k > 0 {
		r.modality, r.at, r.phrase = rule.MustNot, k, "ne "+t[k].low
		return r, true
	}
	if r, ok := l.acts(t, timely); ok {
		return r, true
	}
	for i := 1; i < len(t)-1; i++ {
		w := t[i].low
		if !l.is("copulas", w) || l.guarded(t, i) {
			continue
		}
		r.at, r.phrase = i, w
		switch l.name {
		case "de":
			done := t[len(t)-1]
			return r, (w == "wird" || w == "werden") && !done.upper && (strings.HasSuffix(done.low, "t") || strings.HasSuffix(done.low, "en")) && (timely || l.is("whole", t[0].low))
		default:
			done := at(t, i+1)
			past := hasAny(done, []string{"é", "ée", "és", "ées", "ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas"}, strings.HasSuffix)
			return r, past && (timely || l.is("whole", t[0].low) || l.is("future", w))
		}
	}
	if l.name == "es" { // "se revisarán"
		for i := 1; i < len(t); i++ {
			if t[i-1].low == "se" && (strings.HasSuffix(t[i].low, "rá") || strings.HasSuffix(t[i].low, "rán")) && !l.guarded(t, i-1) {
				r.at, r.phrase = i, t[i].low
				if at(t, i-2) == "no" {
					r.modality = rule.MustNot
				}
				return r, true
			}
		}
	}
	return r, false
}
