package lint

import (
	"strings"

	"tenet/internal/norm"
	"tenet/internal/rule"
)

// wording finds bad wording, whatever the demand.
func (s *statement) wording() []rule.Finding {
	var found []rule.Finding
	for _, q := range s.find(escapes) {
		found = append(found, rule.Finding{Code: Escape, Quote: q, Message: "\"" + q + "\" excuses whoever breaks the rule; say when it does not hold, as an exception."})
	}
	for _, q := range s.find(vague) {
		if s.within(escapes, q) {
			continue
		}
		found = append(found, rule.Finding{Code: Vague, Quote: q, Message: "\"" + q + "\" means something else to each reader; give a number, a list or an example."})
	}
	for _, q := range s.find(dangling) {
		found = append(found, rule.Finding{Code: Dangling, Quote: q, Message: "\"" + q + "\" refers to text that the judge does not see; say it here."})
	}
	if q, ok := s.doubleNegation(); ok {
		found = append(found, rule.Finding{Code: DoubleNegation, Quote: quoted(q), Message: "Two negations cancel each other and are easily misread; say it positively."})
	}
	return found
}

// within reports whether a vague word occurs only inside phrases of another list, such as "appropriate" in "where appropriate".
func (s *statement) within(list map[string][][]string, q string) bool {
	lower := strings.ToLower(q)
	for _, outer := range s.find(list) {
		if strings.Contains(strings.ToLower(outer), lower) {
			return true
		}
	}
	return false
}

// doubleNegation finds two negations close to each other within one clause, as in "must not be merged without no review".
// "not ... without" and "not ... unless" are the usual way to write a condition, and "not even" stresses the negation before it.
func (s *statement) doubleNegation() (string, bool) {
	last := -1
	for i, w := range s.words {
		if w.first {
			last = -1
		}
		if w.code || !negative[w.text] {
			continue
		}
		if last >= 0 && i-last <= 4 && w.text != "without" && w.text != "unless" && !s.follows(i, "even") {
			return s.text[s.words[last].start:w.end], true
		}
		last = i
	}
	return "", false
}

// follows reports whether a word comes behind word i.
func (s *statement) follows(i int, text string) bool {
	return i+1 < len(s.words) && s.words[i+1].text == text
}

// duty is one demand of a statement.
type duty struct {
	modality rule.Modality
	at       int // word
}

// duties finds statements that demand nothing, several things, or not with the force that the modality has.
func (s *statement) duties(modality rule.Modality) []rule.Finding {
	all := s.demands()
	if len(all) == 0 {
		if s.forbids() {
			return nil
		}
		return []rule.Finding{{Code: NoDuty, Message: "The statement demands and forbids nothing; say what must, must not or should be done."}}
	}
	var found []rule.Finding
	if len(all) > 1 {
		q := s.text[s.words[all[1].at].start:]
		found = append(found, rule.Finding{Code: SeveralDuties, Quote: quoted(q), Message: "The statement demands several things, and one verdict cannot say which is broken; make each a rule of its own."})
	}
	if stated := all[0].modality; stated != "" && !agrees(stated, modality) && modality != rule.MustNot {
		found = append(found, rule.Finding{
			Code: Mismatch, Quote: s.words[all[0].at].text,
			Message: "\"" + s.words[all[0].at].text + "\" is the wording of " + string(stated) + ", but the modality is " + string(modality) + "; let them say the same.",
		})
	}
	return found
}

// polarity finds statements of MUST_NOT rules that do not name the forbidden act: those that forbid it in their own words, and those that
// demand it. It reads the statement as the conflict finder and the judge do.
func (s *statement) polarity(modality rule.Modality) []rule.Finding {
	if modality != rule.MustNot {
		return nil
	}
	clauses := norm.Read(s.text, modality)
	if len(clauses) == 0 || clauses[0].Own.Doubtful {
		return nil
	}
	own := clauses[0].Own
	quote := s.text[own.From:own.To]
	switch {
	case own.Negative:
		return []rule.Finding{{
			Code: DoubleNegation, Quote: quoted(quote),
			Message: "\"" + quoted(quote) + "\" forbids already, and the modality MUST_NOT forbids again; make the modality MUST, or let the statement name the forbidden act without \"" + quoted(quote) + "\".",
		}}
	case own.Force >= norm.Recommend:
		return []rule.Finding{{
			Code: Mismatch, Quote: quoted(quote),
			Message: "\"" + quoted(quote) + "\" demands what the modality MUST_NOT forbids; make the modality MUST, or let the statement name the forbidden act without \"" + quoted(quote) + "\".",
		}}
	}
	return nil
}

// agrees reports whether wording of one force fits a modality. Prohibitions are mostly written with must or may.
func agrees(stated, modality rule.Modality) bool {
	switch modality {
	case rule.Must, rule.MustNot:
		return stated == rule.Must || stated == rule.MustNot
	case rule.Should:
		return stated == rule.Should
	case rule.May, rule.Info:
	}
	return true
}

// demands lists the demands: normative words, and imperatives that begin a sentence. Those that continue one ("must be X and must
// be Y" demands two things; "must be X, and may be Y" one) count once per normative word that binds.
func (s *statement) demands() []duty {
	var out []duty
	for i, w := range s.words {
		if w.code {
			continue
		}
		m, normative := binding[w.text]
		switch {
		case normative && s.subordinate(i):
		case normative && m == rule.May && !s.negated(i):
		case normative && m == rule.May: // "may not" and "can not" forbid
			out = append(out, duty{rule.MustNot, i})
		case normative && (w.text == "required" || w.text == "mandatory" || w.text == "recommended" || w.text == "encouraged" || w.text == "obliged"):
			if s.predicate(i) {
				out = append(out, duty{m, i})
			}
		case normative:
			out = append(out, duty{m, i})
		case w.first && norm.Imperative(w.text) && !s.normative(i):
			out = append(out, duty{"", i})
		}
	}
	return out
}

// subordinate reports whether a normative word is in a relative or conditional clause, where it describes instead of demanding:
// "a key that must be rotated is ...", "if a person should leave". A relative clause with a verb of its own ends before the
// normative word, as in "templates that render HTML should escape".
func (s *statement) subordinate(i int) bool {
	for k := i - 1; k >= max(0, i-6) && !s.words[k+1].first; k-- {
		if strings.ContainsAny(s.text[s.words[k].end:s.words[k+1].start], ",)") {
			return false
		}
		switch s.words[k].text {
		case "that", "which", "who", "what", "whose":
			return i-k <= 2
		case "if", "when", "where", "because", "unless":
			return true
		}
	}
	return false
}

func (s *statement) negated(i int) bool {
	return i+1 < len(s.words) && negative[s.words[i+1].text]
}

// predicate reports whether an adjective such as "required" is said of the subject ("is required"), not part of a name ("required
// fields").
func (s *statement) predicate(i int) bool {
	if i == 0 {
		return false
	}
	switch s.words[i-1].text {
	case "is", "are", "be", "been":
		return true
	}
	return false
}

// normative reports whether the sentence that word i begins has a normative word: then what looks like an imperative is its
// subject, as in "Default values must not be mutable".
func (s *statement) normative(i int) bool {
	for k := i + 1; k < len(s.words) && !s.words[k].first; k++ {
		if _, ok := binding[s.words[k].text]; ok && !s.words[k].code {
			return true
		}
	}
	return false
}

// forbids reports whether some word forbids without a normative word: "No secrets in the repository."
func (s *statement) forbids() bool {
	for _, w := range s.words {
		if !w.code && forbidding[w.text] {
			return true
		}
	}
	return false
}
