package store

import (
	"context"
	"time"
)

// States of a [Scan].
const (
	ScanOpen      = "open" // its job has not ended
	ScanCompleted = "completed"
	ScanFailed    = "failed"
)

// States of a [Candidate].
const (
	CandidatePending   = "pending"
	CandidateApproved  = "approved"
	CandidateDismissed = "dismissed"
)

// Scan is a search for candidate rules. Package discover defines its request and its result.
type Scan struct {
	ProjectID, ID string
	JobID         int64
	Repository    string // may be empty
	DocumentID    string // of the uploaded document that it reads; else empty
	Request       []byte // JSON
	CreatedAt     time.Time
	CreatedBy     string
	State         string
	Result        []byte // JSON; empty until it is completed
	Error         string // why it failed
	EndedAt       *time.Time
}

// Candidate is a rule that a scan has found, for a person to decide on.
type Candidate struct {
	ProjectID, ID, ScanID string
	N                     int // place in the scan, from 1
	Repository            string
	Fingerprint           string // of its statement and file
	Confidence            float64
	Body                  []byte // JSON: the other results of the scan
	Status                string
	RuleID                string // of an approved one
	Reason                string // of a dismissed one; may be empty
	DecidedAt             *time.Time
	DecidedBy             string
}

// CandidateFilter selects candidates. Empty fields select everything; ProjectID and ScanID are required.
type CandidateFilter struct {
	ProjectID, ScanID string
	Status            string
	MinConfidence     float64
	Offset, Limit     int
}

// CandidateDecision is a decision of a person on a pending candidate.
type CandidateDecision struct {
	ProjectID, ID string
	// Fingerprints are those of all places of the candidate. Later scans of its repository omit them. An approved fingerprint
	// stays approved.
	Fingerprints   []string
	Status, RuleID string
	Reason         string
	At             time.Time
	By             string
}

// DecidedPlace is the decision on a statement in a file.
type DecidedPlace struct{ CandidateID, Status, RuleID string }

// ScanReader reads scans.
type ScanReader interface {
	// Get returns a scan, or not_found.
	Get(ctx context.Context, projectID, id string) (Scan, error)
	// List returns a page of a project's scans, newest first, and their total.
	List(ctx context.Context, projectID string, offset, limit int) ([]Scan, int, error)
	// ListOpen returns up to limit scans of all projects that are open and were created before a time, oldest first.
	ListOpen(ctx context.Context, before time.Time, limit int) ([]Scan, error)
	// Files calls fn with the parts of the input of an open scan, in order. An error of fn ends the walk, and the method returns it.
	Files(ctx context.Context, projectID, id string, fn func(part []byte) error) error
}

// ScanTx writes scans.
type ScanTx interface {
	ScanReader

	// Insert stores an open scan with the parts of its input; conflict if the id is taken.
	Insert(ctx context.Context, s Scan, parts [][]byte) error
	// Complete ends an open scan with candidates, and removes its input; conflict if it has
	// ended, not_found without it.
	Complete(ctx context.Context, projectID, id string, result []byte, candidates []Candidate, at time.Time) error
	// Fail ends an open scan as failed, and removes its input; conflict if it has ended, not_found
	// without it.
	Fail(ctx context.Context, projectID, id, reason string, at time.Time) error
}

// CandidateReader reads candidates.
type CandidateReader interface {
	// Get returns a candidate, or not_found.
	Get(ctx context.Context, projectID, id string) (Candidate, error)
	// Find returns a page of the candidates that match f, in the order of the scan, and the total.
	Find(ctx context.Context, f CandidateFilter) ([]Candidate, int, error)
	// Count returns the number of candidates of scans, by id of the scan and status.
	Count(ctx context.Context, projectID string, scanIDs []string) (map[string]map[string]int, error)
	// DecidedPlaces returns the decisions on fingerprints that have one, by fingerprint.
	DecidedPlaces(ctx context.Context, projectID, repository string, fingerprints []string) (map[string]DecidedPlace, error)
}

// CandidateTx writes candidates.
type CandidateTx interface {
	CandidateReader

	// Decide stores a decision on a pending candidate, and on the pending candidates of other scans of its repository
	// that have its fingerprint; conflict if it has a decision, or if the statement was approved in one of its places;
	// not_found without it. Of concurrent transactions, one succeeds.
	Decide(ctx context.Context, d CandidateDecision) error
	// Reopen takes back the dismissal of a candidate, and what was remembered of it for later scans: it is pending again, as are the
	// candidates that were dismissed with it. conflict if it is not dismissed, not_found without it.
	Reopen(ctx context.Context, projectID, id string) error
}
