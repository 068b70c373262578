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
	CandidateMerged    = "merged"
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
	// PrunedAt is when retention has removed its candidates that had become no rule.
	PrunedAt *time.Time
}

// Candidate is a rule that a scan has found, for a person to decide on.
type Candidate struct {
	ProjectID, ID, ScanID string
	N                     int // place in the scan, from 1
	Repository            string
	Fingerprint           string // of its statement and file
	SourceFile            string // of its first place
	Confidence            float64
	Body                  []byte // JSON: the other results of the scan
	Excerpt               []byte // lines round its first place, as package discover packs them; only [CandidateReader.Excerpt] reads it
	Status                string
	RuleID                string // of an approved one, or the rule that it was merged into
	MergedInto            string // candidate that it was merged into
	ExclusionID           string // exclusion that has dismissed it
	Reason                string // of a dismissed one; may be empty
	DecidedAt             *time.Time
	DecidedBy             string
}

// CandidateFilter selects candidates. Empty fields select everything; ProjectID is required.
type CandidateFilter struct {
	ProjectID, ScanID string
	Repository        *string
	Status            string
	// Path selects those whose first place is in this file, or in a file below this folder.
	Path          string
	MinConfidence float64
	Offset, Limit int
}

// Neighbours are the candidates before and after one in the order of its scan, among those that a filter selects.
type Neighbours struct {
	Previous, Next string // ids; empty without one
	Before, Total  int    // how many come before it, and how many there are
}

// FileCount counts the candidates whose first place is in a file.
type FileCount struct {
	SourceFile     string
	Total, Pending int
}

// Exclusion is a folder or file that scans leave out.
type Exclusion struct {
	ProjectID, ID string
	Repository    string // empty means every repository
	Path          string // without slashes at its ends
	Reason        string
	CreatedAt     time.Time
	CreatedBy     string
}

// CandidateDecision is a decision of a person on a pending candidate.
type CandidateDecision struct {
	ProjectID, ID string
	// Fingerprints are those of all places of the candidate. Later scans of its repository omit them. An approved fingerprint
	// stays approved.
	Fingerprints   []string
	Status, RuleID string
	MergedInto     string
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
	// ListEnded returns up to limit scans of a project that ended before a time and whose candidates retention has yet to remove, oldest first.
	ListEnded(ctx context.Context, projectID string, before time.Time, limit int) ([]Scan, error)
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
	// Prune removes the candidates of an ended scan that have become no rule, and the excerpts of the others, and returns how many it has
	// removed. A scan without any candidate left goes too. Decisions stay, for later scans.
	Prune(ctx context.Context, projectID, id string, at time.Time) (removed int, err error)
}

// CandidateReader reads candidates.
type CandidateReader interface {
	// Get returns a candidate, or not_found.
	Get(ctx context.Context, projectID, id string) (Candidate, error)
	// Find returns a page of the candidates that match f, in the order of the scan, and the total.
	Find(ctx context.Context, f CandidateFilter) ([]Candidate, int, error)
	// Count returns the number of candidates of scans, by id of the scan and status.
	Count(ctx context.Context, projectID string, scanIDs []string) (map[string]map[string]int, error)
	// Excerpt returns the lines round the first place of a candidate; nothing without them.
	Excerpt(ctx context.Context, projectID, id string) ([]byte, error)
	// Neighbours returns the neighbours of the candidate with the number n in its scan, among those that match f.
	Neighbours(ctx context.Context, f CandidateFilter, n int) (Neighbours, error)
	// Merged returns the candidates that were merged into one, in the order of their ids.
	Merged(ctx context.Context, projectID, id string) ([]Candidate, error)
	// FileCounts returns a page of the files of a scan that have candidates, those with most pending ones first, and the number of files.
	FileCounts(ctx context.Context, projectID, scanID string, offset, limit int) ([]FileCount, int, error)
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
	// Reopen takes back the decision on a candidate, and what was remembered of it for later scans: it is pending again, as are the
	// candidates of other scans that were decided with it. conflict if it is pending, not_found without it.
	Reopen(ctx context.Context, projectID, id string) error
	// Exclude dismisses those of the candidates that are pending because of an exclusion, and returns how many. Nothing is remembered for
	// later scans but the exclusion.
	Exclude(ctx context.Context, e Exclusion, ids []string) (int, error)
}

// ExclusionReader reads what scans leave out.
type ExclusionReader interface {
	// Get returns an exclusion, or not_found.
	Get(ctx context.Context, projectID, id string) (Exclusion, error)
	// List returns a page of a project's exclusions in the order of repositories and paths, and their total.
	List(ctx context.Context, projectID string, offset, limit int) ([]Exclusion, int, error)
	// For returns the exclusions for a repository of a project, those for every repository among them.
	For(ctx context.Context, projectID, repository string) ([]Exclusion, error)
}

// ExclusionTx writes what scans leave out.
type ExclusionTx interface {
	ExclusionReader

	// Insert stores an exclusion; conflict if the path of the repository is excluded already.
	Insert(ctx context.Context, e Exclusion) error
	// Delete removes an exclusion, and makes the candidates pending that it has dismissed; it returns how many. not_found without it.
	Delete(ctx context.Context, projectID, id string) (reopened int, err error)
}
