package alert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// SweepKind is the kind of the jobs that look for the conditions of alerts; [Alerts.HandleSweep] is their handler.
const SweepKind = "alerts.sweep"

// Periodic is the round of sweeps. Over all nodes one runs at a time.
func Periodic() job.Periodic {
	return job.Periodic{Kind: SweepKind, Every: time.Hour, MaxAttempts: 3, Priority: job.Last}
}

// HandleSweep sweeps all projects. One project's fault does not keep others from it.
func (b *Alerts) HandleSweep(ctx context.Context, _ job.Job, progress func(done, total int)) error {
	projects, err := b.cfg.Store.Projects(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(projects))
	for i, p := range projects {
		errs = append(errs, b.Sweep(ctx, p.ID))
		progress(i+1, len(projects))
	}
	return errors.Join(errs...)
}

// Sweep raises the alerts of a project whose conditions hold and settles those whose conditions have ended. What is already
// as it should be is left alone, so it bears being interrupted and run again.
func (b *Alerts) Sweep(ctx context.Context, projectID string) error {
	if b.cfg.CatchUp != nil {
		if err := b.cfg.CatchUp(ctx, projectID); err != nil {
			return err
		}
	}
	for _, find := range []func(context.Context, string) (found, error){b.dormant, b.highDenyRates, b.declines} {
		f, err := find(ctx, projectID)
		if err != nil {
			return err
		}
		if err := b.apply(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// found is what a sweep has found out about one condition.
type found struct {
	projectID string
	kind      rule.AlertType
	hold      []rule.Alert // where it holds
	ended     []ended      // where it does not
	// still gives those of hold where it holds in a transaction, too; nil if that needs no look.
	still func(ctx context.Context, tx store.Tx, hold []rule.Alert) ([]rule.Alert, error)
}

type ended struct{ ruleID, note string }

// some is how many alerts one transaction changes, so that nobody waits long for the database.
const some = 200

// apply raises and settles.
func (b *Alerts) apply(ctx context.Context, f found) error {
	quiet, err := b.quiet(ctx, f)
	if err != nil {
		return err
	}
	f.hold = slices.DeleteFunc(f.hold, func(a rule.Alert) bool { return quiet[a.RuleID] })
	for part := range slices.Chunk(f.hold, some) {
		err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
			hold := part
			if f.still != nil {
				var err error
				if hold, err = f.still(ctx, tx, part); err != nil {
					return err
				}
			}
			for _, a := range hold {
				if err := b.Raise(ctx, tx, a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(f.ended, some) {
		err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
			for _, e := range part {
				if err := b.Settle(ctx, tx, f.projectID, f.kind, e.ruleID, e.note); err != nil {
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

// quiet are the rules about which the condition is not told now: its alert is open, or somebody has resolved it lately.
func (b *Alerts) quiet(ctx context.Context, f found) (map[string]bool, error) {
	quiet := map[string]bool{}
	if len(f.hold) == 0 {
		return quiet, nil
	}
	open, err := b.cfg.Store.OpenAlerts(ctx, f.projectID, f.kind, nil)
	if err != nil {
		return nil, err
	}
	for i := range open {
		quiet[open[i].RuleID] = true
	}
	resolved, err := b.cfg.Store.ResolvedAlerts(ctx, f.projectID, f.kind, b.instant().Add(-b.cfg.Settings.Quiet), System)
	for _, id := range resolved {
		quiet[id] = true
	}
	return quiet, err
}

const day = 24 * time.Hour

// dormant finds rules that have had no verdict for too long.
func (b *Alerts) dormant(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.DormantRule, still: b.asleep}
	after, now := b.cfg.Settings.DormantAfter, b.instant()
	mark, err := b.cfg.Store.CountMark(ctx, projectID)
	if err != nil || mark.BlindUntil != nil && now.Sub(*mark.BlindUntil) < after {
		return f, err // what was recorded within the time is not all known
	}
	activity, err := b.cfg.Store.RuleActivity(ctx, projectID, nil)
	if err != nil {
		return f, err
	}
	view, err := b.cfg.Views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	holds := map[string]bool{}
	for e := range view.All() {
		var last *time.Time
		if at, ok := activity[e.Rule.ID]; ok {
			last = &at
		}
		if !e.Rule.Dormant(last, after, now) {
			continue
		}
		idle := int(now.Sub(e.Rule.IdleSince(last)) / day)
		metadata := map[string]any{"period_days": int(after / day), "idle_days": idle, "last_evaluated_at": last}
		message := fmt.Sprintf("Rule %s has not been evaluated for %d days.", name(e.Rule), idle)
		if last == nil {
			message = fmt.Sprintf("Rule %s has never been evaluated in the %d days since it was last changed or began to hold.", name(e.Rule), idle)
		}
		f.hold = append(f.hold, rule.Alert{ProjectID: projectID, Type: f.kind, RuleID: e.Rule.ID, Message: message, Metadata: metadata})
		holds[e.Rule.ID] = true
	}
	open, err := b.cfg.Store.OpenAlerts(ctx, projectID, f.kind, nil)
	for i := range open {
		if !holds[open[i].RuleID] {
			f.ended = append(f.ended, ended{open[i].RuleID, "The rule has been evaluated or changed since, or is not in force any more."})
		}
	}
	return f, err
}

// asleep gives the alerts of rules that are dormant still, though evaluations have been counted and rules changed since a sweep looked.
func (b *Alerts) asleep(ctx context.Context, tx store.Tx, hold []rule.Alert) ([]rule.Alert, error) {
	ids := make([]string, len(hold))
	for i := range hold {
		ids[i] = hold[i].RuleID
	}
	activity, err := tx.RuleActivity(ctx, hold[0].ProjectID, ids)
	if err != nil {
		return nil, err
	}
	rules, err := tx.Rules(ctx, hold[0].ProjectID, ids)
	if err != nil {
		return nil, err
	}
	var still []rule.Alert
	for i := range hold {
		r, ok := rules[hold[i].RuleID]
		var last *time.Time
		if at, counted := activity[r.ID]; counted {
			last = &at
		}
		if ok && r.Dormant(last, b.cfg.Settings.DormantAfter, b.instant()) {
			still = append(still, hold[i])
		}
	}
	return still, nil
}

// name is how a message names a rule.
func name(r *rule.Rule) string {
	if r.Slug != "" {
		return r.Slug
	}
	return r.ID
}

// highDenyRates finds rules whose verdicts are DENY too often.
func (b *Alerts) highDenyRates(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.HighDenyRate}
	view, err := b.cfg.Views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	// The open ones first: what becomes high after the counts are read is not taken for ended.
	open, err := b.cfg.Store.OpenAlerts(ctx, projectID, f.kind, nil)
	if err != nil {
		return f, err
	}
	counts, err := b.cfg.Store.RuleCounts(ctx, b.window(projectID, nil))
	if err != nil {
		return f, err
	}
	holds := map[string]bool{}
	for i := range counts {
		c := &counts[i]
		e, ok := view.Get(c.RuleID)
		if ok && b.high(c) && e.Rule.InForce(b.instant()) {
			f.hold = append(f.hold, b.denyAlert(e.Rule, c))
			holds[c.RuleID] = true
		}
	}
	for i := range open {
		if !holds[open[i].RuleID] {
			f.ended = append(f.ended, ended{open[i].RuleID, fmt.Sprintf(
				"Over the last %d days the rate is not above %g any more, or is of fewer than %d verdicts, or the rule is not in force.",
				b.cfg.Settings.DenyWindow, b.cfg.Settings.DenyRate, b.cfg.Settings.DenyMin)})
		}
	}
	return f, nil
}

// window selects the counts that rates are made from.
func (b *Alerts) window(projectID string, ruleIDs []string) store.RuleCountFilter {
	return store.RuleCountFilter{
		ProjectID: projectID, RuleIDs: ruleIDs, From: store.DayOf(b.instant()) - store.Day(b.cfg.Settings.DenyWindow-1), Min: b.cfg.Settings.DenyMin,
	}
}

func (b *Alerts) high(c *store.RuleCount) bool {
	return c.Verdicts() >= int64(b.cfg.Settings.DenyMin) && float64(c.Denied) > b.cfg.Settings.DenyRate*float64(c.Verdicts())
}

func (b *Alerts) denyAlert(r *rule.Rule, c *store.RuleCount) rule.Alert {
	rate := math.Round(float64(c.Denied)/float64(c.Verdicts())*10_000) / 10_000
	return rule.Alert{
		ProjectID: r.ProjectID, Type: rule.HighDenyRate, RuleID: r.ID,
		Message: fmt.Sprintf("Rule %s has denied %d of %d evaluations (%.1f %%) in the last %d days.", name(r), c.Denied, c.Verdicts(), 100*rate,
			b.cfg.Settings.DenyWindow),
		Metadata: map[string]any{"deny_rate": rate, "evaluation_count": c.Verdicts(), "period_days": b.cfg.Settings.DenyWindow},
	}
}

// Counted looks at rules that have just had verdicts, in the transaction that counts them: it raises alerts of high rates at
// once, and settles those of rules that were dormant. All else is left to the next sweep.
func (b *Alerts) Counted(ctx context.Context, tx store.Tx, projectID string, ruleIDs []string) error {
	counts, err := tx.RuleCounts(ctx, b.window(projectID, ruleIDs))
	if err != nil {
		return err
	}
	f := found{projectID: projectID, kind: rule.HighDenyRate}
	for i := range counts {
		if !b.high(&counts[i]) {
			continue
		}
		r, err := tx.Rule(ctx, projectID, counts[i].RuleID)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if r.InForce(b.instant()) {
			f.hold = append(f.hold, b.denyAlert(&r, &counts[i]))
		}
	}
	if err := b.raiseIn(ctx, tx, f); err != nil {
		return err
	}
	return b.awake(ctx, tx, projectID, ruleIDs)
}

// raiseIn raises inside a transaction what is not quiet.
func (b *Alerts) raiseIn(ctx context.Context, tx store.Tx, f found) error {
	if len(f.hold) == 0 {
		return nil
	}
	resolved, err := tx.ResolvedAlerts(ctx, f.projectID, f.kind, b.instant().Add(-b.cfg.Settings.Quiet), System)
	if err != nil {
		return err
	}
	for _, a := range f.hold {
		if _, lately := slices.BinarySearch(resolved, a.RuleID); lately {
			continue
		}
		if err := b.Raise(ctx, tx, a); err != nil {
			return err
		}
	}
	return nil
}

// awake settles the alerts of dormant rules that are dormant no more.
func (b *Alerts) awake(ctx context.Context, tx store.Tx, projectID string, ruleIDs []string) error {
	open, err := tx.OpenAlerts(ctx, projectID, rule.DormantRule, ruleIDs)
	if err != nil || len(open) == 0 {
		return err
	}
	activity, err := tx.RuleActivity(ctx, projectID, ruleIDs)
	if err != nil {
		return err
	}
	for i := range open {
		at, counted := activity[open[i].RuleID]
		if !counted || b.instant().Sub(at) >= b.cfg.Settings.DormantAfter {
			continue
		}
		if err := b.Settle(ctx, tx, projectID, rule.DormantRule, open[i].RuleID, "The rule has been evaluated."); err != nil {
			return err
		}
	}
	return nil
}

// declines finds rules whose score was much higher before it last changed.
func (b *Alerts) declines(ctx context.Context, projectID string) (found, error) {
	f := found{projectID: projectID, kind: rule.HealthDecline}
	view, err := b.cfg.Views.View(ctx, projectID)
	if err != nil {
		return f, err
	}
	scores, err := b.cfg.Store.HealthScores(ctx, projectID)
	if err != nil {
		return f, err
	}
	now := map[string]int{}
	for _, s := range scores {
		e, ok := view.Get(s.RuleID)
		if !ok || e.Rule.Status == rule.Retired || e.Rule.Status == rule.Superseded {
			continue
		}
		now[s.RuleID] = s.Score
		if s.Before == nil || *s.Before-s.Score < b.cfg.Settings.HealthDrop {
			continue
		}
		told, err := b.told(ctx, projectID, s)
		if err != nil {
			return f, err
		}
		if !told {
			f.hold = append(f.hold, declineAlert(e.Rule, s))
		}
	}
	open, err := b.cfg.Store.OpenAlerts(ctx, projectID, f.kind, nil)
	for i := range open {
		a := &open[i]
		before, known := a.Metadata["previous_score"].(float64) // as JSON has it
		score, measured := now[a.RuleID]
		if !measured || known && score > int(before)-b.cfg.Settings.HealthDrop {
			f.ended = append(f.ended, ended{a.RuleID, "The score has recovered, or the rule has been retired."})
		}
	}
	return f, err
}

// told reports whether an alert has told of the change of a score already. A score that stays low is told once.
func (b *Alerts) told(ctx context.Context, projectID string, s store.HealthScore) (bool, error) {
	last, _, err := b.cfg.Store.FindAlerts(ctx, store.AlertFilter{ProjectID: projectID, Type: rule.HealthDecline, RuleID: s.RuleID, Limit: 1})
	return len(last) > 0 && store.DayOf(last[0].CreatedAt) >= s.Day, err
}

func declineAlert(r *rule.Rule, s store.HealthScore) rule.Alert {
	return rule.Alert{
		ProjectID: r.ProjectID, Type: rule.HealthDecline, RuleID: r.ID,
		Message:  fmt.Sprintf("The health score of rule %s has fallen from %d to %d.", name(r), *s.Before, s.Score),
		Metadata: map[string]any{"score": s.Score, "previous_score": *s.Before, "drop": *s.Before - s.Score},
	}
}
