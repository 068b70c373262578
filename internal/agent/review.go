package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// ReviewResult is a review of a change.
type ReviewResult struct {
	Verdict    rule.Verdict      `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The overall verdict."`
	Comments   []Comment         `json:"comments" nullable:"false" doc:"What to say about the change, by file and line."`
	Rules      int               `json:"rules_evaluated" doc:"Rules that were judged."`
	Unexamined []rule.Unexamined `json:"unexamined" nullable:"false" doc:"Parts that were not looked at, with the reason."`
}

// Comment is one remark of a review. Its place was found by the server in the diff.
type Comment struct {
	File      string        `json:"file" doc:"Path; empty for a remark on the change as a whole."`
	StartLine int           `json:"start_line" doc:"First line, in the new version; 0 without a place."`
	EndLine   int           `json:"end_line" doc:"Last line, included; 0 without a place."`
	Snippet   string        `json:"snippet" doc:"The text of those lines."`
	RuleID    string        `json:"rule_id" doc:"The rule that it is about."`
	RuleSlug  string        `json:"rule_slug,omitempty" doc:"Its short name."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"The rule's severity."`
	Verdict   rule.Verdict  `json:"verdict" enum:"DENY,NEEDS_CONFIRMATION" doc:"DENY: it breaks the rule. NEEDS_CONFIRMATION: a person should look."`
	Waived    bool          `json:"waived,omitempty" doc:"True if a waiver covers it; it then does not count in the verdict."`
	Comment   string        `json:"comment" doc:"What is the matter."`
	Fix       string        `json:"fix" doc:"How to mend it; may be empty."`
}

// review judges a diff and makes a comment of each place that a verdict points to.
func (a *Agents) review(ctx context.Context, req *Request, past []turn) (*reply, error) {
	in := &req.Input
	in.Intent = joined(req.Intent, past)
	if strings.TrimSpace(in.Diff) == "" && len(in.Files) == 0 {
		in.Intent, in.Diff = splitDiff(in.Intent)
	}
	if strings.TrimSpace(in.Diff) == "" && len(in.Files) == 0 {
		return clarify("There is no change to review. Send it as a unified diff in the field diff, or as files; nothing was reviewed yet."), nil
	}
	req.step("evaluation", "judging the change by the rules")
	e, err := a.cfg.Evaluator.Evaluate(ctx, req)
	if err != nil {
		return nil, err
	}
	result := &ReviewResult{Verdict: e.OverallVerdict, Comments: comments(e), Rules: e.RulesEvaluated, Unexamined: e.Coverage.Unexamined}
	if result.Unexamined == nil {
		result.Unexamined = []rule.Unexamined{}
	}
	out := judged(e)
	out.result = result
	out.memory = fmt.Sprintf("%s, %d comments", out.memory, len(result.Comments))
	return out, nil
}

// comments makes a comment of every place of every verdict that is not ALLOW, those of shadow rules left out: these are on
// trial and bother nobody.
func comments(e *rule.Evaluation) []Comment {
	out := []Comment{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Verdict == rule.Allow || v.Enforcement == rule.Shadow {
			continue
		}
		c := Comment{
			RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, Verdict: v.Verdict, Waived: v.Waiver != nil,
			Comment: cmp.Or(v.IssueDescription, v.Reasoning, v.RuleStatement), Fix: v.FixSuggestion,
		}
		if len(v.Locations) == 0 {
			out = append(out, c)
		}
		for _, l := range v.Locations {
			c.File, c.StartLine, c.EndLine, c.Snippet = l.FilePath, l.StartLine, l.EndLine, l.Snippet
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Comment) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.StartLine-b.StartLine, b.Severity.Rank()-a.Severity.Rank())
	})
	return out
}
