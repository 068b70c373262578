package rule

import "time"

// IdleSince is the time from which a rule waits for its next verdict: the latest of its last verdict (nil: none yet), its last
// change, and the beginning of its effective period.
func (r *Rule) IdleSince(last *time.Time) time.Time {
	since := r.UpdatedAt
	for _, t := range []*time.Time{last, r.EffectivePeriod.From} {
		if t != nil && t.After(since) {
			since = *t
		}
	}
	return since
}

// Dormant reports whether a rule that could have had verdicts, since it is in force and of a modality that is judged, has had
// none for so long. last is the time of its last verdict, nil without one. A rule that was made, changed or has come into
// force within that time is not dormant.
func (r *Rule) Dormant(last *time.Time, after time.Duration, now time.Time) bool {
	return r.Judged() && r.InForce(now) && now.Sub(r.IdleSince(last)) >= after
}
