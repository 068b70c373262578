// Package lint finds what makes a rule hard to judge: for a model, for a check, and for the person who has to keep it. It
// reads the rule alone, so its findings are the same everywhere and cost microseconds.
package lint

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
)

// Code names a kind of finding. Codes are stable; scripts may rely on them.
type Code string

// The kinds of findings.
const (
	// Vague: a word that two readers measure differently, such as "appropriate".
	Vague Code = "vague_wording"
	// Escape: a phrase that lets anything pass, such as "where possible".
	Escape Code = "escape_clause"
	// SeveralDuties: the statement demands more than one thing, so one verdict cannot say which is broken.
	SeveralDuties Code = "several_duties"
	// Mismatch: the wording binds more or less than the modality says.
	Mismatch Code = "modality_mismatch"
	// NoDuty: the statement neither demands nor forbids anything.
	NoDuty Code = "no_duty"
	// NoScope: nothing says what the rule concerns, so it is judged on every subject.
	NoScope Code = "no_scope"
	// NoTestCase: no case shows what the rule allows and denies.
	NoTestCase Code = "no_test_case"
	// OneSided: all test cases expect the same verdict.
	OneSided Code = "one_sided_test_cases"
	// Contradiction: two test cases expect different verdicts of the same input.
	Contradiction Code = "contradictory_test_cases"
	// TooLong: the statement is longer than a reader keeps in mind.
	TooLong Code = "too_long"
	// Dangling: the statement refers to something that is not in it, such as "see above".
	Dangling Code = "dangling_reference"
	// DoubleNegation: two negations that a reader must cancel against each other.
	DoubleNegation Code = "double_negation"
)

// Codes are all kinds, in the order in which findings are given.
var Codes = []Code{
	NoDuty, Contradiction, SeveralDuties, Escape, Vague, Mismatch, DoubleNegation, Dangling, TooLong, NoScope, NoTestCase, OneSided,
}

// longest is how many words a statement may have before it is called too long. Readers lose the thread of instructions of
// more than two or three sentences, which is about this much.
const longest = 80

// Finding is one thing that makes a rule hard to judge.
type Finding struct {
	Code    Code   `json:"code" enum:"no_duty,contradictory_test_cases,several_duties,escape_clause,vague_wording,modality_mismatch,double_negation,dangling_reference,too_long,no_scope,no_test_case,one_sided_test_cases" doc:"Kind of finding."`
	Message string `json:"message" doc:"What is the matter and what to do about it."`
	Quote   string `json:"quote,omitempty" doc:"Words of the statement, or name of the test case, that it is about."`
}

// Case is what lint needs of a test case.
type Case struct {
	Name     string
	Input    string
	Expected rule.Verdict
}

// Rule returns the findings on a rule with its test cases, in the order of [Codes]; none for a rule that is easy to judge.
// Test cases are not demanded of rules that give no verdict, MAY and INFO.
func Rule(r *rule.Rule, cases []Case) []Finding {
	found := Statement(r.Statement, r.Modality)
	if r.Judged() {
		found = append(found, coverage(r, cases)...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return slices.Index(Codes, a.Code) - slices.Index(Codes, b.Code)
	})
	return found
}

// Statement returns the findings on the wording alone.
func Statement(text string, modality rule.Modality) []Finding {
	w := read(text)
	found := w.wording()
	if n := len(w.words); n > longest {
		found = append(found, Finding{Code: TooLong, Message: "The statement has " + count(n, "word") + "; say what is demanded in one or two sentences and move the rest to the rationale."})
	}
	if modality == rule.May || modality == rule.Info {
		return found
	}
	return append(found, w.duties(modality)...)
}

// coverage looks at what the rule concerns and how it is tried.
func coverage(r *rule.Rule, cases []Case) []Finding {
	var found []Finding
	if r.AppliesTo.Empty() && everywhere(r.Scope) && r.Check == nil {
		found = append(found, Finding{Code: NoScope, Message: "Nothing says what the rule concerns, so a model judges it on every subject; give it a scope, or paths or kinds in applies_to."})
	}
	if len(cases) == 0 {
		return append(found, Finding{Code: NoTestCase, Message: "No test case shows what the rule allows and what it denies; add at least one of each."})
	}
	seen := map[string]Case{}
	verdicts := map[rule.Verdict]bool{}
	for _, c := range cases {
		verdicts[c.Expected] = true
		key := strings.Join(strings.Fields(c.Input), " ")
		first, again := seen[key]
		switch {
		case !again:
			seen[key] = c
		case first.Expected != c.Expected:
			found = append(found, Finding{Code: Contradiction, Quote: c.Name, Message: "This test case has the input of \"" + first.Name + "\" but expects another verdict; one of them is wrong."})
		}
	}
	if len(verdicts) == 1 {
		found = append(found, Finding{Code: OneSided, Message: "All test cases expect " + string(cases[0].Expected) + "; add one that expects the opposite, so that a rule that always says the same fails."})
	}
	return found
}

func everywhere(scope []string) bool {
	return len(scope) == 0 || slices.Contains(scope, "*")
}

func count(n int, noun string) string {
	digits := []byte{}
	for ; n > 0; n /= 10 {
		digits = append(digits, byte('0'+n%10))
	}
	slices.Reverse(digits)
	return string(digits) + " " + noun + "s"
}

// quoted shortens what a finding cites.
func quoted(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
