package store

import (
	"context"
	"time"
)

// Day is a day in UTC, counted from 1970-01-01.
type Day int64

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	return Day(t.Truncate(24*time.Hour).Unix() / (24 * 60 * 60))
}

// Time returns the beginning of the day.
func (d Day) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// String returns the day as a date: 2026-02-03.
func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// CountMark is the place in the audit chain of a project up to which its entries are counted.
type CountMark struct {
	Seq int64     // last entry that is counted; 0 before the first
	At  time.Time // of that entry
	// BlindUntil is nil unless records were removed before they were counted. The counts of earlier records are incomplete.
	BlindUntil *time.Time
	// Filled and FillUntil are about entries that were counted by a version that did not count groups, parts and repositories: those up to
	// FillUntil. Of them, those up to Filled have been counted by these since.
	Filled, FillUntil int64
	// FillActors is true where those entries lack the groups of agents and people only.
	FillActors bool
}

// Unfilled is the number of counted entries that groups, parts and repositories lack.
func (m *CountMark) Unfilled() int64 { return max(m.FillUntil-m.Filled, 0) }

// Uncounted is a project with entries that are not counted yet.
type Uncounted struct {
	ProjectID string
	Entries   int64
}

// RuleCount counts verdicts of a rule.
type RuleCount struct {
	Day                       Day // zero in sums
	RuleID                    string
	Allowed, Denied, Unsure   int64
	ByCheck, ByModel, ByCache int64
	ByTriage, ByApproval      int64     // the others had no decider
	Calls                     int64     // to models that asked about the rule
	CallMS                    int64     // time of those calls, in milliseconds
	Tokens                    int64     // in and out, of the rule's share of those calls
	LastAt                    time.Time // zero in sums
}

// Verdicts returns the number of verdicts.
func (c *RuleCount) Verdicts() int64 { return c.Allowed + c.Denied + c.Unsure }

// DayCount counts evaluations of a project on a day, by overall verdict.
type DayCount struct {
	Day                     Day
	Evaluations             int64
	Allowed, Denied, Unsure int64
	Incidents               int64 // denied, of actions that had already happened
	LatencyMS, MaxLatencyMS int64 // sum and maximum; removed records count as 0
	// Rules counts the verdicts of rules. RuleID, the calls and LastAt are zero.
	Rules RuleCount
}

// ModelCount counts calls to a model.
type ModelCount struct {
	Day                                     Day // zero in sums
	Model                                   string
	Calls, Failed                           int64
	InputTokens, OutputTokens, CachedTokens int64
	DurationMS                              int64
}

// Counts holds the counts of a part of a project's chain: the entries after From up to and including Mark.Seq.
type Counts struct {
	ProjectID string
	From      int64
	Mark      CountMark // a nil BlindUntil keeps the stored one; Filled and FillUntil are not read
	// Fill is set where the other counts of the entries are stored already, and From and Mark.Seq are values of Filled.
	Fill   bool
	Rules  []RuleCount
	Days   []DayCount
	Models []ModelCount

	Groups       []GroupCount
	Parts        []PartCount
	Repositories []RepositoryCount
}

// RuleCountFilter selects the counts of rules for a sum. ProjectID is required.
type RuleCountFilter struct {
	ProjectID string
	From      Day      // first day
	Until     Day      // the day after the last; 0 means no bound
	RuleIDs   []string // nil means all
	Min       int      // leaves out rules with fewer verdicts
}

// CountReader reads the counts of a project's evaluations.
type CountReader interface {
	// Mark returns the mark of a project.
	Mark(ctx context.Context, projectID string) (CountMark, error)
	// Uncounted lists the projects with entries that are not counted yet, by id: a cheap read for polling.
	Uncounted(ctx context.Context) ([]Uncounted, error)
	// Rules sums up the counts of rules since a day.
	Rules(ctx context.Context, f RuleCountFilter) ([]RuleCount, error)
	// Top returns the rules with the highest sums, of those with any, highest first and equal ones by id. Of equal ones at the limit it
	// returns those that were counted first. It sets the counts that it compares.
	Top(ctx context.Context, f TopFilter) ([]RuleCount, error)
	// Groups sums up the counts of groups by name, those with the most verdicts first, or, with Daily, by day in order. Of nodes with equally
	// many at the limit it returns those that were counted first.
	Groups(ctx context.Context, f GroupFilter) ([]GroupCount, error)
	// Parts sums up the counts of parts, the highest first and equal ones by name and part.
	Parts(ctx context.Context, f PartFilter) ([]PartCount, error)
	// Repositories returns a page of the repositories that were judged, and their total.
	Repositories(ctx context.Context, f RepositoryFilter) ([]RepositoryCount, int, error)
	// Days returns the counts of the days since from, in order.
	Days(ctx context.Context, projectID string, from Day) ([]DayCount, error)
	// Models sums up the counts of models since a day, by model.
	Models(ctx context.Context, projectID string, from Day) ([]ModelCount, error)
	// ModelDays returns the counts of models since a day, by day and model; of all projects together for [AllProjects].
	ModelDays(ctx context.Context, projectID string, from Day) ([]ModelCount, error)
	// Reuse sums up the verdicts that models gave since a day, and those that were taken from the cache; of all projects together for [AllProjects].
	Reuse(ctx context.Context, projectID string, from Day) (judged, reused int64, err error)
	// LastVerdicts returns when rules last had a verdict, those of ruleIDs or, if it is nil, all. Rules that never had one are
	// absent.
	LastVerdicts(ctx context.Context, projectID string, ruleIDs []string) (map[string]time.Time, error)
}

// CountTx writes counts.
type CountTx interface {
	CountReader

	// Add adds counts and moves the mark; conflict if the mark is not at From, because another caller has counted. Each
	// rule, day, model, group, part and repository occurs once.
	Add(ctx context.Context, c Counts) error
	// DeleteOld removes the counts of the days before a day, and the health histories except the last day before, up to limit
	// rows, and returns their number. It also removes the repositories that were not judged since then. The times of the last verdicts stay.
	DeleteOld(ctx context.Context, projectID string, before Day, limit int) (int, error)
}
