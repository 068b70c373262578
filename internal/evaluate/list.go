package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// limitQuestions leaves max_rules of the rules that only the judge can decide, those first that decide something, and of these those
// that triage has named. The others are not asked about, which forbids an ALLOW.
func (r *run) limitQuestions(context.Context) error {
	if len(r.open) <= r.req.MaxRules {
		return nil
	}
	slices.SortStableFunc(r.open, func(a, b int) int { return lateness(r, a) - lateness(r, b) })
	r.open, r.sel.notAsked = r.open[:r.req.MaxRules], r.open[r.req.MaxRules:]
	slices.Sort(r.open)
	slices.Sort(r.sel.notAsked)
	return nil
}

// lateness orders open rules: those that triage has named, those that it has not, and those that decide nothing.
func lateness(r *run, at int) int {
	late := 0
	if c := &r.sel.chosen[at]; c.Rule.Enforcement == rule.Shadow {
		late = 2
	}
	if r.triage.outcomes[r.sel.chosen[at].Rule.ID] != wire.TriageKept {
		late++
	}
	return late
}

// notAskedNotice names the rules that nobody was asked about, and says why triage has not ruled them out; empty without any.
func notAskedNotice(sel *selection, triage string) string {
	const most = 10
	rules := sel.notAsked
	if len(rules) == 0 {
		return ""
	}
	var names []string
	for _, at := range rules[:min(len(rules), most)] {
		names = append(names, cmp.Or(sel.chosen[at].Rule.Slug, sel.chosen[at].Rule.ID))
	}
	if more := len(rules) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	notice := fmt.Sprintf("%s that only a model can decide, beyond max_rules, not asked about: %s. The overall verdict is therefore not ALLOW.",
		text.Plural(len(rules), "rule"), strings.Join(names, ", "))
	if triage != "" {
		notice += " Triage could not find out which of the rules concern the subject: " + triage + "."
	}
	return notice
}

// aside is a rule that its check clears or that triage has ruled out, and that the answer may not list.
type aside struct {
	*chosen

	finding ledger.Finding
	triage  *ledger.Account // of a rule that triage has ruled out
}

// setAside takes the rules that their checks clear out of the chosen ones if the answer cannot list all, so that verdicts are made
// only for those that it lists.
func setAside(r *run) {
	all := r.sel.chosen
	if r.listAll || r.raw || r.recordedVerdict != nil || r.subject.Empty() || len(all) <= r.req.MaxRules {
		return
	}
	r.room.aside, r.room.listed = slices.Grow(r.room.aside[:0], len(all)), slices.Grow(r.room.listed[:0], r.req.MaxRules)
	r.sel.aside, r.sel.chosen = r.room.aside, r.room.listed
	for i := range all {
		if finding, ok := cleared(r, &all[i]); ok {
			r.sel.aside = append(r.sel.aside, aside{&all[i], finding, nil})
		} else {
			r.sel.chosen = append(r.sel.chosen, all[i])
		}
	}
}

// cleared reports whether the check of a rule alone gives an ALLOW, and by which finding.
func cleared(r *run, c *chosen) (ledger.Finding, bool) {
	if !c.ran {
		return ledger.Open, false
	}
	finding, out, p := findings[c.outcome.Result], &c.outcome, r.part(c.Entry)
	if p.subject.Empty() {
		finding, out = ledger.NotConcerned, &noFile
	}
	if finding != ledger.NotConcerned && c.Rule.Check.Decides == rule.DenyOnly {
		return finding, false
	}
	a := accountOf(p, out)
	return finding, a.Earns(finding)
}

// accountsOfAside returns the accounts of the rules that were set aside, those with the same units once.
func accountsOfAside(r *run) (list []ledger.Account) {
	type key struct {
		part   *part
		about  *ledger.Set
		triage *ledger.Account
	}
	seen := map[key]bool{}
	for i := range r.sel.aside {
		c := r.sel.aside[i].chosen
		p := r.part(c.Entry)
		k := key{p, c.outcome.About, r.sel.aside[i].triage}
		if k.triage != nil {
			k.about = nil
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		if k.triage != nil {
			list = append(list, *k.triage)
			continue
		}
		a := accountOf(p, &c.outcome)
		if p != &r.whole {
			a = a.Over(r.whole.units.Units, p.numbers)
		}
		list = append(list, a)
	}
	return list
}

// listAside fills the list with verdicts of rules that were set aside: those that are kept, then those not concerned, then
// those that triage has ruled out.
func listAside(r *run) {
	if len(r.sel.aside) == 0 {
		return
	}
	room := max(0, r.req.MaxRules-len(r.answer.RuleVerdicts))
	r.answer.RuleVerdicts = slices.Grow(r.answer.RuleVerdicts, room)
	r.sel.chosen, r.accounts = slices.Grow(r.sel.chosen, room), slices.Grow(r.accounts, room)
	for _, finding := range []ledger.Finding{ledger.Kept, ledger.NotConcerned, ledger.RuledOut} {
		for i := range r.sel.aside {
			if len(r.answer.RuleVerdicts) >= r.req.MaxRules {
				return
			}
			if found := &r.sel.aside[i]; found.finding == finding {
				var v rule.RuleVerdict
				var a ledger.Account
				if found.triage != nil {
					v, a = ruledOut(found.chosen, found.triage), *found.triage
				} else {
					v, a, _ = r.byCheck(found.chosen)
				}
				r.sel.chosen, r.accounts = append(r.sel.chosen, *found.chosen), append(r.accounts, a)
				r.answer.RuleVerdicts = append(r.answer.RuleVerdicts, v)
				r.final(len(r.answer.RuleVerdicts) - 1)
			}
		}
	}
}

// listWorst leaves in the answer the verdicts of rules that were asked about: if there are more than max_rules, the worst of them: each
// group by severity, and within that in the order of its rank.
func listWorst(r *run) {
	verdicts := r.answer.RuleVerdicts
	order := make([]int, 0, len(verdicts))
	for at := range verdicts {
		if _, skip := slices.BinarySearch(r.sel.notAsked, at); !skip {
			order = append(order, at)
		}
	}
	total := len(order) + len(r.sel.aside)
	var beyond []int
	if len(order) > r.req.MaxRules && !r.listAll {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(goodness(&verdicts[a])-goodness(&verdicts[b]), verdicts[b].Severity.Rank()-verdicts[a].Severity.Rank())
		})
		order, beyond = order[:r.req.MaxRules], order[r.req.MaxRules:]
	} else if len(order) == len(verdicts) {
		listAside(r)
		r.answer.Coverage.RulesUnlisted = total - len(r.answer.RuleVerdicts)
		return
	}
	listed, chosen, accounts := make([]rule.RuleVerdict, len(order)), make([]chosen, len(order)), make([]ledger.Account, len(order))
	for i, at := range order {
		listed[i], chosen[i], accounts[i] = verdicts[at], r.sel.chosen[at], r.accounts[at]
	}
	denied, unsure := 0, 0
	for _, at := range beyond {
		switch v := &verdicts[at]; {
		case goodness(v) == 0:
			denied++
		case goodness(v) == 1:
			unsure++
		}
	}
	r.answer.Coverage.RulesUnlistedBroken = denied
	if denied+unsure > 0 {
		r.answer.Notices = append(r.answer.Notices, fmt.Sprintf("Beyond max_rules, %s broken and %s to be confirmed are not listed.",
			text.Plural(denied, "more rule"), text.Plural(unsure, "more rule")))
	}
	r.answer.RuleVerdicts, r.sel.chosen, r.accounts = listed, chosen, accounts
	listAside(r)
	r.answer.Coverage.RulesUnlisted = total - len(r.answer.RuleVerdicts)
}

// goodness orders verdicts for the list: what denies, what needs confirmation, what counts for nothing, what is kept, what is not
// concerned.
func goodness(v *rule.RuleVerdict) int {
	switch {
	case v.Verdict == rule.Deny && v.Counts():
		return 0
	case v.Verdict != rule.Allow && v.Counts():
		return 1
	case v.Verdict != rule.Allow:
		return 2
	case v.Concerned:
		return 3
	}
	return 4
}
