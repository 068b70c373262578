// Package lint finds what makes a rule hard to judge: for a model, for a check, and for the person who has to keep it. It
// reads the rule alone, so its findings are the same everywhere and cost microseconds.
package lint

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// The codes of findings. They are stable; scripts may rely on them.
const (
	// Vague: a word that two readers measure differently, such as "appropriate".
	Vague = "vague_wording"
	// Escape: a phrase that lets anything pass, such as "where possible".
	Escape = "escape_clause"
	// SeveralDuties: the statement demands more than one thing, so one verdict cannot say which is broken.
	SeveralDuties = "several_duties"
	// Mismatch: the wording binds more or less than the modality says.
	Mismatch = "modality_mismatch"
	// NoDuty: the statement neither demands nor forbids anything.
	NoDuty = "no_duty"
	// NoScope: nothing says what the rule concerns, so it is judged on every subject.
	NoScope = "no_scope"
	// NoTestCase: no case shows what the rule allows and denies.
	NoTestCase = "no_test_case"
	// OneSided: all test cases expect the same verdict.
	OneSided = "one_sided_test_cases"
	// Contradiction: two test cases expect different verdicts of the same input.
	Contradiction = "contradictory_test_cases"
	// TooLong: the statement is longer than a reader keeps in mind.
	TooLong = "too_long"
	// Dangling: the statement refers to something that is not in it, such as "see above".
	Dangling = "dangling_reference"
	// DoubleNegation: two negations that a reader must cancel against each other, in the statement or between statement and modality.
	DoubleNegation = "double_negation"
	// LoneName: a scope, fact name or repository that no other rule uses. Lint does not read other rules; package catalog finds them.
	LoneName = "lone_name"
)

// Codes are all kinds, in the order in which findings are given.
var Codes = []string{
	NoDuty, Contradiction, SeveralDuties, Escape, Vague, Mismatch, DoubleNegation, Dangling, TooLong, LoneName, NoScope, NoTestCase, OneSided,
}

// longest is how many words a statement may have before it is called too long. Readers lose the thread of instructions of
// more than two or three sentences, which is about this much.
const longest = 80

// Case is a test case as lint reads it.
type Case struct {
	Name     string
	Input    string
	Expected rule.Verdict
}

// Cases holds the facts about a rule's test cases that lint uses.
type Cases struct {
	Total int
	// Verdict is the verdict that all of them expect; empty if they differ, or without any.
	Verdict rule.Verdict
	// Contradictory reports whether two have the same input and expect different verdicts; Contrary names one of them, if
	// possible.
	Contradictory bool
	Contrary      string
}

// Look finds what lint needs in the test cases of a rule.
func Look(cases []Case) Cases {
	out := Cases{Total: len(cases)}
	seen := map[string]rule.Verdict{}
	for i, c := range cases {
		if i == 0 {
			out.Verdict = c.Expected
		} else if c.Expected != out.Verdict {
			out.Verdict = ""
		}
		key := strings.Join(strings.Fields(c.Input), " ")
		if first, again := seen[key]; again && first != c.Expected && !out.Contradictory {
			out.Contradictory, out.Contrary = true, c.Name
		}
		seen[key] = c.Expected
	}
	return out
}

// Rule returns the findings on a rule with its test cases, in the order of [Codes]; an empty list for a rule that is easy to
// judge. Test cases are not demanded of rules that give no verdict, MAY and INFO.
func Rule(r *rule.Rule, cases Cases) []rule.Finding {
	found := Statement(r.Statement, r.Modality)
	if r.Judged() {
		found = append(found, coverage(r, cases)...)
	}
	slices.SortStableFunc(found, func(a, b rule.Finding) int {
		return slices.Index(Codes, a.Code) - slices.Index(Codes, b.Code)
	})
	return found
}

// Statement returns the findings on the wording alone.
func Statement(s string, modality rule.Modality) []rule.Finding {
	w := read(s)
	found := w.wording()
	if n := len(w.words); n > longest {
		found = append(found, rule.Finding{Code: TooLong, Message: "The statement has " + text.Plural(n, "word") + "; say what is demanded in one or two sentences and move the rest to the rationale."})
	}
	if modality == rule.May || modality == rule.Info {
		return found
	}
	return append(append(found, w.duties(modality)...), w.polarity(modality)...)
}

// coverage looks at what the rule concerns and how it is tried.
func coverage(r *rule.Rule, cases Cases) []rule.Finding {
	var found []rule.Finding
	if r.AppliesTo.Empty() && everywhere(r.Scope) && r.Check == nil {
		found = append(found, rule.Finding{Code: NoScope, Message: "Nothing says what the rule concerns, so a model judges it on every subject; give it a scope, or paths or kinds in applies_to."})
	}
	if cases.Total == 0 {
		return append(found, rule.Finding{Code: NoTestCase, Message: "No test case shows what the rule allows and what it denies; add at least one of each."})
	}
	if cases.Contradictory {
		found = append(found, rule.Finding{Code: Contradiction, Quote: cases.Contrary, Message: "Two test cases have the same input but expect different verdicts; one of them is wrong."})
	}
	if cases.Verdict != "" {
		found = append(found, rule.Finding{Code: OneSided, Message: "All test cases expect " + string(cases.Verdict) + "; add one that expects the opposite, so that a rule that always says the same fails."})
	}
	return found
}

func everywhere(scope []string) bool {
	return len(scope) == 0 || slices.Contains(scope, "*")
}

// quoted shortens what a finding cites.
func quoted(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
