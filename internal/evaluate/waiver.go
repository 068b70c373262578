package evaluate

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// waivers finds the waivers of a project as they are now, also for rules of a snapshot: a waiver is granted to a denial, whichever
// state of the rules gives it. Where the project cannot be looked at, there are none.
func (e *Evaluator) waivers(ctx context.Context, projectID string, now time.Time) func(*rule.RuleVerdict) *rule.AppliedWaiver {
	if e.cfg.Views == nil {
		return nil
	}
	view, err := e.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil
	}
	return func(v *rule.RuleVerdict) *rule.AppliedWaiver {
		w, ok := view.Waiver(v.RuleID, v.Fingerprint, v.Severity, now)
		if !ok {
			return nil
		}
		return w.Applied()
	}
}

// waived finds the waiver that a recorded denial was covered by. Where secrets were taken out of the record, the denial no
// longer cites the text that the waiver is bound to.
func (rec *Record) waived(v *rule.RuleVerdict) *rule.AppliedWaiver {
	for i := range rec.Evaluation.RuleVerdicts {
		was := &rec.Evaluation.RuleVerdicts[i]
		if was.RuleID == v.RuleID && (was.Fingerprint == v.Fingerprint || len(rec.Redactions) > 0) {
			return was.Waiver
		}
	}
	return nil
}
