package evaluate

import (
	"context"
	"sync"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/judge"
	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// question is one call of the judge: rules that concern the same part of the subject.
type question struct {
	part   *part
	places []int // of the rules among the chosen
	rules  []*rule.Rule
	result judge.Result
}

// askJudge lets the judge decide the open rules, each on the part of the subject that it concerns. A rule that the judge
// leaves out stays undecided.
func (r *run) askJudge(ctx context.Context) error {
	ctx = ownVerdicts(r.triage.After(ctx), r)
	questions := r.questions()
	var wg sync.WaitGroup
	var joining sync.Mutex
	for _, q := range questions {
		wg.Go(func() {
			q.result = r.judge.Decide(ctx, q.part.subject, q.rules)
			joining.Lock()
			defer joining.Unlock()
			q.join(r)
			for _, at := range q.places {
				r.final(at)
			}
		})
	}
	wg.Wait()
	for _, q := range questions {
		spent(r, q.result.Cost, q.result.Models, q.result.Redacted)
		r.calls, r.reused = append(r.calls, q.result.Calls...), append(r.reused, q.result.Reused...)
		r.stored = append(r.stored, q.result.Stored...)
	}
	return nil
}

// ownVerdicts has the judge keep its verdicts apart by the facts of who asks that the policy names.
func ownVerdicts(ctx context.Context, r *run) context.Context {
	if r.policy == nil {
		return ctx
	}
	return judge.For(ctx, r.policy.CachedFor(auth.ActorFrom(ctx).Name, audit.IdentityFrom(ctx)))
}

// questions groups the open rules by the part of the subject that they concern.
func (r *run) questions() (list []*question) {
	byPart := map[*part]*question{}
	for _, at := range r.open {
		c := &r.sel.chosen[at]
		p := r.part(c.Entry)
		q := byPart[p]
		if q == nil {
			q = &question{part: p}
			byPart[p] = q
			list = append(list, q)
		}
		q.places, q.rules = append(q.places, at), append(q.rules, c.Rule)
	}
	return list
}

// sayWhyOpen puts the reason of a check that could not decide before that of a judge that could not either.
func sayWhyOpen(c *chosen, v *rule.RuleVerdict) {
	if v.DecidedBy == rule.ByNone && c.ran && c.outcome.Result == check.Undecided {
		v.IssueDescription = undecidedCheck
		v.Reasoning = "The check left the rule to the judge: " + c.outcome.Reason + ". " + v.Reasoning
	}
}

// join takes the verdicts and accounts of a question into the run. A verdict without an account gives no ALLOW.
func (q *question) join(r *run) {
	place := make(map[string]int, len(q.places))
	for _, at := range q.places {
		place[r.sel.chosen[at].Rule.ID] = at
		r.answer.RuleVerdicts[at].Reasoning = "The judge gave no answer for this rule."
		sayWhyOpen(&r.sel.chosen[at], &r.answer.RuleVerdicts[at])
	}
	for i, v := range q.result.Verdicts {
		at, ok := place[v.RuleID]
		if !ok {
			continue
		}
		verdict := blank(r.sel.chosen[at].Rule)
		verdict.DecidedBy, verdict.Confidence = v.DecidedBy, v.Confidence
		verdict.Reasoning, verdict.IssueDescription, verdict.FixSuggestion = v.Reasoning, v.IssueDescription, v.FixSuggestion
		verdict.Locations, verdict.Evidence = orEmpty(v.Locations), orEmpty(v.Evidence)
		verdict.Unexamined = v.Unexamined
		var account ledger.Account
		if i < len(q.result.Accounts) {
			account = q.result.Accounts[i].Over(r.whole.units.Units, q.part.numbers)
		}
		account.Decide(ledger.FindingOf(v.Verdict, v.DecidedBy), &verdict)
		sayWhyOpen(&r.sel.chosen[at], &verdict)
		r.answer.RuleVerdicts[at], r.accounts[at] = verdict, account
	}
}
