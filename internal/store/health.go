package store

import (
	"context"
	"time"
)

// HealthScore is the latest score of a rule.
type HealthScore struct {
	ProjectID, RuleID string
	Score             int
	Before            *int // the score before Day; nil without one
	Day               Day  // of the last change
}

// HealthDay is the score of a rule since a day.
type HealthDay struct {
	Day   Day
	Score int
}

// Standing is whether verdicts are asked of a rule.
type Standing int

// Standings. Those above 0 are of rules in force that can be judged.
const (
	StandingEnded        Standing = -1 // retired or superseded
	StandingAsked        Standing = 0  // asked, or neither in force nor to be judged
	StandingNeverAsked   Standing = 1  // it never had a verdict
	StandingDormant      Standing = 2  // it has had no verdict for too long
	StandingNeverDormant Standing = 3  // both
)

// Never reports whether the rule is in force and never had a verdict.
func (s Standing) Never() bool { return s == StandingNeverAsked || s == StandingNeverDormant }

// Dormant reports whether the rule is in force and has had no verdict for too long.
func (s Standing) Dormant() bool { return s == StandingDormant || s == StandingNeverDormant }

// RuleStanding is the standing of a rule and its team.
type RuleStanding struct {
	RuleID   string
	Team     string // its owner
	Standing Standing
	// IdleSince is when it last had a verdict or, if that was later, was changed or came into force; zero for StandingAsked.
	IdleSince time.Time
}

// MeasuredFilter selects measured rules. ProjectID and Limit are required.
type MeasuredFilter struct {
	ProjectID string
	Team      *string
	Standings []Standing // nil means all that have not ended
	ScoreMin  int        // lowest score
	ScoreMax  int        // highest score
	// Idle orders them by IdleSince, the longest idle first; else they are in the order of their scores, the lowest first.
	Idle          bool
	NoTotal       bool // leaves the total at 0; counting takes longer than reading a page
	Offset, Limit int
}

// MeasuredRule is a rule with what was last measured of it.
type MeasuredRule struct {
	RuleStanding
	Score int
}

// Bands is the number of bands of scores: 0 to 19, 20 to 39, and so on, the last one to 100.
const Bands = 5

// HealthSummary sums up the rules of a project or team that have not ended.
type HealthSummary struct {
	Team          string
	MeasuredAt    time.Time
	CorpusVersion int64
	Rules         int // those with a score
	InForce       int // of them, in force and to be judged
	// Asked is false where records of the time in question are gone, so that NeverAsked and Dormant are unknown.
	Asked               bool
	NeverAsked, Dormant int
	ScoreSum            int64
	Bands               [Bands]int
}

// FigureChanges counts how often figures of a project's rules have changed: equal counts mean equal figures.
type FigureChanges struct {
	Scores int64 // health scores
	Tests  int64 // which test cases rules have
}

// HealthReader reads the health of rules.
type HealthReader interface {
	// FigureChanges returns the counts of changes of a project: a cheap read.
	FigureChanges(ctx context.Context, projectID string) (FigureChanges, error)
	// AllScores returns the latest scores of all measured rules, by rule.
	AllScores(ctx context.Context, projectID string) (map[string]int, error)
	// Scores returns the latest scores of measured rules, those of ruleIDs or, if it is nil, all, by rule.
	Scores(ctx context.Context, projectID string, ruleIDs []string) ([]HealthScore, error)
	// Standings returns the latest standing of all measured rules, by rule.
	Standings(ctx context.Context, projectID string) (map[string]RuleStanding, error)
	// Measured returns a page of measured rules that have not ended, and their total, or 0 with NoTotal.
	Measured(ctx context.Context, f MeasuredFilter) ([]MeasuredRule, int, error)
	// Summary returns the sums over all rules of a project as last measured, or nil before it was measured.
	Summary(ctx context.Context, projectID string) (*HealthSummary, error)
	// TeamSummaries returns the sums over the rules of teams, those with the most rules first: up to limit of them, or only that of team,
	// if it is not nil.
	TeamSummaries(ctx context.Context, projectID string, team *string, limit int) ([]HealthSummary, error)
	// History returns the scores of a rule, newest first, up to limit.
	History(ctx context.Context, projectID, ruleID string, limit int) ([]HealthDay, error)
}

// HealthTx writes the health of rules.
type HealthTx interface {
	HealthReader

	// Put stores the changed scores of rules that were measured on a day. A history has one score for each day, the
	// last; Before becomes the score that the rule had before that day. Of scores only RuleID and Score are read.
	Put(ctx context.Context, projectID string, day Day, scores []HealthScore) error
	// PutStandings stores the changed standings of rules that have a score.
	PutStandings(ctx context.Context, projectID string, standings []RuleStanding) error
	// PutSummaries replaces the sums of a project and of its teams. It does nothing if those stored were measured later.
	PutSummaries(ctx context.Context, projectID string, whole HealthSummary, teams []HealthSummary) error
}
