package store

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Kinds of things that wait for a person.
const (
	WaitingRule       = "rule"
	WaitingRevision   = "revision"
	WaitingCandidate  = "candidate"
	WaitingConflict   = "conflict"
	WaitingWaiver     = "waiver"
	WaitingSnapshot   = "snapshot"
	WaitingApproval   = "approval"
	WaitingEvaluation = "evaluation"
)

// WaitingMarks is the kind of the version of the marks; see [QueueReader].
const WaitingMarks = "mark"

// Waiting is something that waits for a person's decision: a row of its own table, with what its reader needs to name it.
type Waiting struct {
	ProjectID  string
	ID         string // of a revision as [RevisionID] writes it
	Since      time.Time
	By         string           // who has asked for the decision; empty if nobody has
	Ref        string           // the scan of a candidate; the reason of a conflict or a waiver
	Seq        int64            // of an evaluation, its number in the audit chain
	Pruned     bool             // of an evaluation whose record was removed
	Confidence float64          // of a candidate or a conflict, 0 to 1
	Rules      []*QueuedRule    // the rule itself; the rules of a conflict, the later one first; the rule of a waiver
	Body       []byte           // of an approval, a [rule.Approval]
	Revision   *Revision        // the revision itself, with Stale
	Candidate  *QueuedCandidate // the candidate itself; nil if it cannot be read
}

// RevisionID names a revision among all things of a project that wait: the rule, a slash, the number.
func RevisionID(ruleID string, number int) string { return ruleID + "/" + strconv.Itoa(number) }

// ParseRevisionID reads a name that [RevisionID] has written, the rule in any case; ok is false for others.
func ParseRevisionID(id string) (ruleID string, number int, ok bool) {
	ruleID, digits, _ := strings.Cut(id, "/")
	number, err := strconv.Atoi(digits)
	ruleID = strings.ToLower(ruleID)
	return ruleID, number, err == nil && number > 0 && rule.IsID(ruleID) && strconv.Itoa(number) == digits
}

// QueuedRule has the fields of a stored rule that a list of what waits shows or sorts by: to read whole rules would take most of its time.
type QueuedRule struct {
	ID         string        `json:"id"`
	Slug       string        `json:"slug"`
	Statement  string        `json:"statement"`
	Severity   rule.Severity `json:"severity"`
	Version    int           `json:"version"`
	ChangeNote string        `json:"change_note"`
	UpdatedAt  time.Time     `json:"updated_at"`
	UpdatedBy  string        `json:"updated_by"`
}

// QueuedCandidate has the fields of a stored candidate that a list of what waits shows or sorts by.
type QueuedCandidate struct {
	Statement  string `json:"statement"`
	SourceFile string `json:"source_file"`
	SourceLine int    `json:"source_line"`
	Metadata   struct {
		Severity string `json:"severity"`
	} `json:"suggested_metadata"`
}

// Label is the slug of the rule, or else its id.
func (r *QueuedRule) Label() string { return cmp.Or(r.Slug, r.ID) }

// QueueMark is a note of people on something that waits.
type QueueMark struct {
	ProjectID, Kind, ID string
	Assignee            string
	SnoozedUntil        *time.Time
	// SettledAt is set if nobody needs to decide on an evaluation any more; its record stays as it is.
	SettledAt *time.Time
	SettledBy string
	Note      string // why it was settled
}

// QueueReader reads what waits for a person, in one project or, with [AllProjects], in all. Each list has at most limit entries,
// those that have waited longest, oldest first.
type QueueReader interface {
	// Versions returns a version for each of the kinds rule, revision, candidate and conflict, and [WaitingMarks]: a list that was read after its version
	// holds while the version is the same. Both must be read from one database.
	Versions(ctx context.Context, projectID string) (map[string]int64, error)
	// RulesInReview lists rules with the status REVIEW.
	RulesInReview(ctx context.Context, projectID string, limit int) ([]Waiting, error)
	// PendingRevisions lists revisions with the state pending.
	PendingRevisions(ctx context.Context, projectID string, limit int) ([]Waiting, error)
	// PendingCandidates lists candidates without a decision.
	PendingCandidates(ctx context.Context, projectID string, limit int) ([]Waiting, error)
	// SuggestedConflicts lists conflicts that nobody has confirmed or rejected.
	SuggestedConflicts(ctx context.Context, projectID string, limit int) ([]Waiting, error)
	// WaiversToApprove lists waivers of CRITICAL rules that are live and that nobody has approved.
	WaiversToApprove(ctx context.Context, projectID string, now time.Time, limit int) ([]Waiting, error)
	// PendingApprovals lists approvals of actions that can be decided at a time.
	PendingApprovals(ctx context.Context, projectID string, now time.Time, limit int) ([]Waiting, error)
	// Unconfirmed lists evaluations since a time whose overall verdict is NEEDS_CONFIRMATION, that no mark has settled, and whose approval is not
	// asked for, or has ended without an answer.
	Unconfirmed(ctx context.Context, projectID string, since time.Time, limit int) ([]Waiting, error)
	// Marks returns up to limit marks of a project, or of all, that settle nothing.
	Marks(ctx context.Context, projectID string, limit int) ([]QueueMark, error)
	// Mark returns the mark of a thing; one that says nothing if it has none.
	Mark(ctx context.Context, projectID, kind, id string) (QueueMark, error)
}

// QueueTx writes marks.
type QueueTx interface {
	QueueReader

	// PutMark replaces the mark of a thing; one that says nothing removes it. not_found without the project.
	PutMark(ctx context.Context, m QueueMark) error
}
