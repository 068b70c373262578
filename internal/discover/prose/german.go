package prose

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// gerundive reports whether the word at i ends a German demand such as "sind zu melden" or "ist einzuhalten".
func (l *tongue) gerundive(t []token, i int) bool {
	w := t[i].low
	if t[i].upper || !strings.HasSuffix(w, "n") {
		return false
	}
	if inner := strings.Index(w, "zu"); at(t, i-1) != "zu" && (inner < 2 || !slices.Contains(separable, w[:inner])) {
		return false
	}
	finite := false
	for k := i - 1; k >= 0; k-- {
		switch t[k].low {
		case "um", "ohne", "statt":
			return false
		case "ist", "sind", "hat", "haben":
			finite = true
		}
		if t[k+1].before != 0 {
			break
		}
	}
	return finite
}

// separable are the parts that German verbs put before zu.
var separable = strings.Fields("an ab auf aus bei ein durch fest frei her hin los mit nach um vor weg weiter wieder zurück zusammen sicher bereit fort heraus teil bekannt")

// germanOrder reads "Verwende ...", "Verwenden Sie ..." and, in lists, "Türen abschließen" and "Passwörter nicht weitergeben".
func (l *tongue) germanOrder(t []token, c place, r reading) (reading, bool) {
	w, last := t[0].low, t[len(t)-1]
	for k := range t {
		if k > 0 && t[k].before != 0 {
			break
		}
		if l.is("not", t[k].low) && !l.is("only", at(t, k+1)) && (k+1 == len(t) || at(t, k+1) != "mehr") {
			r.modality, r.means = rule.MustNot, ByNegation
		}
	}
	if at(t, 1) == "sie" && strings.HasSuffix(w, "en") && len(w) > 4 {
		return r, true
	}
	if l.is("stems", strings.TrimSuffix(w, "e")) || l.is("stems", w) {
		return r, !l.is("copulas", at(t, 1))
	}
	if k := slices.IndexFunc(t, func(w token) bool { return l.is("stems", strings.TrimSuffix(w.low, "e")) && !w.upper }); l.is("openers", w) && k > 0 && k < 8 && clauseAt(t, k) == 0 {
		r.phrase, r.at = t[k].low, k // "Für neue Dateien erfasse ..."
		return r, true
	}
	if k := slices.IndexFunc(t, func(w token) bool { return l.is("stems", strings.TrimSuffix(w.low, "en")) && !w.upper }); c.item && k > 0 && !l.finite(t) {
		r.phrase, r.at = t[k].low, k
		return r, at(t, k-1) != "zu"
	}
	if !c.item || l.finite(t) || last.upper || !strings.HasSuffix(last.low, "en") && !strings.HasSuffix(last.low, "eln") && !strings.HasSuffix(last.low, "ern") {
		return r, false
	}
	r.phrase, r.at = last.low, len(t)-1
	return r, len(t) >= 2 && !l.is("copulas", last.low) && !l.is("places", last.low) && at(t, len(t)-2) != "zu" && clauseAt(t, len(t)-1) == 0
}

// acts reads a German statement of what the people of an organisation do at set times, or none of: "Der Vorstand beruft jährlich ... ein", "Die Mitglieder
// erhalten keine Zuwendungen".
func (l *tongue) acts(t []token, timely bool) (reading, bool) {
	r := reading{modality: rule.Must, means: ByStatement, subject: true, at: 2}
	if l.name != "de" || len(t) < 5 || !l.is("people", t[1].low) || t[2].before != 0 || t[2].upper || l.is("copulas", t[2].low) {
		return r, false
	}
	verb := t[2].low
	if !strings.HasSuffix(verb, "t") && !strings.HasSuffix(verb, "en") {
		return r, false
	}
	r.phrase = t[1].low + " " + verb
	for k := 3; k < len(t) && t[k].before == 0; k++ {
		if strings.HasPrefix(t[k].low, "kein") {
			r.modality = rule.MustNot
			return r, true
		}
	}
	return r, timely
}
