package evaluate

import (
	"context"
	"slices"

	"tenet/internal/judge"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// triage holds the findings of triage about the open rules of a run. The zero value found nothing.
type triage struct {
	judge.Triaged

	// rules are those of the record that is decided again; nil for a new evaluation.
	rules []*rule.Rule
	// outcomes are by the id of the rule.
	outcomes map[string]wire.TriageOutcome
	record   *wire.RecordedTriage
}

// findConcerned lets triage find out which of the open rules could concern the subject, if they are more than the judge may be asked
// about. Those that it rules out are decided; the others stay open.
func (r *run) findConcerned(ctx context.Context) error {
	t := &r.triage
	rules := t.rules
	if r.before == nil && len(r.open) > r.req.MaxRules {
		rules = showable(r)
	}
	if len(rules) == 0 || r.raw || r.subject.Empty() {
		return nil
	}
	t.Triaged = r.judge.Triage(ownVerdicts(ctx, r), r.subject, rules)
	t.outcomes = make(map[string]wire.TriageOutcome, len(rules))
	for i, outcome := range t.Outcomes {
		t.outcomes[rules[i].ID] = outcome
	}
	spent(r, t.Cost, t.Models, t.Redacted)
	r.calls = append(r.calls, t.Calls...)
	if len(t.Calls)+len(t.Reused) > 0 && r.before == nil {
		t.record = &wire.RecordedTriage{Rules: make([]wire.TriagedRule, 0, len(rules)), Reused: t.Reused}
		for _, at := range r.open {
			c := &r.sel.chosen[at]
			if outcome, ok := t.outcomes[c.Rule.ID]; ok {
				t.record.Rules = append(t.record.Rules, wire.TriagedRule{RuleID: c.Rule.ID, Version: c.Rule.Version, ContentHash: c.ContentHash(), Outcome: outcome})
			}
		}
	}
	takeTriage(r)
	return nil
}

// showable lists the open rules that triage may rule out: those of which a model can be shown all that they are about, and that
// silence no other rule. A rule that does not concern the subject overrides nothing, and the silenced rule is not there any more.
func showable(r *run) []*rule.Rule {
	rules := make([]*rule.Rule, 0, len(r.open))
	parts := map[*part]bool{}
	for _, at := range r.open {
		c := &r.sel.chosen[at]
		if r.sel.silencers[c.Rule.ID] {
			continue
		}
		p := r.part(c.Entry)
		shows, ok := parts[p]
		if !ok {
			a := aboutAll(&r.whole, p)
			a.Examined(rule.ByTriage, r.whole.units.All())
			shows = a.Earns(ledger.RuledOut)
			parts[p] = shows
		}
		if shows {
			rules = append(rules, c.Rule)
		}
	}
	return rules
}

// aboutAll returns an account, over the units of the whole subject, of a rule that is about all of a part.
func aboutAll(whole, p *part) ledger.Account {
	a := ledger.NewAccount(p.units.Units, nil)
	return a.Over(whole.units.Units, p.numbers)
}

// takeTriage decides the open rules that triage has ruled out. It sets them aside, so that the answer lists what was judged first;
// where all are listed, or an answer is decided again, they stay at their places.
func takeTriage(r *run) {
	accounts := map[*part]*ledger.Account{}
	out := map[int]*ledger.Account{}
	for _, at := range r.open {
		c := &r.sel.chosen[at]
		if r.triage.outcomes[c.Rule.ID] != wire.TriageRuledOut {
			continue
		}
		p := r.part(c.Entry)
		if accounts[p] == nil {
			all := aboutAll(&r.whole, p)
			a := r.triage.Account(r.whole.units.Units, all.About())
			accounts[p] = &a
		}
		if accounts[p].Earns(ledger.RuledOut) {
			out[at] = accounts[p]
		}
	}
	r.sel.triagedOut = len(out)
	if len(out) == 0 {
		return
	}
	if r.listAll || r.before != nil {
		for _, at := range r.open {
			if a := out[at]; a != nil {
				r.answer.RuleVerdicts[at], r.accounts[at] = ruledOut(&r.sel.chosen[at], a), *a
				r.final(at)
			}
		}
		r.open = slices.DeleteFunc(r.open, func(at int) bool { return out[at] != nil })
		return
	}
	places := make([]int, len(r.sel.chosen)) // of the rules that stay
	all, verdicts, old := r.sel.chosen, r.answer.RuleVerdicts, r.accounts
	r.sel.chosen, r.answer.RuleVerdicts, r.accounts = nil, nil, nil
	for at := range all {
		if a := out[at]; a != nil {
			r.sel.aside = append(r.sel.aside, aside{&all[at], ledger.RuledOut, a})
			continue
		}
		places[at] = len(r.sel.chosen)
		r.sel.chosen, r.answer.RuleVerdicts, r.accounts = append(r.sel.chosen, all[at]), append(r.answer.RuleVerdicts, verdicts[at]), append(r.accounts, old[at])
	}
	open := r.open
	r.open = nil
	for _, at := range open {
		if out[at] == nil {
			r.open = append(r.open, places[at])
		}
	}
}

// ruledOutReason is the reasoning of verdicts by triage.
const ruledOutReason = "The rule does not concern this subject: a model was shown the rule with all of the subject, and did not name it among those that could."

// ruledOut is the verdict of a rule that triage has ruled out.
func ruledOut(c *chosen, a *ledger.Account) rule.RuleVerdict {
	v := blank(c.Rule)
	v.DecidedBy, v.Confidence, v.Reasoning = rule.ByTriage, judge.OneLook, ruledOutReason
	a.Decide(ledger.RuledOut, &v)
	return v
}

// spent adds what was asked of models to the answer.
func spent(r *run, cost rule.Cost, models []string, redacted int) {
	r.answer.Cost.Add(cost)
	for _, model := range models {
		if !slices.Contains(r.answer.ModelIDsUsed, model) {
			r.answer.ModelIDsUsed = append(r.answer.ModelIDsUsed, model)
		}
	}
	r.redacted = max(r.redacted, redacted)
}

// recordedTriage returns the rules that the triage of a record was about, as they were. It is nil without one, and for one whose
// rules are not all there any more: then the verdicts that it gave cannot be replayed, which lost notes.
func recordedTriage(ctx context.Context, rules store.RuleReader, rec *wire.EvaluationRecord, lost map[string]string) ([]*rule.Rule, error) {
	if rec.Triage == nil {
		return nil, nil
	}
	list := make([]*rule.Rule, 0, len(rec.Triage.Rules))
	for i := range rec.Triage.Rules {
		want := &rec.Triage.Rules[i]
		r, err := rules.Version(ctx, rec.Evaluation.ProjectID, want.RuleID, want.Version)
		if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
			return nil, err
		}
		if err != nil || r.ContentHash() != want.ContentHash {
			for k := range rec.Evaluation.RuleVerdicts {
				if v := &rec.Evaluation.RuleVerdicts[k]; v.DecidedBy == rule.ByTriage {
					lost[v.RuleID] = "a rule of the triage that ruled it out is not there any more"
				}
			}
			return nil, nil
		}
		list = append(list, &r)
	}
	return list, nil
}
