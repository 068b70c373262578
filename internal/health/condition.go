package health

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// conditions finds the rules that need an alert, and those whose alert is over.
type conditions struct {
	store    Store
	views    corpus.Views
	alerts   *Alerts
	settings Settings
	now      func() time.Time
	denials  Denials
	log      *slog.Logger
}

// found is the state of one condition over a project.
type found struct {
	projectID string
	kind      rule.AlertType
	hold      []rule.Alert // the alerts of rules for which the condition holds
	ended     []ended      // the rules with an open alert for which it does not
	// still returns those alerts of hold whose condition holds in a transaction, too; nil needs no check.
	still func(ctx context.Context, tx store.Tx, hold []rule.Alert) ([]rule.Alert, error)
}

type ended struct{ ruleID, note string }

// sweep raises the alerts of a project whose conditions hold and resolves those whose conditions have ended. It changes
// nothing that is right already, so an interrupted sweep may run again.
func (c *conditions) sweep(ctx context.Context, projectID string) error {
	for _, find := range []func(context.Context, string) (found, error){c.dormant, c.highDenyRates, c.declines} {
		f, err := find(ctx, projectID)
		if err != nil {
			return err
		}
		if err := c.apply(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// alertBatch is how many alerts one transaction changes, so that nobody waits long for the database.
const alertBatch = 200

// apply raises and settles alerts.
func (c *conditions) apply(ctx context.Context, f found) error {
	quiet, err := c.quiet(ctx, f)
	if err != nil {
		return err
	}
	hold := slices.DeleteFunc(f.hold, func(a rule.Alert) bool { return quiet[a.RuleID] })
	c.name(ctx, hold)
	for batch := range slices.Chunk(hold, alertBatch) {
		err := c.store.Update(ctx, func(tx store.Tx) (err error) {
			hold := batch
			if f.still != nil {
				if hold, err = f.still(ctx, tx, batch); err != nil {
					return err
				}
			}
			return c.raise(ctx, tx, hold)
		})
		if err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(f.ended, alertBatch) {
		err := c.store.Update(ctx, func(tx store.Tx) error {
			for _, e := range batch {
				if err := c.alerts.Settle(ctx, tx, f.projectID, f.kind, e.ruleID, e.note); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conditions) raise(ctx context.Context, tx store.Tx, list []rule.Alert) error {
	for _, a := range list {
		if err := c.alerts.Raise(ctx, tx, a); err != nil {
			return err
		}
	}
	return nil
}

// quiet returns the rules for which the condition raises no alert now: one is open, or a person has lately resolved one.
func (c *conditions) quiet(ctx context.Context, f found) (map[string]bool, error) {
	quiet := map[string]bool{}
	if len(f.hold) == 0 {
		return quiet, nil
	}
	open, err := c.store.Alerts.ListOpen(ctx, f.projectID, f.kind, nil)
	if err != nil {
		return nil, err
	}
	for i := range open {
		quiet[open[i].RuleID] = true
	}
	resolved, err := c.store.Alerts.ResolvedRules(ctx, f.projectID, f.kind, c.quietSince(), System)
	for _, id := range resolved {
		quiet[id] = true
	}
	return quiet, err
}

func (c *conditions) quietSince() time.Time { return c.alerts.instant().Add(-c.settings.Quiet) }

// idleRule is a rule in force that has had no verdict for too long.
type idleRule struct {
	*rule.Rule
	last *time.Time // its last verdict; nil without one
	days int        // since then, or since it was last changed or came into force
}

// idle returns the dormant rules of a project. It is not complete, and empty, where records of the time in question are gone.
func (c *conditions) idle(ctx context.Context, projectID string, view *corpus.View) (list []idleRule, complete bool, err error) {
	after, now := c.settings.DormantAfter, rule.Instant(c.now())
	mark, err := c.store.Counts.Mark(ctx, projectID)
	if err != nil || mark.BlindUntil != nil && now.Sub(*mark.BlindUntil) < after {
		return nil, false, err
	}
	activity, err := c.store.Counts.LastVerdicts(ctx, projectID, nil)
	if err != nil {
		return nil, false, err
	}
	for e := range view.All() {
		if last := lastVerdict(activity, e.Rule.ID); e.Rule.Dormant(last, after, now) {
			list = append(list, idleRule{e.Rule, last, int(now.Sub(e.Rule.IdleSince(last)) / day)})
		}
	}
	return list, true, nil
}

func lastVerdict(activity map[string]time.Time, ruleID string) *time.Time {
	if at, ok := activity[ruleID]; ok {
		return &at
	}
	return nil
}

// dormant finds the rules that have had no verdict for too long.
func (c *conditions) dormant(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.DormantRule, still: c.stillDormant}
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	idle, complete, err := c.idle(ctx, projectID, view)
	if err != nil || !complete {
		return f, err
	}
	for _, r := range idle {
		message := fmt.Sprintf("Rule %s has not been evaluated for %d days.", r.Label(), r.days)
		if r.last == nil {
			message = fmt.Sprintf("Rule %s has never been evaluated in the %d days since it was last changed or began to hold.", r.Label(), r.days)
		}
		f.hold = append(f.hold, rule.Alert{
			ProjectID: projectID, Type: f.kind, RuleID: r.ID, Message: message,
			Metadata: map[string]any{"period_days": int(c.settings.DormantAfter / day), "idle_days": r.days, "last_evaluated_at": r.last},
		})
	}
	open, err := c.store.Alerts.ListOpen(ctx, projectID, f.kind, nil)
	f.end(open, "The rule has been evaluated or changed since, or is not in force any more.")
	return f, err
}

// end adds to ended the open alerts of rules for which the condition does not hold.
func (f *found) end(open []rule.Alert, note string) {
	holds := make(map[string]bool, len(f.hold))
	for i := range f.hold {
		holds[f.hold[i].RuleID] = true
	}
	for i := range open {
		if !holds[open[i].RuleID] {
			f.ended = append(f.ended, ended{open[i].RuleID, note})
		}
	}
}

// stillDormant returns the alerts of rules that are dormant in tx, too: since the sweep looked, evaluations may have been
// counted and rules changed.
func (c *conditions) stillDormant(ctx context.Context, tx store.Tx, hold []rule.Alert) ([]rule.Alert, error) {
	ids := make([]string, len(hold))
	for i := range hold {
		ids[i] = hold[i].RuleID
	}
	activity, err := tx.Counts.LastVerdicts(ctx, hold[0].ProjectID, ids)
	if err != nil {
		return nil, err
	}
	rules, err := tx.Rules.GetMany(ctx, hold[0].ProjectID, ids)
	if err != nil {
		return nil, err
	}
	var still []rule.Alert
	for i := range hold {
		r, ok := rules[hold[i].RuleID]
		if ok && r.Dormant(lastVerdict(activity, r.ID), c.settings.DormantAfter, c.now()) {
			still = append(still, hold[i])
		}
	}
	return still, nil
}

// highDenyRates finds the rules whose verdicts are DENY too often.
func (c *conditions) highDenyRates(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.HighDenyRate}
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	// The open ones first: a rate that becomes high after the counts are read has not ended.
	open, err := c.store.Alerts.ListOpen(ctx, projectID, f.kind, nil)
	if err != nil {
		return f, err
	}
	counts, err := c.store.Counts.Rules(ctx, c.window(projectID, nil))
	if err != nil {
		return f, err
	}
	for i := range counts {
		n := &counts[i]
		if e, ok := view.Get(n.RuleID); ok && c.high(n) && e.Rule.InForce(c.now()) {
			f.hold = append(f.hold, c.denyAlert(e.Rule, n))
		}
	}
	f.end(open, fmt.Sprintf("Over the last %d days the rate is not above %g any more, or is of fewer than %d verdicts, or the rule is not in force.",
		c.settings.DenyWindow, c.settings.DenyRate, c.settings.DenyMin))
	return f, nil
}

// window selects the counts of deny rates.
func (c *conditions) window(projectID string, ruleIDs []string) store.RuleCountFilter {
	return store.RuleCountFilter{
		ProjectID: projectID, RuleIDs: ruleIDs, From: store.DayOf(c.now()) - store.Day(c.settings.DenyWindow-1), Min: c.settings.DenyMin,
	}
}

func (c *conditions) high(n *store.RuleCount) bool {
	return n.Verdicts() >= int64(c.settings.DenyMin) && float64(n.Denied) > c.settings.DenyRate*float64(n.Verdicts())
}

func (c *conditions) denyAlert(r *rule.Rule, n *store.RuleCount) rule.Alert {
	rate := math.Round(float64(n.Denied)/float64(n.Verdicts())*10_000) / 10_000
	return rule.Alert{
		ProjectID: r.ProjectID, Type: rule.HighDenyRate, RuleID: r.ID,
		Message: fmt.Sprintf("Rule %s has denied %d of %d evaluations (%.1f %%) in the last %d days.", r.Label(), n.Denied, n.Verdicts(), 100*rate,
			c.settings.DenyWindow),
		Metadata: map[string]any{"deny_rate": rate, "evaluation_count": n.Verdicts(), "period_days": c.settings.DenyWindow},
	}
}

// counted raises alerts of high deny rates and settles those of dormant rules, of the rules whose verdicts tx counts. acted
// names who asked for the denials of a rule. The next sweep does the rest.
func (c *conditions) counted(ctx context.Context, tx store.Tx, projectID string, ruleIDs []string, acted map[string][]rule.ActedBy) error {
	counts, err := tx.Counts.Rules(ctx, c.window(projectID, ruleIDs))
	if err != nil {
		return err
	}
	var hold []rule.Alert
	for i := range counts {
		if !c.high(&counts[i]) {
			continue
		}
		r, err := tx.Rules.Get(ctx, projectID, counts[i].RuleID)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if r.InForce(c.now()) {
			a := c.denyAlert(&r, &counts[i])
			a.Acted = acted[r.ID]
			hold = append(hold, a)
		}
	}
	if len(hold) > 0 {
		resolved, err := tx.Alerts.ResolvedRules(ctx, projectID, rule.HighDenyRate, c.quietSince(), System)
		if err != nil {
			return err
		}
		hold = slices.DeleteFunc(hold, func(a rule.Alert) bool {
			_, lately := slices.BinarySearch(resolved, a.RuleID)
			return lately
		})
		if err := c.raise(ctx, tx, hold); err != nil {
			return err
		}
	}
	return c.wake(ctx, tx, projectID, ruleIDs)
}

// wake settles the alerts of rules that are dormant no more.
func (c *conditions) wake(ctx context.Context, tx store.Tx, projectID string, ruleIDs []string) error {
	open, err := tx.Alerts.ListOpen(ctx, projectID, rule.DormantRule, ruleIDs)
	if err != nil || len(open) == 0 {
		return err
	}
	activity, err := tx.Counts.LastVerdicts(ctx, projectID, ruleIDs)
	if err != nil {
		return err
	}
	for i := range open {
		last := lastVerdict(activity, open[i].RuleID)
		if last == nil || c.now().Sub(*last) >= c.settings.DormantAfter {
			continue
		}
		if err := c.alerts.Settle(ctx, tx, projectID, rule.DormantRule, open[i].RuleID, "The rule has been evaluated."); err != nil {
			return err
		}
	}
	return nil
}

// declines finds the rules whose score was much higher before it last changed.
func (c *conditions) declines(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.HealthDecline}
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	scores, err := c.store.Health.Scores(ctx, projectID, nil)
	if err != nil {
		return f, err
	}
	now := map[string]int{}
	for _, s := range scores {
		e, ok := view.Get(s.RuleID)
		if !ok || ceased(e.Rule) {
			continue
		}
		now[s.RuleID] = s.Score
		if s.Before == nil || *s.Before-s.Score < c.settings.HealthDrop {
			continue
		}
		// A score that stays low raises one alert.
		last, _, err := c.store.Alerts.Find(ctx, store.AlertFilter{ProjectID: projectID, Type: f.kind, RuleID: s.RuleID, Limit: 1})
		if err != nil {
			return f, err
		}
		if len(last) == 0 || store.DayOf(last[0].CreatedAt) < s.Day {
			f.hold = append(f.hold, declineAlert(e.Rule, s))
		}
	}
	open, err := c.store.Alerts.ListOpen(ctx, projectID, f.kind, nil)
	for i := range open {
		a := &open[i]
		before, numeric := a.Metadata["previous_score"].(float64) // as JSON has it
		score, measured := now[a.RuleID]
		if !measured || numeric && score > int(before)-c.settings.HealthDrop {
			f.ended = append(f.ended, ended{a.RuleID, "The score has recovered, or the rule has been retired."})
		}
	}
	return f, err
}

func declineAlert(r *rule.Rule, s store.HealthScore) rule.Alert {
	return rule.Alert{
		ProjectID: r.ProjectID, Type: rule.HealthDecline, RuleID: r.ID,
		Message:  fmt.Sprintf("The health score of rule %s has fallen from %d to %d.", r.Label(), *s.Before, s.Score),
		Metadata: map[string]any{"score": s.Score, "previous_score": *s.Before, "drop": *s.Before - s.Score},
	}
}

// ceased reports whether a rule is retired or superseded.
func ceased(r *rule.Rule) bool { return r.Status == rule.Retired || r.Status == rule.Superseded }
