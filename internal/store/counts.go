package store

import (
	"context"
	"time"
)

// Day is a day in UTC, counted from 1970-01-01.
type Day int64

// DayOf is the day of a time.
func DayOf(t time.Time) Day {
	const seconds = 24 * 60 * 60
	n := t.Unix()
	d := n / seconds
	if n%seconds < 0 {
		d--
	}
	return Day(d)
}

// Time is the beginning of a day.
func (d Day) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// String is the day as a date: 2026-02-03.
func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// CountMark tells how far the audit chain of a project has been counted.
type CountMark struct {
	Seq int64     // last entry that is counted; 0 before the first
	At  time.Time // of that entry
	// BlindUntil is nil unless records had been removed before they were counted: of what was recorded before, not all is known.
	BlindUntil *time.Time
}

// Uncounted is a project with entries that are not counted yet.
type Uncounted struct {
	ProjectID string
	Entries   int64
}

// RuleCount counts verdicts of a rule.
type RuleCount struct {
	Day                       Day // not of sums
	RuleID                    string
	Allowed, Denied, Unsure   int64
	ByCheck, ByModel, ByCache int64     // the others were decided by nothing
	Calls                     int64     // to models that asked about the rule
	CallMS                    int64     // time of those calls, in milliseconds
	Tokens                    int64     // in and out, of the rule's share of those calls
	LastAt                    time.Time // not of sums
}

// Verdicts is how many verdicts were given.
func (c *RuleCount) Verdicts() int64 { return c.Allowed + c.Denied + c.Unsure }

// DayCount counts evaluations of a project on a day, by overall verdict.
type DayCount struct {
	Day                     Day
	Evaluations             int64
	Allowed, Denied, Unsure int64
	Incidents               int64 // denied, of actions that had happened already
	LatencyMS, MaxLatencyMS int64 // sum and maximum; records that had been removed count for 0
}

// ModelCount counts calls to a model.
type ModelCount struct {
	Day                                     Day // not of sums
	Model                                   string
	Calls, Failed                           int64
	InputTokens, OutputTokens, CachedTokens int64
	DurationMS                              int64
}

// Counts is what a piece of a project's chain adds: the entries after From up to and including Mark.Seq.
type Counts struct {
	ProjectID string
	From      int64
	Mark      CountMark // a nil BlindUntil leaves that as it is
	Rules     []RuleCount
	Days      []DayCount
	Models    []ModelCount
}

// RuleCountFilter selects counts of rules to be summed up. ProjectID is required.
type RuleCountFilter struct {
	ProjectID string
	From      Day      // first day
	RuleIDs   []string // nil means all
	Min       int      // leaves out rules with fewer verdicts
}

// HealthScore is the latest score of a rule.
type HealthScore struct {
	ProjectID, RuleID string
	Score             int
	Before            *int // what it was before Day; nil if it was not measured before
	Day               Day  // on which it last changed
}

// HealthDay is the score that a rule has had since a day.
type HealthDay struct {
	Day   Day
	Score int
}

// CountReader reads what is counted of a project's evaluations, and the health of its rules.
type CountReader interface {
	// CountMark returns how far a project has been counted.
	CountMark(ctx context.Context, projectID string) (CountMark, error)
	// Uncounted lists the projects with entries that are not counted yet, by id: a cheap read, meant to be polled.
	Uncounted(ctx context.Context) ([]Uncounted, error)
	// RuleCounts sums up the counts of rules since a day.
	RuleCounts(ctx context.Context, f RuleCountFilter) ([]RuleCount, error)
	// DayCounts returns the counts of days from one on, in order.
	DayCounts(ctx context.Context, projectID string, from Day) ([]DayCount, error)
	// ModelCounts sums up the counts of models since a day, by model.
	ModelCounts(ctx context.Context, projectID string, from Day) ([]ModelCount, error)
	// RuleActivity returns when rules last had a verdict, those of ruleIDs or, if it is nil, all. Rules that never had one are
	// absent.
	RuleActivity(ctx context.Context, projectID string, ruleIDs []string) (map[string]time.Time, error)
	// HealthScores returns the latest scores of all rules that were measured, by rule.
	HealthScores(ctx context.Context, projectID string) ([]HealthScore, error)
	// HealthHistory returns the scores of a rule, newest first, limit at most.
	HealthHistory(ctx context.Context, projectID, ruleID string, limit int) ([]HealthDay, error)
}

// CountTx writes what is counted.
type CountTx interface {
	// AddCounts adds counts and moves the mark; conflict if the mark is not at From: another has counted meanwhile. Each of its
	// rules, days and models comes once.
	AddCounts(ctx context.Context, c Counts) error
	// PutHealth stores scores of rules that were measured on a day and have changed. A history has one score for each day, the
	// last; Before becomes the score that the rule had before that day. Of scores only RuleID and Score are read.
	PutHealth(ctx context.Context, projectID string, day Day, scores []HealthScore) error
	// DropCounts removes what is counted of days before a day, and histories of health but for the last day before, up to limit
	// rows, and returns how many. The times of the last verdicts stay.
	DropCounts(ctx context.Context, projectID string, before Day, limit int) (int, error)
}
