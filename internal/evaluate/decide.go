package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/judge"
	"tenet/internal/rule"
)

// decide turns the selection into an evaluation: checks first, the judge for what they leave open.
func (r *run) decide(ctx context.Context) *rule.Evaluation {
	e := &rule.Evaluation{
		EvaluationID: cmp.Or(r.req.id, audit.NewID()), ProjectID: r.req.ProjectID, Mode: r.req.Mode, Timestamp: r.start.UTC().Truncate(time.Microsecond),
		CorpusVersion: r.view.Version(), SnapshotID: r.snapshot, Overridden: r.sel.overridden, ModelIDsUsed: []string{},
		RuleVerdicts: make([]rule.RuleVerdict, len(r.sel.chosen)),
	}
	if r.within != nil {
		e.NodeID = r.within.NodeID
	}
	size := r.subject.Size()
	e.Coverage = rule.Coverage{
		RulesInScope: r.sel.inScope, RulesSelected: r.sel.selected, RulesCut: r.sel.inScope - r.sel.selected,
		FilesTotal: size.Files, HunksTotal: size.Hunks, BytesTotal: size.Bytes, Unexamined: []rule.Unexamined{},
	}
	var open []int
	for i := range r.sel.chosen {
		v, decided := r.byRecord(&r.sel.chosen[i])
		if !decided {
			v, decided = r.byCheck(&r.sel.chosen[i])
		}
		e.RuleVerdicts[i] = v
		if decided {
			r.final(ctx, e, i)
		} else {
			open = append(open, i)
		}
	}
	r.cover(&e.Coverage, r.ask(ctx, e, open))
	e.Tally()
	if r.subject.Empty() {
		e.OverallVerdict = rule.NeedsConfirmation
	}
	return e
}

// cover tells what was examined: by a check all there is, by the judge what its calls have shown it. short is how much of
// what it was asked about no answered call has shown.
func (r *run) cover(c *rule.Coverage, j heard) {
	checked := false
	for i := range r.sel.chosen {
		checked = checked || r.sel.chosen[i].ran
	}
	if !checked && j.hunks+j.bytes == 0 {
		if !r.subject.Empty() {
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: "all", Reason: "no check and no model has looked at the subject"})
		}
		return
	}
	c.Redacted = j.redacted
	c.HunksExamined, c.BytesExamined = j.hunks, j.bytes
	if checked {
		c.HunksExamined, c.BytesExamined = c.HunksTotal-j.shortHunks, c.BytesTotal-j.shortBytes
	}
	for i := range r.subject.Files {
		f := &r.subject.Files[i]
		switch {
		case f.Missing:
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: f.Path, Reason: "its content is not given"})
		case f.Binary:
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: f.Path, Reason: "the file is binary"})
		default:
			c.FilesExamined++
		}
	}
	c.Unexamined = append(c.Unexamined, j.unexamined...)
}

// final makes the verdict of a chosen rule what is answered, and tells the caller who listens.
func (r *run) final(ctx context.Context, e *rule.Evaluation, i int) {
	if r.raw {
		return
	}
	v := &e.RuleVerdicts[i]
	if f := r.movedIn(r.sel.chosen[i].Entry); f != nil && v.Verdict == rule.Allow {
		v.Verdict, v.DecidedBy, v.Confidence = rule.NeedsConfirmation, rule.ByNone, 0
		v.Reasoning = fmt.Sprintf("%s comes from %s, where this rule did not apply; a diff shows only what else has changed in it.", f.Path, f.OldPath)
		v.IssueDescription = "The rest of the file was not given."
	}
	hash := r.sel.chosen[i].ContentHash()
	r.e.calibrate(ctx, r.req.ProjectID, hash, v)
	if v.Verdict == rule.Deny && v.DecidedBy != rule.ByNone {
		v.Fingerprint = rule.FingerprintOf(v, hash)
	}
	settle(v)
	v.Waiver = nil // a verdict of a record may bring one
	if v.Fingerprint != "" && r.waived != nil {
		v.Waiver = r.waived(v)
	}
	v.SourceNodeID = r.source(v.RuleID)
	if r.req.Decided != nil {
		r.req.Decided(*v)
	}
}

const emptySubject = "There is nothing to judge: the request has no diff, files, facts or action."

// byRecord gives the verdict that is known already, if one is.
func (r *run) byRecord(c *chosen) (rule.RuleVerdict, bool) {
	if r.known == nil {
		return rule.RuleVerdict{}, false
	}
	return r.known(c)
}

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
		v.Verdict = rule.Allow
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
		Modality: r.Modality, Enforcement: r.Enforcement, Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone,
		Locations: []rule.Location{}, Evidence: []rule.Evidence{},
	}
}

// heard is what the judge has seen of the subject, over all that it was asked.
type heard struct {
	hunks, bytes           int
	shortHunks, shortBytes int
	unexamined             []rule.Unexamined
	redacted               int
}

// hearing is one question to the judge: rules that concern the same part of the subject.
type hearing struct {
	part   *part
	places []int // of the rules among the chosen
	rules  []*rule.Rule
	result judge.Result
}

// ask lets the judge decide the open rules, each on the part of the subject that it concerns, and joins its answers in. A
// rule that the judge leaves out stays undecided.
func (r *run) ask(ctx context.Context, e *rule.Evaluation, open []int) heard {
	var hearings []*hearing
	byPart := map[*part]*hearing{}
	for _, at := range open {
		c := &r.sel.chosen[at]
		p := r.part(c.Entry)
		h := byPart[p]
		if h == nil {
			h = &hearing{part: p}
			byPart[p] = h
			hearings = append(hearings, h)
		}
		h.places, h.rules = append(h.places, at), append(h.rules, c.Rule)
	}
	var wg sync.WaitGroup
	var joining sync.Mutex
	for _, h := range hearings {
		wg.Go(func() {
			h.result = r.judge.Decide(ctx, h.part.subject, h.rules)
			joining.Lock()
			defer joining.Unlock()
			r.join(e, h)
			for _, at := range h.places {
				r.final(ctx, e, at)
			}
		})
	}
	wg.Wait()
	var all heard
	for _, h := range hearings {
		r.account(e, h)
		all.add(h)
	}
	return all
}

// join takes the verdicts of one hearing into the evaluation.
func (r *run) join(e *rule.Evaluation, h *hearing) {
	place := make(map[string]int, len(h.places))
	for _, at := range h.places {
		place[r.sel.chosen[at].Rule.ID] = at
		e.RuleVerdicts[at].Reasoning = "The judge gave no answer for this rule."
	}
	for _, v := range h.result.Verdicts {
		at, ok := place[v.RuleID]
		if !ok {
			continue
		}
		answer := blank(r.sel.chosen[at].Rule)
		answer.Verdict, answer.DecidedBy, answer.Confidence = v.Verdict, v.DecidedBy, v.Confidence
		answer.Reasoning, answer.IssueDescription, answer.FixSuggestion = v.Reasoning, v.IssueDescription, v.FixSuggestion
		answer.Locations, answer.Evidence = orEmpty(v.Locations), orEmpty(v.Evidence)
		e.RuleVerdicts[at] = answer
	}
}

// account takes in what a hearing has cost.
func (r *run) account(e *rule.Evaluation, h *hearing) {
	c := h.result.Cost
	e.Cost.Calls, e.Cost.CachedCalls = e.Cost.Calls+c.Calls, e.Cost.CachedCalls+c.CachedCalls
	e.Cost.InputTokens, e.Cost.OutputTokens = e.Cost.InputTokens+c.InputTokens, e.Cost.OutputTokens+c.OutputTokens
	for _, model := range h.result.Models {
		if !slices.Contains(e.ModelIDsUsed, model) {
			e.ModelIDsUsed = append(e.ModelIDsUsed, model)
		}
	}
	r.calls, r.reused = append(r.calls, h.result.Calls...), append(r.reused, h.result.Reused...)
}

// add takes in what one hearing has seen. Without a call nothing was to be seen, and the verdicts say why.
func (all *heard) add(h *hearing) {
	if h.result.Cost.Calls+h.result.Cost.CachedCalls == 0 {
		return
	}
	all.redacted = max(all.redacted, h.result.Redacted)
	size := h.part.subject.Size()
	all.hunks, all.bytes = max(all.hunks, min(h.result.HunksExamined, size.Hunks)), max(all.bytes, min(h.result.BytesExamined, size.Bytes))
	all.shortHunks = max(all.shortHunks, size.Hunks-h.result.HunksExamined)
	all.shortBytes = max(all.shortBytes, size.Bytes-h.result.BytesExamined)
	for _, u := range h.result.Unexamined {
		if !slices.Contains(all.unexamined, u) {
			all.unexamined = append(all.unexamined, u)
		}
	}
}

// settle applies modality and enforcement, and tells when they have softened a denial.
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
