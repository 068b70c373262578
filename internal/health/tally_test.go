package health

import (
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// TestWhatPeopleConfirmedIsCountedApart sums verdicts up: those by approval are not those that nothing decided.
func TestWhatPeopleConfirmedIsCountedApart(t *testing.T) {
	var c, sum store.RuleCount
	for _, by := range []rule.DecidedBy{rule.ByApproval, rule.ByApproval, rule.ByCheck, rule.ByNone} {
		count(rule.Allow, &c.Allowed, &c.Denied, &c.Unsure)
		decided(by, &c)
	}
	addVerdicts(&sum, &c)
	addVerdicts(&sum, &c)
	if got := ruleVerdicts(&sum).DecidedBy; got.Approval != 4 || got.Check != 2 || got.None != 2 || got.Model+got.Cache+got.Triage != 0 {
		t.Errorf("decided by %+v", got)
	}
}
