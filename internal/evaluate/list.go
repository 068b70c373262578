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
)

// limitQuestions leaves max_rules of the rules that only the judge can decide, those first that decide something. The others are
// not asked about, which forbids an ALLOW.
func (r *run) limitQuestions(context.Context) error {
	if len(r.open) <= r.req.MaxRules {
		return nil
	}
	slices.SortStableFunc(r.open, func(a, b int) int { return shadowLast(&r.sel.chosen[a]) - shadowLast(&r.sel.chosen[b]) })
	r.open, r.sel.notAsked = r.open[:r.req.MaxRules], r.open[r.req.MaxRules:]
	slices.Sort(r.open)
	slices.Sort(r.sel.notAsked)
	return nil
}

// shadowLast orders rules that decide nothing after the others.
func shadowLast(c *chosen) int {
	if c.Rule.Enforcement == rule.Shadow {
		return 1
	}
	return 0
}

// notAskedNotice names the rules that nobody was asked about; empty without any.
func notAskedNotice(sel *selection) string {
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
	return fmt.Sprintf("%s that only a model can decide, beyond max_rules, not asked about: %s. The overall verdict is therefore not ALLOW.",
		text.Plural(len(rules), "rule"), strings.Join(names, ", "))
}

// aside is a rule that its check clears, and that the answer may not list.
type aside struct {
	chosen

	finding ledger.Finding
	account ledger.Account // over the whole subject
}

// setAside takes the rules that their checks clear out of the chosen ones if the answer cannot list all, so that verdicts are made
// only for those that it lists.
func setAside(r *run) {
	if r.listAll || r.raw || r.recordedVerdict != nil || r.subject.Empty() || len(r.sel.chosen) <= r.req.MaxRules {
		return
	}
	rest := r.sel.chosen[:0]
	for i := range r.sel.chosen {
		c := &r.sel.chosen[i]
		finding, out, p := findings[c.outcome.Result], &c.outcome, r.part(c.Entry)
		if p.subject.Empty() {
			finding, out = ledger.NotConcerned, &noFile
		}
		if c.ran && (finding == ledger.NotConcerned || c.Rule.Check.Decides != rule.DenyOnly) {
			if a := accountOf(p, out); a.Earns(finding) {
				if p != &r.whole {
					a = a.Over(r.whole.units.Units, p.numbers)
				}
				r.sel.aside = append(r.sel.aside, aside{*c, finding, a})
				continue
			}
		}
		rest = append(rest, *c)
	}
	r.sel.chosen = rest
}

// listAside fills the list with verdicts of rules that were set aside: those that are kept, then those not concerned.
func listAside(r *run) {
	for _, finding := range []ledger.Finding{ledger.Kept, ledger.NotConcerned} {
		for i := range r.sel.aside {
			if len(r.answer.RuleVerdicts) >= r.req.MaxRules {
				return
			}
			if found := &r.sel.aside[i]; found.finding == finding {
				v, a, _ := r.byCheck(&found.chosen)
				r.sel.chosen, r.accounts = append(r.sel.chosen, found.chosen), append(r.accounts, a)
				r.answer.RuleVerdicts = append(r.answer.RuleVerdicts, v)
				r.final(len(r.answer.RuleVerdicts) - 1)
			}
		}
	}
}

// listWorst leaves in the answer the verdicts of rules that were asked about: if there are more than max_rules, the worst of them, each
// group in the order of its rank.
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
		slices.SortStableFunc(order, func(a, b int) int { return goodness(&verdicts[a]) - goodness(&verdicts[b]) })
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
