package evaluate

import (
	"cmp"
	"context"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// outline starts the answer: what was selected of how much.
func (r *run) outline(ctx context.Context) error {
	r.answer = &rule.Evaluation{
		EvaluationID: cmp.Or(r.req.id, audit.NewID()), ProjectID: r.req.ProjectID, Mode: r.req.Mode, Timestamp: rule.Instant(r.start),
		CorpusVersion: r.view.Version(), SnapshotID: r.snapshot, Overridden: r.sel.overridden, ModelIDsUsed: []string{}, Notices: r.notices,
		RuleVerdicts: make([]rule.RuleVerdict, len(r.sel.chosen)),
	}
	if i := audit.IdentityFrom(ctx); !i.IsZero() {
		r.answer.Identity = &i
	}
	noteBundle(r)
	if r.within != nil {
		r.answer.NodeID = r.within.NodeID
	}
	size := r.whole.units.Size()
	r.answer.Coverage = rule.Coverage{
		RulesInScope: r.sel.inScope,
		FilesTotal:   size.Files, HunksTotal: size.Hunks, BytesTotal: size.Bytes, Unexamined: []rule.Unexamined{},
	}
	return nil
}

// takeChecks takes the verdicts that a record or a check gives, and notes which rules they leave open.
func (r *run) takeChecks(context.Context) error {
	if r.room == nil { // the rules come from a record
		r.room = &room{}
	}
	r.room.accounts = slices.Grow(r.room.accounts[:0], max(len(r.sel.chosen), r.req.MaxRules))
	r.accounts = r.room.accounts[:len(r.sel.chosen)]
	for i := range r.sel.chosen {
		c := &r.sel.chosen[i]
		v, a, decided := r.byRecord(c)
		if !decided {
			v, a, decided = r.byCheck(c)
		}
		if p := r.part(c.Entry); p != &r.whole {
			a = a.Over(r.whole.units.Units, p.numbers)
		}
		r.answer.RuleVerdicts[i], r.accounts[i] = v, a
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
	r.answer.Coverage.Redacted = r.redacted
	ledger.Cover(&r.answer.Coverage, r.whole.units.Units, slices.Concat(r.accounts, accountsOfAside(r))...)
	c := &r.answer.Coverage
	c.RulesNotAsked, c.RulesTriagedOut = len(r.sel.notAsked), r.sel.triagedOut
	c.RulesCut, c.RulesSelected = c.RulesNotAsked, c.RulesInScope-c.RulesNotAsked
	takePolicy(r)
	takeStale(r)
	if notice := notAskedNotice(&r.sel, r.triage.Reason); notice != "" {
		r.answer.Notices = append(r.answer.Notices, notice)
	}
	approveAsRecorded(r)
	if err := confirm(ctx, r); err != nil {
		return err
	}
	finish(r)
	return nil
}

// finish lists the verdicts and sums them up.
func finish(r *run) {
	if r.before == nil {
		r.answer.Coverage.RulesUndecided = undecidedRules(r.answer.RuleVerdicts)
	}
	listWorst(r)
	r.answer.Tally()
	if r.subject.Empty() {
		r.answer.OverallVerdict = rule.NeedsConfirmation
	}
}

// undecidedRules counts the verdicts that nothing has decided by severity; nil without any.
func undecidedRules(verdicts []rule.RuleVerdict) map[rule.Severity]int {
	var counts map[rule.Severity]int
	for i := range verdicts {
		v := &verdicts[i]
		if v.DecidedBy != rule.ByNone || !v.Counts() {
			continue
		}
		if counts == nil {
			counts = map[rule.Severity]int{}
		}
		counts[v.Severity]++
	}
	return counts
}

// final makes the verdict of the i-th chosen rule what is answered, and hands it to a caller who listens.
func (r *run) final(i int) {
	if r.raw {
		return
	}
	c, v := &r.sel.chosen[i], &r.answer.RuleVerdicts[i]
	hash := c.ContentHash()
	if v.DecidedBy == rule.ByModel || v.DecidedBy == rule.ByCache {
		r.calibration().Apply(v, hash)
	}
	if v.Verdict == rule.Deny && v.DecidedBy != rule.ByNone {
		v.Fingerprint = rule.FingerprintOf(v, hash)
	}
	settle(v)
	v.Waiver = nil // a recorded verdict may bring one
	if v.Fingerprint != "" && r.waiver != nil && c.Rule.MayBeWaived() {
		v.Waiver = r.waiver(v)
	}
	if r.within != nil {
		v.SourceNodeID = r.within.Source(v.RuleID)
	}
	if r.req.Decided != nil && !r.confirmation.hold(v) {
		r.req.Decided(*v)
	}
}

const emptySubject = rule.SentenceEmpty + ": the request has no diff, files, facts or action."

// byRecord gives the verdict of a record and its account, if there is one. What nobody could examine then, nobody has examined.
func (r *run) byRecord(c *chosen) (v rule.RuleVerdict, a ledger.Account, decided bool) {
	if r.recordedVerdict == nil {
		return v, a, false
	}
	if v, decided = r.recordedVerdict(c); !decided || v.DecidedBy == rule.ByTriage && r.sel.silencers[c.Rule.ID] {
		return v, a, false
	}
	units, finding := r.part(c.Entry).units, ledger.FindingOf(v.Verdict, v.DecidedBy)
	about := c.outcome.About
	switch {
	case v.DecidedBy == rule.ByTriage:
		finding = ledger.RuledOut
	case c.outcome.Result == check.NotConcerned && finding == ledger.Kept:
		finding, about = ledger.NotConcerned, orNone(about)
	}
	a = ledger.NewAccount(units.Units, about)
	a.Examined(v.DecidedBy, units.All())
	a.Decide(finding, &v)
	return v, a, true
}

// byCheck gives the verdict of a rule's check, its account, and whether it is final. If not, the judge decides, and the verdict
// says why nothing could in case the judge cannot either.
func (r *run) byCheck(c *chosen) (v rule.RuleVerdict, a ledger.Account, final bool) {
	v = blank(c.Rule)
	switch {
	case r.subject.Empty():
		v.Reasoning = emptySubject
		return v, a, true
	case c.Rule.Check == nil:
		return v, a, false
	case c.fault != nil:
		v.Reasoning = "The rule's check cannot be compiled: " + c.fault.Error()
		return v, a, true
	}
	out := &c.outcome
	finding := findings[out.Result]
	if r.part(c.Entry).subject.Empty() {
		finding, out = ledger.NotConcerned, &noFile
	}
	if c.Rule.Check.Decides == rule.DenyOnly && (finding == ledger.Kept || finding == ledger.Open) {
		return v, a, false
	}
	v.DecidedBy, v.Confidence, v.Reasoning = rule.ByCheck, 1, out.Reason
	switch finding {
	case ledger.Broken:
		v.IssueDescription, v.FixSuggestion = out.Issue, out.Fix
		v.Locations, v.Evidence = orEmpty(out.Locations), orEmpty(out.Evidence)
	case ledger.NotConcerned:
		v.Reasoning = "The rule does not concern this subject: " + out.Reason + "."
	case ledger.Open:
		v.IssueDescription = undecidedCheck
	default:
	}
	a = accountOf(r.part(c.Entry), out)
	a.Decide(finding, &v)
	return v, a, true
}

// accountOf returns the account of a check on a part of the subject.
func accountOf(p *part, out *check.Outcome) ledger.Account {
	a := ledger.NewAccount(p.units.Units, orNone(out.About))
	a.Examined(rule.ByCheck, out.Seen)
	if out.Unread != "" {
		for unit := range out.About.All {
			a.Gap(unit, out.Unread)
		}
	}
	return a
}

// noFile is the outcome on a part of the subject that is empty.
var noFile = check.Outcome{Result: check.NotConcerned, Reason: "no file of it is among those that the rule applies to"}

const undecidedCheck = rule.SentenceOpenCheck

// findings are those of the results of checks.
var findings = [...]ledger.Finding{
	check.Undecided: ledger.Open, check.Kept: ledger.Kept, check.Broken: ledger.Broken, check.NotConcerned: ledger.NotConcerned,
}

// orNone returns an empty set for nil, which would mean all units.
func orNone(units *ledger.Set) *ledger.Set {
	if units == nil {
		return &ledger.Set{}
	}
	return units
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
	why := " " + rule.SentenceBroken + "as a SHOULD it asks for confirmation instead of denying.)"
	if v.Enforcement == rule.Warn {
		why = " " + rule.SentenceBroken + "under enforcement warn it asks for confirmation instead of denying.)"
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
