package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// findings are the verdicts of an evaluation by what they ask of the reader, each list with the most severe rules first.
type findings struct {
	denied []*rule.RuleVerdict
	open   []*rule.RuleVerdict // NEEDS_CONFIRMATION, and any verdict unknown here
	passed []*rule.RuleVerdict
	beside []*rule.RuleVerdict // of rules that do not concern the subject
	waived []*rule.RuleVerdict // denials that a waiver covers
	known  []*rule.RuleVerdict // findings that the base has already; see Options.Known
	shadow int                 // denied or open ones that do not count, because their rules are in shadow
}

func sortFindings(e *rule.Evaluation, o Options) findings {
	var f findings
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		switch {
		case v.Waiver != nil:
			f.waived = append(f.waived, v)
			continue
		case v.Verdict != rule.Allow && o.Known[v]:
			f.known = append(f.known, v)
			continue
		}
		switch v.Verdict {
		case rule.Allow:
			if v.Concerned {
				f.passed = append(f.passed, v)
			} else {
				f.beside = append(f.beside, v)
			}
			continue
		case rule.Deny:
			f.denied = append(f.denied, v)
		default:
			f.open = append(f.open, v)
		}
		if v.Enforcement == rule.Shadow {
			f.shadow++
		}
	}
	for _, list := range [][]*rule.RuleVerdict{f.denied, f.open, f.passed, f.beside, f.waived, f.known} {
		slices.SortStableFunc(list, func(a, b *rule.RuleVerdict) int {
			return cmp.Compare(b.Severity.Rank(), a.Severity.Rank())
		})
	}
	return f
}

// byReason joins verdicts that point at nothing in the subject and give the same reason, such as a model that is not
// configured: a reader needs that reason once, not for every rule. Groups are in the order of their first verdict.
func byReason(list []*rule.RuleVerdict) [][]*rule.RuleVerdict {
	type key struct {
		verdict               rule.Verdict
		issue, reasoning, fix string
		shadow                bool
	}
	var groups [][]*rule.RuleVerdict
	place := map[key]int{}
	for _, v := range list {
		k := key{v.Verdict, v.IssueDescription, v.Reasoning, v.FixSuggestion, v.Enforcement == rule.Shadow}
		at, seen := place[k]
		switch {
		case len(v.Locations) > 0 || len(v.Evidence) > 0:
			groups = append(groups, []*rule.RuleVerdict{v})
		case seen:
			groups[at] = append(groups[at], v)
		default:
			place[k] = len(groups)
			groups = append(groups, []*rule.RuleVerdict{v})
		}
	}
	return groups
}

// waiver describes the waiver that covers a denial.
func waiver(w *rule.AppliedWaiver) string {
	return fmt.Sprintf("waived until %s by %s: %s", w.ExpiresAt.UTC().Format("2006-01-02"), w.Approver, w.Reason)
}

// name returns the slug of the rule, or its id if it has none.
func name(v *rule.RuleVerdict) string {
	if v.RuleSlug != "" {
		return v.RuleSlug
	}
	return v.RuleID
}

// nameOf is the name of the rule with an id, if it gave a verdict, else the id.
func nameOf(e *rule.Evaluation, id string) string {
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; v.RuleID == id {
			return name(v)
		}
	}
	return id
}

// reason returns the issue, and the reasoning where the issue alone does not explain the verdict. A check's issue does.
func reason(v *rule.RuleVerdict, verbose bool) string {
	switch {
	case v.IssueDescription == "":
		return v.Reasoning
	case v.Reasoning == "" || v.Reasoning == v.IssueDescription:
		return v.IssueDescription
	case !verbose && v.DecidedBy == rule.ByCheck:
		return v.IssueDescription
	}
	return v.IssueDescription + "\n" + v.Reasoning
}

// Place writes a location as path:line or path:first-last. The path is as hostile as it was.
func Place(l *rule.Location) string {
	switch {
	case l.StartLine < 1:
		return l.FilePath
	case l.EndLine > l.StartLine:
		return fmt.Sprintf("%s:%d-%d", l.FilePath, l.StartLine, l.EndLine)
	}
	return fmt.Sprintf("%s:%d", l.FilePath, l.StartLine)
}

// proof returns the evidence that is no quote: the facts that decided, and the absent ones.
func proof(v *rule.RuleVerdict) []string {
	var lines []string
	for _, p := range v.Evidence {
		switch {
		case p.Kind == rule.EvidenceFact && p.Value != "":
			lines = append(lines, p.Fact+" = "+p.Value)
		case p.Kind == rule.EvidenceFact && p.Fact != "":
			lines = append(lines, p.Fact)
		case p.Kind == rule.EvidenceAbsence && p.Quote != "":
			lines = append(lines, "absent: "+p.Quote)
		}
	}
	return lines
}

// counts summarises the verdicts in one line.
func counts(f findings) string {
	s := fmt.Sprintf("%d violated, %d to be confirmed, %d passed", len(f.denied), len(f.open), len(f.passed))
	if n := len(f.beside); n > 0 {
		s += fmt.Sprintf(", %d not concerned", n)
	}
	if n := len(f.waived); n > 0 {
		s += fmt.Sprintf(", %d waived", n)
	}
	if n := len(f.known); n > 0 {
		s += fmt.Sprintf(", %d known from the base", n)
	}
	if f.shadow > 0 {
		s += fmt.Sprintf(" (%d in shadow, not counted)", f.shadow)
	}
	return s
}

// accountItems bounds each list of the account, which gives the number of the rest.
const accountItems = 20

// account lists the parts of the subject that were evaluated and those that were not, a line for each.
func account(e *rule.Evaluation, o Options) []string {
	c := &e.Coverage
	lines := []string{fmt.Sprintf("%s in scope, %d selected, %d judged; %d of %s, %d of %s, %d of %s examined",
		text.Plural(c.RulesInScope, "rule"), c.RulesSelected, c.RulesJudged, c.FilesExamined, text.Plural(c.FilesTotal, "file"),
		c.HunksExamined, text.Plural(c.HunksTotal, "hunk"), c.BytesExamined, text.Plural(c.BytesTotal, "byte"))}
	if c.RulesTriagedOut > 0 {
		lines = append(lines, fmt.Sprintf("ruled out by triage: %s, which a model found not to concern the subject", text.Plural(c.RulesTriagedOut, "rule")))
	}
	lines = append(lines, approvals(e)...)
	lines = append(lines, e.Notices...)
	if c.RulesCut > 0 {
		lines = append(lines, fmt.Sprintf("not judged: %s beyond max_rules; raise max_rules to judge more at once", text.Plural(c.RulesCut, "rule")))
	}
	for i, u := range c.Unexamined {
		if i == accountItems {
			lines = append(lines, "not examined: "+text.Plural(len(c.Unexamined)-i, "more part"))
			break
		}
		lines = append(lines, "not examined: "+u.Part+": "+u.Reason)
	}
	for i, o := range e.Overridden {
		if i == accountItems {
			lines = append(lines, "overridden: "+text.Plural(len(e.Overridden)-i, "more rule"))
			break
		}
		lines = append(lines, "overridden: "+cmp.Or(o.RuleSlug, o.RuleID)+" by "+cmp.Or(o.OverriddenBySlug, nameOf(e, o.OverriddenBy)))
	}
	if e.Cost.Calls > 0 || e.Cost.CachedCalls > 0 {
		lines = append(lines, fmt.Sprintf("%s to %s, %d tokens in, %d out; %s from the cache", text.Plural(e.Cost.Calls, "call"),
			cmp.Or(strings.Join(e.ModelIDsUsed, ", "), "no model"), e.Cost.InputTokens, e.Cost.OutputTokens,
			text.Plural(e.Cost.CachedCalls, "verdict")))
	}
	if e.EvaluationID != "" {
		kept := ""
		if o.NotKept {
			kept = "; not kept, since there is no database"
		}
		lines = append(lines, fmt.Sprintf("evaluation %s, %d ms%s", e.EvaluationID, e.TotalLatencyMS, kept))
	}
	return lines
}

// approvals names the approvals that an evaluation has used, and who gave them.
func approvals(e *rule.Evaluation) []string {
	var lines []string
	seen := map[string]bool{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Approval == nil || seen[v.Approval.ID] {
			continue
		}
		seen[v.Approval.ID] = true
		people := make([]string, len(v.Approval.By))
		for k, who := range v.Approval.By {
			people[k] = who
			if k < len(v.Approval.Reasons) && v.Approval.Reasons[k] != "" {
				people[k] += " (" + v.Approval.Reasons[k] + ")"
			}
		}
		lines = append(lines, "confirmed by "+strings.Join(people, ", ")+": approval "+v.Approval.ID)
	}
	if a := e.Approval; a != nil && !seen[a.ID] && (a.State == rule.ApprovalUsed || a.State == rule.ApprovalApproved) {
		lines = append(lines, "confirmed by people: approval "+a.ID)
	}
	return lines
}
