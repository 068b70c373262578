package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// review judges a diff and makes a comment of each place that a verdict points to.
func (a *Agents) review(ctx context.Context, req *Request, past []turn) (*reply, error) {
	in := &req.Input
	in.Intent = withEarlier(req.Intent, past)
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
	result := &wire.AgentReviewResult{Verdict: e.OverallVerdict, Comments: comments(e), Rules: e.RulesEvaluated, Unexamined: e.Coverage.Unexamined}
	if result.Unexamined == nil {
		result.Unexamined = []rule.Unexamined{}
	}
	out := replyOf(e)
	out.result = result
	out.memory = fmt.Sprintf("%s, %d comments", out.memory, len(result.Comments))
	return out, nil
}

// comments makes a comment of every place of every verdict that is not ALLOW, those of shadow rules left out: these are on
// trial and bother nobody.
func comments(e *rule.Evaluation) []wire.ReviewComment {
	out := []wire.ReviewComment{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Verdict == rule.Allow || v.Enforcement == rule.Shadow {
			continue
		}
		c := wire.ReviewComment{
			RuleID: v.RuleID, RuleSlug: v.RuleSlug, Severity: v.Severity, Verdict: v.Verdict, Waived: v.Waiver != nil,
			Comment: cmp.Or(v.Why(), v.RuleStatement), Fix: v.FixSuggestion,
		}
		if len(v.Locations) == 0 {
			out = append(out, c)
		}
		for _, l := range v.Locations {
			c.File, c.StartLine, c.EndLine, c.Snippet = l.FilePath, l.StartLine, l.EndLine, l.Snippet
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b wire.ReviewComment) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.StartLine-b.StartLine, b.Severity.Rank()-a.Severity.Rank())
	})
	return out
}
