package release

import (
	"fmt"
	"slices"

	"tenet/internal/rule"
)

// Risk says how much a change of rules may upset, from none to critical.
type Risk string

// The levels, least first.
const (
	RiskNone     Risk = "none"
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// Risks are all levels, least first.
var Risks = []Risk{RiskNone, RiskLow, RiskMedium, RiskHigh, RiskCritical}

// Above reports whether r is a higher level than other.
func (r Risk) Above(other Risk) bool { return slices.Index(Risks, r) > slices.Index(Risks, other) }

// Shares of changed evaluations from which on a change is more than low, as fractions.
const (
	mediumShare = 0.02
	highShare   = 0.10
)

// assessment gathers what makes a change risky.
type assessment struct {
	level   Risk
	reasons []string
}

func (a *assessment) raise(level Risk, format string, args ...any) {
	if level.Above(a.level) {
		a.level = level
	}
	a.reasons = append(a.reasons, fmt.Sprintf(format, args...))
}

// assess applies the rule of docs/releases.md. A critical rule that stops denying, or an allowed thing that a critical rule no longer
// allows, weighs most; then denials that fall away, then the share of evaluations that change. Where nothing was replayed, the
// rules themselves must tell.
func assess(d *Difference, changes []VerdictChange, counts VerdictChanges) (Risk, []string) {
	a := assessment{level: RiskNone, reasons: []string{}}
	if d.RulesAdded+d.RulesRemoved+d.RulesModified+d.Relationships > 0 {
		a.raise(RiskLow, "%d rules added, %d removed, %d modified", d.RulesAdded, d.RulesRemoved, d.RulesModified)
	}
	if d.Federation {
		a.raise(RiskLow, "the federation differs")
	}
	a.fallen(changes)
	if n := counts.TotalSampled; n > 0 && counts.Changed > 0 {
		share := float64(counts.Changed) / float64(n)
		switch {
		case share >= highShare:
			a.raise(RiskHigh, "%d of %d replayed evaluations change", counts.Changed, n)
		case share >= mediumShare:
			a.raise(RiskMedium, "%d of %d replayed evaluations change", counts.Changed, n)
		default:
			a.raise(RiskLow, "%d of %d replayed evaluations change", counts.Changed, n)
		}
	}
	if counts.TotalSampled == 0 {
		a.unseen(d)
	}
	return a.level, a.reasons
}

// fallen looks at single verdicts that change.
func (a *assessment) fallen(changes []VerdictChange) {
	var criticalFell, criticalRose, fell int
	for _, c := range changes {
		critical := c.Severity == rule.Critical
		switch {
		case critical && c.Before == rule.Deny && c.After != rule.Deny:
			criticalFell++
		case critical && c.Before == rule.Allow:
			criticalRose++
		case c.Before == rule.Deny && c.After == rule.Allow:
			fell++
		}
	}
	if criticalFell > 0 {
		a.raise(RiskCritical, "CRITICAL rules deny no longer what they denied, %d times", criticalFell)
	}
	if criticalRose > 0 {
		a.raise(RiskHigh, "CRITICAL rules allow no longer what they allowed, %d times", criticalRose)
	}
	if fell > 0 {
		a.raise(RiskMedium, "denials become allowances, %d times", fell)
	}
}

// unseen judges by the rules alone when no evaluation could be replayed.
func (a *assessment) unseen(d *Difference) {
	critical := 0
	for _, n := range d.Removed {
		if n.Severity == rule.Critical {
			critical++
		}
	}
	for i := range d.Modified {
		m := &d.Modified[i]
		if m.Severity == rule.Critical || slices.ContainsFunc(m.Fields, func(f rule.FieldChange) bool {
			return f.Field == "severity" && string(f.Before) == `"CRITICAL"`
		}) {
			critical++
		}
	}
	switch {
	case critical > 0:
		a.raise(RiskHigh, "nothing could be replayed, and %d CRITICAL rules are removed or modified", critical)
	case a.level != RiskNone:
		a.raise(RiskMedium, "nothing could be replayed, so the effect is not known")
	}
}
