package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/rule"
)

// outline starts the answer: what was selected of how much.
func (r *run) outline(context.Context) error {
	r.answer = &rule.Evaluation{
		EvaluationID: cmp.Or(r.req.id, audit.NewID()), ProjectID: r.req.ProjectID, Mode: r.req.Mode, Timestamp: rule.Instant(r.start),
		CorpusVersion: r.view.Version(), SnapshotID: r.snapshot, Overridden: r.sel.overridden, ModelIDsUsed: []string{},
		RuleVerdicts: make([]rule.RuleVerdict, len(r.sel.chosen)),
	}
	if r.within != nil {
		r.answer.NodeID = r.within.NodeID
	}
	size := r.subject.Size()
	r.answer.Coverage = rule.Coverage{
		RulesInScope: r.sel.inScope, RulesSelected: r.sel.selected, RulesCut: r.sel.inScope - r.sel.selected,
		FilesTotal: size.Files, HunksTotal: size.Hunks, BytesTotal: size.Bytes, Unexamined: []rule.Unexamined{},
	}
	return nil
}

// takeChecks takes the verdicts that a record or a check gives, and notes which rules they leave open.
func (r *run) takeChecks(context.Context) error {
	for i := range r.sel.chosen {
		c := &r.sel.chosen[i]
		v, decided := rule.RuleVerdict{}, false
		if r.recordedVerdict != nil {
			v, decided = r.recordedVerdict(c)
		}
		if !decided {
			v, decided = r.byCheck(c)
		}
		r.answer.RuleVerdicts[i] = v
		if decided {
			r.final(i)
		} else {
			r.open = append(r.open, i)
		}
	}
	return nil
}

// conclude sums up the verdicts and what was examined for them.
func (r *run) conclude(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	checked := slices.ContainsFunc(r.sel.chosen, func(c chosen) bool { return c.ran })
	r.examined.cover(&r.answer.Coverage, r.subject, checked)
	takePolicy(r)
	r.answer.Tally()
	if r.subject.Empty() {
		r.answer.OverallVerdict = rule.NeedsConfirmation
	}
	return nil
}

// final makes the verdict of the i-th chosen rule what is answered, and hands it to a caller who listens.
func (r *run) final(i int) {
	if r.raw {
		return
	}
	c, v := &r.sel.chosen[i], &r.answer.RuleVerdicts[i]
	if f := movedIn(r.subject, c.Entry.Covers()); f != nil && v.Verdict == rule.Allow {
		v.Verdict, v.DecidedBy, v.Confidence = rule.NeedsConfirmation, rule.ByNone, 0
		v.Reasoning = fmt.Sprintf("%s comes from %s, where this rule did not apply; a diff shows only what else has changed in it.", f.Path, f.OldPath)
		v.IssueDescription = "The rest of the file was not given."
	}
	hash := c.ContentHash()
	if v.DecidedBy == rule.ByModel || v.DecidedBy == rule.ByCache {
		r.calibration().Apply(v, hash)
	}
	if v.Verdict == rule.Deny && v.DecidedBy != rule.ByNone {
		v.Fingerprint = rule.FingerprintOf(v, hash)
	}
	settle(v)
	v.Waiver = nil // a recorded verdict may bring one
	if v.Fingerprint != "" && r.waiver != nil {
		v.Waiver = r.waiver(v)
	}
	if r.within != nil {
		v.SourceNodeID = r.within.Source(v.RuleID)
	}
	if r.req.Decided != nil {
		r.req.Decided(*v)
	}
}

const emptySubject = "There is nothing to judge: the request has no diff, files, facts or action."

// byCheck gives the verdict of a rule's check and whether it is final. If not, the judge decides, and the verdict says
// why nothing could in case the judge cannot either.
func (r *run) byCheck(c *chosen) (rule.RuleVerdict, bool) {
	v := blank(c.Rule)
	switch {
	case r.subject.Empty():
		v.Reasoning = emptySubject
		return v, true
	case c.Rule.Check == nil:
		return v, false
	case c.fault != nil:
		v.Reasoning = "The rule's check cannot be compiled: " + c.fault.Error()
		return v, true
	}
	v.DecidedBy, v.Confidence, v.Reasoning = rule.ByCheck, 1, c.outcome.Reason
	switch c.outcome.Result {
	case check.Broken:
		v.Verdict = rule.Deny
		v.IssueDescription, v.FixSuggestion = c.outcome.Issue, c.outcome.Fix
		v.Locations, v.Evidence = orEmpty(c.outcome.Locations), orEmpty(c.outcome.Evidence)
		return v, true
	case check.NotConcerned:
		v.Verdict, v.Concerned = rule.Allow, false
		v.Reasoning = "The rule does not concern this subject: " + c.outcome.Reason + "."
		return v, true
	case check.Kept:
		if c.Rule.Check.Decides == rule.DenyOnly {
			return blank(c.Rule), false
		}
		v.Verdict = rule.Allow
		return v, true
	case check.Undecided:
	}
	v.Verdict, v.DecidedBy, v.Confidence = rule.NeedsConfirmation, rule.ByNone, 0
	v.IssueDescription = "The rule's check could not decide."
	return v, true
}

// blank is the verdict of a rule that nothing has decided.
func blank(r *rule.Rule) rule.RuleVerdict {
	return rule.RuleVerdict{
		RuleID: r.ID, RuleSlug: r.Slug, RuleStatement: r.Statement, RuleVersion: r.Version, Severity: r.Severity,
		Modality: r.Modality, Enforcement: r.Enforcement, Verdict: rule.NeedsConfirmation, Concerned: true, DecidedBy: rule.ByNone,
		Locations: []rule.Location{}, Evidence: []rule.Evidence{},
	}
}

// settle applies modality and enforcement. A denial that they soften says so.
func settle(v *rule.RuleVerdict) {
	settled := rule.Settle(v.Verdict, v.Modality, v.Enforcement)
	if settled == v.Verdict {
		return
	}
	why := " (The rule is broken; as a SHOULD it asks for confirmation instead of denying.)"
	if v.Enforcement == rule.Warn {
		why = " (The rule is broken; under enforcement warn it asks for confirmation instead of denying.)"
	}
	v.Verdict = settled
	v.Reasoning += why
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
