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

// heedMeanwhile has the answer follow the rules that are in force after a model was asked, which may take minutes. Rules that came into force
// or were changed meanwhile are decided by their checks; those that only a model can decide need confirmation. Policy and waivers are those of
// now. Rules that ended meanwhile keep their verdicts, so nothing makes an answer milder.
func heedMeanwhile(r *run) stage {
	return func(ctx context.Context) error {
		if len(r.open)+r.sel.triagedOut == 0 || r.recordedVerdict != nil || r.before != nil {
			return nil // without a model it is one moment, and what is decided again follows a record
		}
		return heed(ctx, r)
	}
}

func heed(ctx context.Context, r *run) error {
	now := newRun(ctx, r.e, r.req, r.e.cfg.Now())
	now.subject, now.whole, now.parts = r.subject, r.whole, r.parts
	if err := through(ctx, now.findPolicy, now.findRules, now.findNode, now.findWaivers, now.match, now.runChecks, now.silence); err != nil {
		return err
	}
	r.policy, r.view, r.snapshot, r.within, r.waiver, r.parts = now.policy, now.view, now.snapshot, now.within, now.waiver, now.parts
	r.answer.CorpusVersion, r.answer.SnapshotID = r.view.Version(), r.snapshot
	for i := range r.answer.RuleVerdicts {
		if v := &r.answer.RuleVerdicts[i]; v.Waiver != nil {
			v.Waiver = r.waiver(v)
		}
	}
	takeNew(r, now.sel.chosen)
	leaveRoom(now)
	return nil
}

// takeNew decides the rules among those in force that the run does not have, or has with another content.
func takeNew(r *run, inForce []chosen) {
	places := make(map[string]int, len(r.sel.chosen)) // of the rules of the run
	for i := range r.sel.chosen {
		places[r.sel.chosen[i].Rule.ID] = i
	}
	asides := make(map[string]string, len(r.sel.aside)) // content hashes by id
	for i := range r.sel.aside {
		asides[r.sel.aside[i].Rule.ID] = r.sel.aside[i].ContentHash()
	}
	var names []string
	for i := range inForce {
		c := inForce[i]
		at, had := places[c.Rule.ID]
		hash, wasAside := asides[c.Rule.ID]
		switch {
		case had && r.sel.chosen[at].ContentHash() == c.ContentHash(), wasAside && hash == c.ContentHash():
			continue
		case had:
			r.sel.chosen[at] = c
		default:
			at = len(r.sel.chosen)
			r.sel.chosen, r.accounts = append(r.sel.chosen, c), append(r.accounts, ledger.Account{})
			r.answer.RuleVerdicts = append(r.answer.RuleVerdicts, rule.RuleVerdict{})
			if wasAside {
				r.sel.aside = slices.DeleteFunc(r.sel.aside, func(a aside) bool { return a.Rule.ID == c.Rule.ID })
			} else {
				r.answer.Coverage.RulesInScope++
			}
		}
		r.sel.notAsked = slices.DeleteFunc(r.sel.notAsked, func(place int) bool { return place == at })
		if !takeCheck(r, at) {
			r.answer.RuleVerdicts[at].Reasoning = "The rule came into force, or was changed, while a model was asked about the other rules. Ask again."
		}
		r.final(at)
		names = append(names, cmp.Or(c.Rule.Slug, c.Rule.ID))
	}
	if count := len(names); count > 0 {
		const most = 10
		if more := count - most; more > 0 {
			names = append(names[:most], fmt.Sprintf("%d more", more))
		}
		r.answer.Notices = append(r.answer.Notices, fmt.Sprintf(
			"While a model was asked, %s came into force or changed: %s.", text.Plural(count, "rule"), strings.Join(names, ", ")))
	}
}
