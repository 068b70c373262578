package evaluate

import (
	"slices"

	"tenet/internal/audit"
	"tenet/internal/rule"
)

// violated reports whether an evaluation is an incident: an action that has happened and that the rules deny.
func violated(e *rule.Evaluation) bool {
	return e.Mode == rule.Posthoc && e.OverallVerdict == rule.Deny
}

// violation makes the event that tells of an evaluation as it was recorded. It concerns the rules that deny, but for those
// that are in their shadow time.
func (r *run) violation(recorded *rule.Evaluation) rule.Event {
	whole := *recorded
	if r.e.cfg.Subjects == KeepFull && r.e.cfg.Redact != nil {
		// The record may keep secrets of the subject; what leaves the server must not.
		if clean, found := r.e.cfg.Redact.Input(r.req.Input); len(found) > 0 {
			secrets := replacer(r.req.Input, clean)
			whole.RuleVerdicts = without(secrets, whole.RuleVerdicts)
			whole.FixSummary = secrets.Replace(whole.FixSummary)
		}
	}
	whole.Tally()
	e := rule.Event{
		ID: audit.NewID(), ProjectID: whole.ProjectID, Type: rule.EvaluationViolated, Time: whole.Timestamp, Data: audit.JSON(&whole),
	}
	everywhere := false
	for _, v := range whole.Violations {
		if v.Enforcement == rule.Shadow {
			continue
		}
		e.RuleIDs = append(e.RuleIDs, v.RuleID)
		if v.Severity.Rank() > e.Severity.Rank() {
			e.Severity = v.Severity
		}
		i := slices.IndexFunc(r.sel.chosen, func(c chosen) bool { return c.Rule.ID == v.RuleID })
		if i < 0 || len(r.sel.chosen[i].Rule.Scope) == 0 {
			everywhere = true
			continue
		}
		for _, s := range r.sel.chosen[i].Rule.Scope {
			if !slices.Contains(e.Scope, s) {
				e.Scope = append(e.Scope, s)
			}
		}
	}
	if everywhere {
		e.Scope = append(e.Scope, "*")
	}
	return e
}
