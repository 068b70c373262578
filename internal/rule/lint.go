package rule

import (
	"regexp"
	"strings"
)

// Finding is something that makes a rule hard to judge.
type Finding struct {
	Code    string `json:"code" enum:"vague,two_duties,no_scope,no_test,contradictory_tests" doc:"What kind of difficulty it is."`
	Message string `json:"message" doc:"What it is, and what to do about it."`
	Text    string `json:"text,omitempty" doc:"The words of the statement that it is about."`
}

// Codes of [Finding].
const (
	LintVague         = "vague"
	LintTwoDuties     = "two_duties"
	LintNoScope       = "no_scope"
	LintNoTest        = "no_test"
	LintContradictory = "contradictory_tests"
)

var (
	// vagueWords are words that two careful readers understand differently.
	vagueWords = regexp.MustCompile(`(?i)\b(appropriate(ly)?|adequate(ly)?|reasonabl[ey]|sufficient(ly)?|proper(ly)?|suitabl[ey]|timely|promptly|` +
		`as soon as possible|as needed|as necessary|as required|as appropriate|if possible|when possible|where possible|where feasible|if necessary|` +
		`best practices?|state of the art|user[- ]friendly|robust(ly)?|clean|good|bad|simple|significant(ly)?|substantial(ly)?|excessive(ly)?|` +
		`minimal(ly)?|generally|usually|normally|typically|periodically|regularly|frequently|several|and so on|etc)\b`)
	// duty finds the verbs that make a sentence a duty.
	duty = regexp.MustCompile(`(?i)\b(must|shall|should|ought to|ha(s|ve) to|need(s)? to|(is|are) (required|forbidden|prohibited) to)\b`)
)

// Lint tells what makes the rule hard to judge, by its own words: vague ones, several duties in one, and no scope. The zero
// findings are an empty list.
func (r *Rule) Lint() []Finding {
	found := []Finding{}
	seen := map[string]bool{}
	for _, word := range vagueWords.FindAllString(r.Statement, -1) {
		if low := strings.ToLower(word); !seen[low] {
			seen[low] = true
			found = append(found, Finding{LintVague, "readers will understand this word differently; say what is meant, with a number or an example", word})
		}
	}
	if duties := duty.FindAllStringIndex(r.Statement, -1); len(duties) > 1 && r.Judged() {
		from, to := duties[1][0], len(r.Statement)
		found = append(found, Finding{LintTwoDuties, "the statement holds more than one duty; make a rule of each, so that each is judged by itself", cutText(r.Statement[from:to])})
	}
	if len(r.Scope) == 0 && r.AppliesTo.Empty() && !r.checksPaths() && r.Judged() {
		found = append(found, Finding{LintNoScope, "the rule is judged on everything; give it a scope, or applies_to", ""})
	}
	return found
}

// LintTests tells what is wrong with the test cases of the rule. contradictory is true if two cases have one sample and
// different verdicts.
func (r *Rule) LintTests(contradictory bool) []Finding {
	found := []Finding{}
	if r.Judged() && (r.Tests == nil || r.Tests.Total == 0) {
		found = append(found, Finding{LintNoTest, "the rule has no test case; nobody knows whether it judges as it is meant", ""})
	}
	if contradictory {
		found = append(found, Finding{LintContradictory, "two test cases have the same sample and different verdicts; delete one of them", ""})
	}
	return found
}

func (r *Rule) checksPaths() bool {
	return r.Check != nil && ((r.Check.Pattern != nil && len(r.Check.Pattern.Paths) > 0) || r.Check.When != "")
}

// cutText shortens a text to a few words.
func cutText(s string) string {
	words := strings.Fields(s)
	if len(words) <= 8 {
		return strings.Join(words, " ")
	}
	return strings.Join(words[:8], " ") + " …"
}
