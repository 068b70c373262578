package store

import (
	"context"
	"time"
)

// States of a [Scan].
const (
	ScanOpen      = "open" // its job has not ended it
	ScanCompleted = "completed"
	ScanFailed    = "failed"
)

// States of a [Candidate].
const (
	CandidatePending   = "pending"
	CandidateApproved  = "approved"
	CandidateDismissed = "dismissed"
)

// Scan is a search for candidate rules. What it is asked and what it finds is the business of package discover.
type Scan struct {
	ProjectID, ID string
	JobID         int64
	Repository    string // may be empty
	DocumentID    string // of the uploaded document that it reads, if it reads one
	Request       []byte // JSON
	CreatedAt     time.Time
	CreatedBy     string
	State         string
	Result        []byte // JSON; empty until it is completed
	Error         string // why it failed
	EndedAt       *time.Time
}

// Candidate is a rule that a scan has found and that a person decides on.
type Candidate struct {
	ProjectID, ID, ScanID string
	N                     int // place in the scan, from 1
	Repository            string
	Fingerprint           string // of its statement and file
	Confidence            float64
	Body                  []byte // JSON: all else that the scan has found out
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

// CandidateDecision is what a person decides of a pending candidate.
type CandidateDecision struct {
	ProjectID, ID string
	// Fingerprints are those of all places that the candidate was found in. Later scans of its repository leave them out. One
	// that was approved stays so.
	Fingerprints   []string
	Status, RuleID string
	Reason         string
	At             time.Time
	By             string
}

// DecidedPlace is what was decided of a statement in a file.
type DecidedPlace struct{ CandidateID, Status, RuleID string }

// DiscoveryReader reads scans and candidates.
type DiscoveryReader interface {
	// Scan returns a scan, or not_found.
	Scan(ctx context.Context, projectID, id string) (Scan, error)
	// Scans returns a page of a project's scans, newest first, and how many there are.
	Scans(ctx context.Context, projectID string, offset, limit int) ([]Scan, int, error)
	// OpenScans returns up to limit scans of all projects that are open and were made before a time, oldest first.
	OpenScans(ctx context.Context, before time.Time, limit int) ([]Scan, error)
	// ScanFiles calls fn with the parts of what an open scan reads, in order. An error of fn ends the walk and is returned.
	ScanFiles(ctx context.Context, projectID, id string, fn func(part []byte) error) error
	// Candidate returns a candidate, or not_found.
	Candidate(ctx context.Context, projectID, id string) (Candidate, error)
	// FindCandidates returns a page of the candidates that match f, in the order of the scan, and how many match.
	FindCandidates(ctx context.Context, f CandidateFilter) ([]Candidate, int, error)
	// CountCandidates returns how many candidates each of some scans has, by id of the scan and status.
	CountCandidates(ctx context.Context, projectID string, scanIDs []string) (map[string]map[string]int, error)
	// DecidedPlaces returns what was decided of those among fingerprints that something was, by fingerprint.
	DecidedPlaces(ctx context.Context, projectID, repository string, fingerprints []string) (map[string]DecidedPlace, error)
}

// DiscoveryTx writes scans and candidates.
type DiscoveryTx interface {
	// InsertScan stores an open scan with the parts of what it reads; conflict if the id is taken.
	InsertScan(ctx context.Context, s Scan, parts [][]byte) error
	// CompleteScan makes an open scan a completed one with candidates, and removes what it has read; conflict if it has
	// ended, not_found without it.
	CompleteScan(ctx context.Context, projectID, id string, result []byte, candidates []Candidate, at time.Time) error
	// FailScan makes an open scan a failed one, and removes what it should have read; conflict if it has ended, not_found
	// without it.
	FailScan(ctx context.Context, projectID, id, reason string, at time.Time) error
	// DecideCandidate notes a decision on a pending candidate, and on those pending ones of other scans of its repository
	// that have its fingerprint; conflict if it has been decided, or if the statement has been approved in one of its places;
	// not_found without it. Of transactions that race for it, one succeeds.
	DecideCandidate(ctx context.Context, d CandidateDecision) error
}
