package release

import (
	"fmt"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Shares of changed evaluations from which on a change is more than low, as fractions.
const (
	mediumShare = 0.02
	highShare   = 0.10
)

// assessment gathers what makes a change risky.
type assessment struct {
	level   wire.Risk
	reasons []string
}

func (a *assessment) raise(level wire.Risk, format string, args ...any) {
	if level.Above(a.level) {
		a.level = level
	}
	a.reasons = append(a.reasons, fmt.Sprintf(format, args...))
}

// assess applies the rule of docs/releases.md. A critical rule that stops denying, or an allowed thing that a critical rule no longer
// allows, weighs most; then denials that fall away, then the share of evaluations that change. Where nothing was replayed, the
// rules themselves must show.
func assess(d *difference, before, after *corpus.View, changes []wire.VerdictChange, counts wire.VerdictChanges) (wire.Risk, []string) {
	a := assessment{level: wire.RiskNone, reasons: []string{}}
	if len(d.added)+len(d.removed)+len(d.after)+d.relationships > 0 {
		a.raise(wire.RiskLow, "%s added, %d removed, %d modified", text.Plural(len(d.added), "rule"), len(d.removed), len(d.after))
	}
	if d.federation {
		a.raise(wire.RiskLow, "the federation differs")
	}
	a.fallen(changes)
	if n := demandLess(d, before, after); n > 0 {
		a.raise(wire.RiskHigh, "%d CRITICAL rules are removed or demand less, whatever the replayed evaluations were about", n)
	}
	if n := counts.TotalSampled; n > 0 && counts.Changed > 0 {
		share := float64(counts.Changed) / float64(n)
		switch {
		case share >= highShare:
			a.raise(wire.RiskHigh, "%d of %d replayed evaluations change", counts.Changed, n)
		case share >= mediumShare:
			a.raise(wire.RiskMedium, "%d of %d replayed evaluations change", counts.Changed, n)
		default:
			a.raise(wire.RiskLow, "%d of %d replayed evaluations change", counts.Changed, n)
		}
	}
	if counts.TotalSampled == 0 {
		a.unseen(d, before, after)
	}
	return a.level, a.reasons
}

// fallen looks at single verdicts that change.
func (a *assessment) fallen(changes []wire.VerdictChange) {
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
		a.raise(wire.RiskCritical, "CRITICAL rules deny no longer what they denied, %d times", criticalFell)
	}
	if criticalRose > 0 {
		a.raise(wire.RiskHigh, "CRITICAL rules allow no longer what they allowed, %d times", criticalRose)
	}
	if fell > 0 {
		a.raise(wire.RiskMedium, "denials become allowances, %d times", fell)
	}
}

// demandLess counts the binding CRITICAL rules that are removed, or that are less severe, less binding or hold in fewer places or for a
// shorter time. That no verdict changes does not count for them: the evaluations may be about something else.
func demandLess(d *difference, before, after *corpus.View) int {
	less := 0
	count := func(id string) {
		old, ok := before.Rule(id)
		if !ok || old.Severity != rule.Critical || !old.Guarded() {
			return
		}
		now, ok := after.Rule(id)
		if !ok || len(now.Loosens(old)) > 0 || shortened(now.EffectivePeriod, old.EffectivePeriod) {
			less++
		}
	}
	for _, ref := range slices.Concat(d.removed, d.after) {
		count(ref.RuleID)
	}
	return less
}

// shortened reports whether a period leaves out a time that another one has.
func shortened(now, old rule.EffectivePeriod) bool {
	begins := now.From != nil && (old.From == nil || now.From.After(*old.From))
	ends := now.Until != nil && (old.Until == nil || now.Until.Before(*old.Until))
	return begins || ends
}

// unseen judges by the rules alone when no evaluation could be replayed.
func (a *assessment) unseen(d *difference, before, after *corpus.View) {
	critical := 0
	for _, ref := range slices.Concat(d.removed, d.after) {
		if isCritical(before, ref.RuleID) || isCritical(after, ref.RuleID) {
			critical++
		}
	}
	switch {
	case critical > 0:
		a.raise(wire.RiskHigh, "nothing could be replayed, and %d CRITICAL rules are removed or modified", critical)
	case a.level != wire.RiskNone:
		a.raise(wire.RiskMedium, "nothing could be replayed, so the effect is not known")
	}
}

func isCritical(view *corpus.View, id string) bool {
	r, ok := view.Rule(id)
	return ok && r.Severity == rule.Critical
}
