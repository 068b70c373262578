package corpus

import (
	"context"
	"log/slog"
	"time"

	"tenet/internal/rule"
)

// waivers are those of a project, by the verdict that they are bound to, newest first.
type waivers map[waived][]rule.Waiver

// waived identifies what a waiver covers.
type waived struct{ ruleID, fingerprint, repository string }

// Waiver returns the waiver that covers a denial in a repository at a time: the newest of those that do. A denial in no repository is
// covered by waivers for none only, and the reverse.
func (d *demands) Waiver(v *rule.RuleVerdict, repository string, now time.Time) (*rule.Waiver, bool) {
	list := d.waivers[waived{v.RuleID, v.Fingerprint, rule.CleanRepository(repository)}]
	for i := range list {
		if list[i].At(now, v.Severity) == rule.WaiverActive {
			return &list[i], true
		}
	}
	return nil, false
}

// WithWaivers returns the view with these waivers in place of those it has.
func (v *View) WithWaivers(list []rule.Waiver) *View {
	next := v.with(v.version, v.index)
	next.waivers = waivers{}
	for _, w := range list {
		key := waived{w.RuleID, w.Fingerprint, w.Repository}
		next.waivers[key] = append(next.waivers[key], w)
	}
	return next
}

// waivers returns the waivers of a project that are in force. If they cannot be read there are none: no denial is waived.
func (l *Live) waivers(ctx context.Context, projectID string) []rule.Waiver {
	list, err := l.cfg.Store.Waivers.ListLive(ctx, projectID, time.Now())
	if err != nil {
		l.cfg.Logger.WarnContext(ctx, "the waivers cannot be read, so none count", slog.String("project_id", projectID), slog.Any("error", err))
		return nil
	}
	return list
}
