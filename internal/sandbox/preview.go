package sandbox

import (
	"context"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Bounds of a replay of a rule that is not stored.
const (
	MaxReplays = 100 // recorded evaluations
	ReplayTime = 10 * time.Second
)

// Effects compares the verdicts of one rule on recorded evaluations; evaluate.Effects does.
type Effects interface {
	// Effect decides the latest limit evaluations of a project under two views that differ in one rule, and compares its verdicts. It asks
	// no model. When the time within has passed, the result is partial.
	Effect(ctx context.Context, projectID, ruleID string, before, after *corpus.View, limit int, within time.Duration) (wire.RevisionReplay, error)
}

// Replays tries changes of rules on recorded evaluations.
type Replays struct {
	Views   corpus.Views
	Effects Effects
}

// Try decides the newest recorded evaluations of a project by a stored rule and by next, its words after a change, and compares the
// two. next is tried as if it were in force now, whatever its status and period. No model is asked and nothing is stored. The replay
// ends after [ReplayTime] with what it has found. The error is invalid for a limit outside of 1 to [MaxReplays], and not_found without
// the rule.
func (s Replays) Try(ctx context.Context, projectID string, next rule.Rule, limit int) (wire.RevisionReplay, error) {
	var p rule.Problems
	if limit < 1 || limit > MaxReplays {
		p.Add("replay", "is %d; use 1 to %d", limit, MaxReplays)
		return wire.RevisionReplay{}, p.Err("the replay is invalid")
	}
	before, err := s.Views.View(ctx, projectID)
	if err != nil {
		return wire.RevisionReplay{}, err
	}
	entry, ok := before.Get(next.ID)
	if !ok {
		return wire.RevisionReplay{}, rule.NotFound("rule", next.ID)
	}
	next = next.Clone()
	if next.Status != rule.Approved {
		next.Status = rule.Effective
	}
	next.EffectivePeriod = rule.EffectivePeriod{}
	after, err := before.Apply(before.Version(), []store.RuleState{{Rule: next, Relationships: entry.Relationships}})
	if err != nil {
		return wire.RevisionReplay{}, err
	}
	return s.Effects.Effect(ctx, projectID, next.ID, before, after, limit, ReplayTime)
}
