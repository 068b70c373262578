// Package norm reads a rule as a norm: who has to do what, or not to do it, and under which condition. Statement and modality are read
// together, by the words of the statement: a prohibition in its own words is one, and not its opposite, under MUST_NOT. The search for
// contradictions, lint and the judge's prompt all read rules in this form. It reads English and uses no model.
package norm

import (
	"slices"

	"tenet/internal/rule"
)

// Stated returns the modality under which a statement says once what its rule demands: MUST instead of MUST_NOT for one that forbids in its
// own words, such as "Keys must not be logged", and otherwise the modality itself. In doubt about which words forbid it is the modality.
func Stated(statement string, modality rule.Modality) rule.Modality {
	if modality != rule.MustNot {
		return modality
	}
	return stated(Read(statement, rule.Must), modality)
}

// stated is Stated for a parsed statement. The first clause decides; if it demands in its own words, as in "must name verbs and must not
// grant all", a later prohibition shows that the words of both are meant.
func stated(clauses []Clause, modality rule.Modality) rule.Modality {
	if modality != rule.MustNot || len(clauses) == 0 {
		return modality
	}
	forbids := func(c Clause) bool { return c.Own.Negative && !c.Own.Doubtful }
	if first := clauses[0]; forbids(first) || !first.Own.Doubtful && first.Own.Force != 0 && slices.ContainsFunc(clauses, forbids) {
		return rule.Must
	}
	return modality
}
