package corpus

import (
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// A query may cite a numbered passage, such as "Rule 3.2.1(a)" or "GDPR Art. 32", or ask for a definition. The rules that come from that
// passage, or that define the term, are found first, whatever words they share with the query.

// maxCiting is how many words a query has at most that asks for the passage that it cites. A longer question only mentions it: of 122 questions
// of ObliQA that cite a rule, one is answered by the passage with that number.
const maxCiting = 6

// maxCited bounds the citations of one query.
const maxCited = 5

// citedNumber is the number of a passage: with a word before it, or one that is none of anything else, such as 3.2.1 or 32(1).
var citedNumber = regexp.MustCompile(`(?i)(?:§+\s*|\b(article|art|section|sec|rule|clause|paragraph|para|regulation|reg|chapter|part|annex|appendix|schedule|principle|control)\.?\s+)?` +
	`\b([0-9]{1,4}[a-z]?(?:\.[0-9]{1,4}[a-z]?)*)((?:\s?\([0-9a-z]{1,5}\))*)`)

// citationsIn returns the numbers of the passages that a text cites, in one form.
func citationsIn(text string) []string {
	if len(strings.Fields(text)) > maxCiting {
		return nil
	}
	var out []string
	for _, m := range citedNumber.FindAllStringSubmatchIndex(text, 4*maxCited) {
		number, brackets := text[m[4]:m[5]], text[m[6]:m[7]]
		named := m[4] > m[0] // a word or a sign before it
		if !named && strings.Count(number, ".") < 2 && brackets == "" {
			continue
		}
		if m[0] > 0 && strings.ContainsRune("-_/.", rune(text[m[0]-1])) || m[1] < len(text) && strings.ContainsRune("-_/%", rune(text[m[1]])) {
			continue // a part of a name, a date or a figure
		}
		if one := strings.ToLower(number + strings.ReplaceAll(brackets, " ", "")); !slices.Contains(out, one) {
			if out = append(out, one); len(out) == maxCited {
				break
			}
		}
	}
	return out
}

// Strengths of a citation: the rule comes from the very passage, or from a part of it.
const (
	citesPart  = 1
	citesWhole = 2
)

// cites returns how well a rule comes from one of the passages: 0 if it does not.
func cites(r *rule.Rule, numbers []string) int {
	best := 0
	look := func(text string) {
		for _, has := range passagesOf(text) {
			for _, want := range numbers {
				switch {
				case has == want:
					best = citesWhole
				case best == 0 && strings.HasPrefix(has, want) && (has[len(want)] == '.' || has[len(want)] == '('):
					best = citesPart
				}
			}
		}
	}
	for i := range r.SourceRefs {
		look(r.SourceRefs[i].Section)
	}
	if best < citesWhole {
		look(heading(r.Statement))
	}
	return best
}

// passagesOf returns the numbers in the name of a section, where a bare number is one.
func passagesOf(section string) []string {
	if section == "" || len(section) > 300 || !strings.ContainsAny(section, "0123456789") {
		return nil
	}
	var out []string
	for _, m := range citedNumber.FindAllStringSubmatch(section, maxCited) {
		out = append(out, strings.ToLower(m[2]+strings.ReplaceAll(m[3], " ", "")))
	}
	return out
}

// heading is the number with which a statement begins; empty if it begins with none.
func heading(statement string) string {
	at := citedNumber.FindStringIndex(statement)
	if at == nil || at[0] > 0 {
		return ""
	}
	return statement[:at[1]]
}

// withCited puts the rules that come from cited passages first. docs are the matches by segment, to which it adds.
func (l lexicon) withCited(numbers []string, f *Filter, best []found, total int, docs []bitset) ([]found, int) {
	top := float32(1)
	if len(best) > 0 {
		top = max(best[0].score, 1)
	}
	strength := map[[2]int32]int{}
	for i, s := range l.segments {
		if docs[i] == nil {
			docs[i] = newBitset(len(s.entries))
		}
		hit := newBitset(len(s.entries))
		for doc, e := range s.entries {
			if k := cites(e.Rule, numbers); k > 0 {
				hit.set(int32(doc))
				strength[[2]int32{int32(i), int32(doc)}] = k
			}
		}
		if d := l.deleted[i]; d != nil {
			hit.without(d.docs)
		}
		f.restrict(s, hit)
		hit.each(func(doc int32) {
			k := top * (1 + 0.25*float32(strength[[2]int32{int32(i), doc}]))
			at := slices.IndexFunc(best, func(b found) bool { return b.seg == int32(i) && b.doc == doc })
			if at >= 0 {
				best[at].score = k + best[at].score/100
			} else {
				best = append(best, found{k, int32(i), doc})
			}
			if !docs[i].has(doc) {
				docs[i].set(doc)
				total++
			}
		})
	}
	slices.SortFunc(best, l.compare)
	return best, total
}

var (
	asksDefinition = regexp.MustCompile(`(?i)^\s*(?:what (?:does|do) (?:the (?:term|word|expression) )?(.{2,80}?) means?|what is meant by (.{2,80}?)|(?:define|definition of|meaning of) (.{2,80}?))\s*\?*\s*$`)
	quoteMarks     = strings.NewReplacer(`"`, "", "“", "", "”", "", "'", "", "‘", "", "’", "")
)

// definedTerm is the term whose definition a query asks for; empty if it asks for none.
func definedTerm(query string) string {
	m := asksDefinition.FindStringSubmatch(query)
	if m == nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(quoteMarks.Replace(m[1] + m[2] + m[3])))
}

// defining are the words behind a term that its definition begins with.
var defining = []string{"means", "mean", "is defined as", "are defined as", "has the meaning", "have the meaning", "refers to", "is a ", "is an "}

// withDefined raises the definitions of a term among the best.
func (l lexicon) withDefined(term string, best []found) {
	best = best[:min(len(best), maxReranked)]
	if len(best) == 0 {
		return
	}
	top := best[0].score
	for i := range best {
		statement := l.segments[best[i].seg].entries[best[i].doc].Rule.Statement
		s := strings.ToLower(strings.TrimSpace(quoteMarks.Replace(statement[:min(len(statement), 300)])))
		for _, article := range []string{"the ", "a ", "an "} {
			s = strings.TrimPrefix(s, article)
		}
		rest, ok := strings.CutPrefix(s, term)
		if ok && slices.ContainsFunc(defining, func(d string) bool { return strings.HasPrefix(strings.TrimLeft(rest, " ,:"), d) }) {
			best[i].score += top
		}
	}
	slices.SortFunc(best, l.compare)
}
