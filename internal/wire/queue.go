package wire

import (
	"time"

	"tenet/internal/rule"
)

// QueueKind is a kind of thing that waits for a person.
type QueueKind string

// The kinds of things that wait.
const (
	QueueRule       QueueKind = "rule"
	QueueRevision   QueueKind = "revision"
	QueueCandidate  QueueKind = "candidate"
	QueueConflict   QueueKind = "conflict"
	QueueWaiver     QueueKind = "waiver"
	QueueSnapshot   QueueKind = "snapshot"
	QueueApproval   QueueKind = "approval"
	QueueEvaluation QueueKind = "evaluation"
)

// QueueKinds are all kinds, in the order they are shown in.
var QueueKinds = []QueueKind{QueueRule, QueueRevision, QueueCandidate, QueueConflict, QueueWaiver, QueueSnapshot, QueueApproval, QueueEvaluation}

// QueueAction is a decision of a person on something that waits.
type QueueAction string

// The actions. What each does depends on the kind.
const (
	QueueApprove QueueAction = "approve"
	QueueReject  QueueAction = "reject"
	QueueSettle  QueueAction = "settle"
	QueueReopen  QueueAction = "reopen"
)

// QueueQuery selects what waits.
type QueueQuery struct {
	Kinds    []string `query:"kind" doc:"Only these kinds: rule, revision, candidate, conflict, waiver, snapshot, approval, evaluation."`
	Severity string   `query:"severity_min" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Only what is at least so severe. Snapshots and evaluations have no severity and are left out then."`
	Assignee string   `query:"assignee" maxLength:"200" doc:"Only what this person takes care of; me is the caller, none what nobody does."`
	By       string   `query:"by" maxLength:"200" doc:"Only what this person has asked for."`
	Words    string   `query:"q" maxLength:"200" doc:"Only items whose title or detail has all of these words."`
	Snoozed  bool     `query:"snoozed" doc:"Also what is put aside."`
	Order    string   `query:"order" enum:"urgency,age,newest" default:"urgency" doc:"By severity and then age, by age, or the newest first."`
	PageQuery
}

// QueueRef names something that waits.
type QueueRef struct {
	Kind      QueueKind `json:"kind" enum:"rule,revision,candidate,conflict,waiver,snapshot,approval,evaluation" doc:"What it is."`
	ID        string    `json:"id" pattern:"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(/[1-9][0-9]{0,9})?$" doc:"Its identifier; of a revision that of its rule, a slash and its number."`
	ProjectID string    `json:"project_id,omitempty" nullable:"true" doc:"Its project; absent means that of the request."`
}

// QueueItem is something that waits for a person's decision.
type QueueItem struct {
	Kind         QueueKind     `json:"kind" enum:"rule,revision,candidate,conflict,waiver,snapshot,approval,evaluation" doc:"What it is."`
	ID           string        `json:"id" doc:"Its identifier; of a revision that of its rule, a slash and its number."`
	ProjectID    string        `json:"project_id" doc:"Its project."`
	Title        string        `json:"title" doc:"What is to be decided: a statement, the name of a snapshot, what was asked."`
	Detail       string        `json:"detail" doc:"What to know before: where it was found, why, what it changes, in which environment."`
	Severity     rule.Severity `json:"severity,omitempty" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Severity of its rule, of the graver one of a conflict, the higher one before and after a revision; absent for snapshots and evaluations."`
	Since        time.Time     `json:"since" doc:"Since when it has waited."`
	By           string        `json:"by" doc:"Who has asked for the decision; empty if nobody has."`
	Confidence   *float64      `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"How sure the server is of a candidate or a conflict."`
	RuleID       string        `json:"rule_id,omitempty" doc:"The rule that it concerns."`
	Revision     int           `json:"revision,omitempty" doc:"Number of a revision."`
	Stale        bool          `json:"stale,omitempty" doc:"True for a revision whose rule has changed since: its author must propose it again."`
	OtherRuleID  string        `json:"other_rule_id,omitempty" doc:"The other rule of a conflict."`
	ScanID       string        `json:"scan_id,omitempty" doc:"The scan of a candidate."`
	Assignee     string        `json:"assignee,omitempty" doc:"Who takes care of it."`
	SnoozedUntil *time.Time    `json:"snoozed_until,omitempty" doc:"Until when it is put aside."`
	Actions      []QueueAction `json:"actions" nullable:"false" doc:"What the caller may decide."`
}

// Queue is a page of what waits.
type Queue struct {
	Items    []QueueItem       `json:"items" nullable:"false" doc:"Items of this page."`
	Total    int               `json:"total" doc:"Items that match, on all pages."`
	Page     int               `json:"page" doc:"This page, from 1."`
	PageSize int               `json:"page_size" doc:"Items per page."`
	Counts   map[QueueKind]int `json:"counts" doc:"Items of each kind that match, whatever kinds were asked for."`
	Cut      []QueueKind       `json:"cut,omitempty" nullable:"false" doc:"Kinds of which more wait than are looked at: the counts are of those that have waited longest."`
}

// DecideQueue is the body that decides on things that wait.
type DecideQueue struct {
	Items  []QueueRef  `json:"items" nullable:"false" minItems:"1" maxItems:"500" doc:"What is decided on, each for itself: one that fails holds up no other."`
	Action QueueAction `json:"action" enum:"approve,reject,settle,reopen" doc:"approve: a rule becomes APPROVED, a revision comes into force, a candidate a rule, a conflict is confirmed, a waiver or a snapshot is approved; an approval of an action is given at its own address alone, where the whole action is shown. reject: a rule goes back to DRAFT, a revision is rejected or, by its author, withdrawn, a candidate is dismissed, a conflict was none, a waiver is revoked, an approval is refused. settle: an evaluation needs no answer any more. reopen: takes back an approval or rejection of a rule, a rejection of a candidate or a conflict, or a settling, while nothing was built on it."`
	Reason string      `json:"reason,omitempty" nullable:"true" maxLength:"1000" doc:"Why. Needed to reject and to settle."`
}

// QueueDecided lists the results of decisions, in their order.
type QueueDecided struct {
	Results []QueueResult `json:"results" nullable:"false" doc:"One for each item."`
	Done    int           `json:"done" doc:"Items that were decided on."`
	Failed  int           `json:"failed" doc:"Items that were not."`
}

// QueueResult is the result of one decision.
type QueueResult struct {
	QueueRef
	Status string `json:"status" enum:"done,failed" doc:"done or failed."`
	Undo   bool   `json:"undo,omitempty" doc:"True if reopen takes it back."`
	RuleID string `json:"rule_id,omitempty" doc:"The rule that an approved candidate has become."`
	Code   string `json:"code,omitempty" doc:"Code of the error."`
	Error  string `json:"error,omitempty" doc:"Why it failed."`
}

// MarkQueue is the body that says who takes care of things that wait, and until when they are put aside.
type MarkQueue struct {
	Items        []QueueRef `json:"items" nullable:"false" minItems:"1" maxItems:"500" doc:"What is marked."`
	Assignee     *string    `json:"assignee,omitempty" nullable:"true" maxLength:"200" doc:"Who takes care of it; me is the caller, empty nobody. Absent: as it was."`
	SnoozedUntil *time.Time `json:"snoozed_until,omitempty" nullable:"true" doc:"Until when it is put aside, at most a year from now; a time that has passed ends that. Absent: as it was."`
}
