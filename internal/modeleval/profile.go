package modeleval

import (
	"bytes"
	_ "embed"

	"tenet/internal/rule"
)

//go:embed profiles.jsonl
var profileCases []byte

// ProfileCases are short cases of code and facts, half of which break their rule, to see by which prompts a model can be asked.
func ProfileCases() []Case {
	cases, err := Read("profiles", bytes.NewReader(profileCases))
	if err != nil {
		panic("modeleval: " + err.Error())
	}
	return cases
}

// mostFalseAllows is the share of cases to deny that a model may allow and still be of use.
const mostFalseAllows = 0.1

// Fit reports whether a model, asked as in a report, allows few enough of what it should deny and decides anything at all.
func (r *Report) Fit() bool {
	toDeny := 0
	for _, s := range r.Scores {
		if s.Verdict != rule.Allow {
			toDeny += s.Expected
		}
	}
	return r.Correct > 0 && float64(r.FalseAllows) <= mostFalseAllows*float64(toDeny)
}

// Better returns the index of the report by which a model should be asked, of which earlier ones cost less: the fit one with the most
// right verdicts; or, where none is fit, -1.
func Better(reports []*Report) int {
	best := -1
	for i, r := range reports {
		if r.Fit() && (best < 0 || r.Correct > reports[best].Correct) {
			best = i
		}
	}
	return best
}
