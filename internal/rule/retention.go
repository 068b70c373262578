package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Kinds of what a project keeps for a time.
const (
	KeptEvaluations = "evaluation" // bodies of the records of evaluations
	KeptAgents      = "agent"      // bodies of the records of requests to agents
	KeptSubmissions = "submission" // names of submissions and idempotency keys
	KeptScans       = "scan"       // candidates of scans that nobody has made a rule of
)

// KeptKinds lists the kinds of what a project keeps for a time.
var KeptKinds = []string{KeptEvaluations, KeptAgents, KeptSubmissions, KeptScans}

// HighRiskDays is the least time for which a project that is marked as high-risk keeps the records of evaluations and agents, in days: six
// months, as Articles 19 and 26 of the EU AI Act ask for.
const HighRiskDays = 183

// MaxKeepDays bounds the times of a [Retention], in days.
const MaxKeepDays = 36500

// MaxHolds bounds the legal holds of a project that are in force. As many lifted ones are listed, too.
const MaxHolds = 100

const day = 24 * time.Hour

// Retention says how long a project keeps its records, and which of them no job may delete. The zero value follows the settings of the server.
type Retention struct {
	HighRisk bool                `json:"high_risk,omitempty"`
	Times    map[string]KeepTime `json:"kinds,omitempty"` // by kind
	// Proposal is a change that waits for a second administrator; nil without one.
	Proposal *RetentionProposal `json:"proposal,omitempty"`
	Holds    []LegalHold        `json:"holds,omitempty"` // newest first
	// Lifts counts the holds that were lifted.
	Lifts int `json:"lifts,omitempty"`
}

// KeepTime is how long what is of a kind is kept.
type KeepTime struct {
	// Days is nil for the setting of the server, and 0 for no limit.
	Days    *int `json:"days,omitempty" doc:"Days after which it is deleted; 0 keeps it without limit, absent takes the setting of the server."`
	Minimum int  `json:"minimum_days,omitempty" doc:"Days before which nothing deletes it, whatever the settings say."`
}

// RetentionProposal is a change of a [Retention] that shortens a minimum.
type RetentionProposal struct {
	HighRisk bool                `json:"high_risk" doc:"As proposed."`
	Times    map[string]KeepTime `json:"kinds" doc:"Times as proposed, by kind."`
	Shortens []string            `json:"shortens" nullable:"false" doc:"The minimums that it shortens, in words."`
	Reason   string              `json:"reason" doc:"Why, in the words of who proposed it."`
	Person   string              `json:"person,omitempty" doc:"Person who proposed it, where the key names its owner."`
	By       string              `json:"proposed_by" doc:"Who proposed it."`
	At       time.Time           `json:"proposed_at" doc:"When it was proposed."`
}

// LegalHold keeps the records of evaluations that meet all its conditions, until it is lifted. Without conditions it keeps all.
type LegalHold struct {
	ID         string     `json:"id" format:"uuid" doc:"Identifier."`
	Reason     string     `json:"reason" doc:"Why the records must be kept."`
	Rule       string     `json:"rule,omitempty" doc:"Id of a rule that has a verdict in them."`
	Scope      string     `json:"scope,omitempty" doc:"Scope of their subjects, or a wider one."`
	NodeID     string     `json:"node_id,omitempty" doc:"Federation node that they name."`
	Repository string     `json:"repository,omitempty" doc:"Repository that they are about."`
	Actor      string     `json:"actor,omitempty" doc:"Who asked for them."`
	Since      *time.Time `json:"since,omitempty" doc:"The first time."`
	Until      *time.Time `json:"until,omitempty" doc:"The time after the last."`
	PlacedAt   time.Time  `json:"placed_at" doc:"When it was placed."`
	PlacedBy   string     `json:"placed_by" doc:"Who placed it."`
	LiftedAt   *time.Time `json:"lifted_at,omitempty" doc:"When it was lifted; absent while it is in force."`
	LiftedBy   string     `json:"lifted_by,omitempty" doc:"Who lifted it."`
	LiftReason string     `json:"lift_reason,omitempty" doc:"Why it was lifted."`
	// Evaluations is not stored.
	Evaluations *int `json:"evaluations,omitempty" doc:"Recorded evaluations that meet the conditions; absent in lists."`
}

// Minimum returns the days before which nothing of a kind is deleted.
func (r *Retention) Minimum(kind string) int { return minimum(r.HighRisk, r.Times, kind) }

func minimum(highRisk bool, times map[string]KeepTime, kind string) int {
	least := times[kind].Minimum
	if highRisk && (kind == KeptEvaluations || kind == KeptAgents) {
		least = max(least, HighRiskDays)
	}
	return least
}

// Keep returns how long what is of a kind is kept where the server keeps it for a time; 0 means without limit.
func (r *Retention) Keep(kind string, server time.Duration) time.Duration {
	keep := server
	if days := r.Times[kind].Days; days != nil {
		keep = time.Duration(*days) * day
	}
	if keep <= 0 {
		return 0
	}
	return max(keep, time.Duration(r.Minimum(kind))*day)
}

// InForce returns the holds that are in force, newest first.
func (r *Retention) InForce() (holds []LegalHold) {
	for i := range r.Holds {
		if r.Holds[i].LiftedAt == nil {
			holds = append(holds, r.Holds[i])
		}
	}
	return holds
}

// Shortens lists, in words, the minimums of r that other times have shorter; nil without any.
func (r *Retention) Shortens(highRisk bool, times map[string]KeepTime) (ways []string) {
	for _, kind := range KeptKinds {
		if was, next := r.Minimum(kind), minimum(highRisk, times, kind); next < was {
			ways = append(ways, fmt.Sprintf("%s at least %d days instead of %d", kind, next, was))
		}
	}
	return ways
}

// ValidateTimes returns an invalid error that names every wrong field of times, or nil.
func ValidateTimes(highRisk bool, times map[string]KeepTime) error {
	var p Problems
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		t := times[kind]
		if !slices.Contains(KeptKinds, kind) {
			p.Add("kinds."+kind, "is nothing that is kept for a time; use one of %s", strings.Join(KeptKinds, ", "))
		}
		if t.Minimum < 0 || t.Minimum > MaxKeepDays {
			p.Add("kinds."+kind+".minimum_days", "is %d; use 0 to %d", t.Minimum, MaxKeepDays)
		}
		if t.Days == nil {
			continue
		}
		switch least := minimum(highRisk, times, kind); {
		case *t.Days < 0 || *t.Days > MaxKeepDays:
			p.Add("kinds."+kind+".days", "is %d; use 0 to %d, 0 for no limit", *t.Days, MaxKeepDays)
		case *t.Days > 0 && *t.Days < least:
			p.Add("kinds."+kind+".days", "is %d, less than the %d days that are kept at least", *t.Days, least)
		}
	}
	return p.Err("the retention is invalid")
}
