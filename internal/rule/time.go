package rule

import "time"

// Instant returns t as it is stored: in UTC, cut to microseconds.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
