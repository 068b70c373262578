package evaluate

import (
	"context"
	"time"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/judge"
	"tenet/internal/rule"
)

// judged is what the judge was asked and answered.
type judged struct {
	rules  []*rule.Rule
	result judge.Result
}

// decide turns the selection into an evaluation: checks first, the judge for what they leave open.
func (r *run) decide(ctx context.Context) *rule.Evaluation {
	e := &rule.Evaluation{
		EvaluationID: audit.NewID(), ProjectID: r.req.ProjectID, Mode: r.req.Mode, Timestamp: r.start.UTC().Truncate(time.Microsecond),
		CorpusVersion: r.view.Version(), Overridden: r.sel.overridden, ModelIDsUsed: []string{},
		RuleVerdicts: make([]rule.RuleVerdict, len(r.sel.chosen)),
	}
	size := r.subject.Size()
	e.Coverage = rule.Coverage{
		RulesInScope: r.sel.inScope, RulesSelected: len(r.sel.chosen), RulesCut: r.sel.inScope - len(r.sel.chosen),
		FilesTotal: size.Files, HunksTotal: size.Hunks, HunksExamined: size.Hunks,
		BytesTotal: size.Bytes, BytesExamined: size.Bytes, Unexamined: []rule.Unexamined{},
	}
	r.countFiles(&e.Coverage)
	var open []int
	for i := range r.sel.chosen {
		v, decided := r.byCheck(&r.sel.chosen[i])
		e.RuleVerdicts[i] = v
		if !decided {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		r.ask(ctx, e, open)
	}
	for i := range e.RuleVerdicts {
		settle(&e.RuleVerdicts[i])
	}
	e.Tally()
	if r.subject.Empty() {
		e.OverallVerdict = rule.NeedsConfirmation
	}
	return e
}

// countFiles tells which files have no text to examine.
func (r *run) countFiles(c *rule.Coverage) {
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

// ask lets the judge decide the open rules and joins its answers in. A rule that the judge leaves out stays undecided.
func (r *run) ask(ctx context.Context, e *rule.Evaluation, open []int) {
	rules := make([]*rule.Rule, len(open))
	place := make(map[string]int, len(open))
	for i, at := range open {
		rules[i] = r.sel.chosen[at].Rule
		place[rules[i].ID] = at
		e.RuleVerdicts[at].Reasoning = "The judge gave no answer for this rule."
	}
	result := r.e.cfg.Judge.Decide(ctx, r.subject, rules)
	r.judged = &judged{rules, result}
	for _, v := range result.Verdicts {
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
	e.Cost, e.ModelIDsUsed = result.Cost, orEmpty(result.Models)
	e.Coverage.Unexamined = append(e.Coverage.Unexamined, result.Unexamined...)
	if result.Cost.Calls > 0 {
		e.Coverage.BytesExamined = min(e.Coverage.BytesExamined, result.BytesExamined)
		e.Coverage.HunksExamined = min(e.Coverage.HunksExamined, result.HunksExamined)
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
