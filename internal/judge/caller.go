package judge

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

type callerKey struct{}

// For has the judge use and store verdicts under a context for one caller alone, and share no running work with others. An empty caller is that
// of all who name none.
func For(ctx context.Context, caller string) context.Context {
	if caller == "" {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, caller)
}

func callerOf(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// of returns the source of answers and stored verdicts for a caller.
func (j *Judge) of(caller string) source {
	if caller == "" {
		return j
	}
	return ownSource{j, caller}
}

// ownSource is a judge whose stored verdicts are those of one caller.
type ownSource struct {
	*Judge

	caller string
}

// ownUnit returns the key of a unit for a caller.
func ownUnit(caller, unit string) string {
	if caller == "" {
		return unit
	}
	return hashed("caller", caller, unit)
}

// lookUp implements source.
func (s ownSource) lookUp(ctx context.Context, rules []*rule.Rule, k *cacheKeys) lookup {
	own := &cacheKeys{whole: ownUnit(s.caller, k.whole), units: make([]string, len(k.units)), rules: k.rules}
	for i, unit := range k.units {
		own.units[i] = ownUnit(s.caller, unit)
	}
	find := s.Judge.lookUp(ctx, rules, own)
	return func(project, unit, rule string) (string, bool) { return find(project, ownUnit(s.caller, unit), rule) }
}

// store implements source.
func (s ownSource) store(list []store.Verdict) {
	for i := range list {
		list[i].Unit = ownUnit(s.caller, list[i].Unit)
	}
	s.Judge.store(list)
}
