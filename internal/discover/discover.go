// Package discover finds candidate rules in what an organisation has already, and lets reviewers decide on them. Readers of
// the kinds of sources do the reading; here is all around it: scans in the background, merging of what is found twice,
// comparison with the rules there are, and the approval that makes a candidate a rule. Nothing is approved by itself.
package discover

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Views gives the corpus views of projects; corpus.Live is one.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Rules makes rules of approved candidates.
type Rules interface {
	// Adopt makes a rule as an ordinary request does, and calls also in the same transaction, in which an error leaves no rule.
	Adopt(ctx context.Context, projectID string, r rule.Rule, also func(tx store.Tx, made rule.Rule) error) (rule.Rule, error)
}

// Documents gives uploaded documents.
type Documents interface {
	// File returns the name and the bytes of a document, or not_found.
	File(ctx context.Context, projectID, id string) (filename string, content []byte, err error)
}

// Embedder makes vectors of texts; every llm.Embedder is one.
type Embedder interface {
	ID() string
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Config sets up [New]. Store, Readers, Rules, Views, Documents, Queue and Now are required.
type Config struct {
	Store     store.Store
	Readers   []source.Reader
	Rules     Rules
	Views     Views
	Documents Documents
	Queue     job.Queue // of the jobs that HandleScan does
	// Model refines what is found in texts; nil means that there is none.
	Model llm.Model
	// Embedder finds rules that mean the same in other words; nil means that words alone are compared.
	Embedder Embedder
	// Contradicts tells whether two rules contradict each other, why, and how sure that is; nil means that it is not told.
	Contradicts func(a, b rule.Rule) (reason string, confidence float64, ok bool)
	// Publish tells others of new candidates; nil means that nobody listens.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	Logger  *slog.Logger // nil logs nothing
	Now     func() time.Time
}

// Discovery runs scans and keeps candidates. It is safe for concurrent use.
type Discovery struct {
	cfg      Config
	store    store.Store
	redactor *redact.Redactor
}

// New makes a Discovery.
func New(cfg Config) *Discovery {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Discovery{cfg: cfg, store: cfg.Store, redactor: redact.New()}
}

// instant is the current time as it is stored.
func (d *Discovery) instant() time.Time { return d.cfg.Now().UTC().Truncate(time.Microsecond) }

// Status is how far a scan has come.
type Status string

// States of a scan.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Decision is what has been decided of a candidate.
type Decision string

// States of a candidate.
const (
	Undecided Decision = store.CandidatePending
	Approved  Decision = store.CandidateApproved
	Dismissed Decision = store.CandidateDismissed
)

// Decisions are the states of a candidate.
var Decisions = []Decision{Undecided, Approved, Dismissed}

// Scan is a search for candidate rules, in the background.
type Scan struct {
	ID         string        `json:"scan_id" format:"uuid" doc:"Identifier."`
	Status     Status        `json:"status" enum:"pending,running,completed,failed" doc:"How far it has come."`
	Sources    []source.Kind `json:"sources" nullable:"false" doc:"Kinds of sources that it looks at."`
	Repository string        `json:"repository,omitempty" doc:"Repository of the files."`
	DocumentID string        `json:"document_id,omitempty" doc:"Uploaded document that it reads, if it reads one."`
	JobID      int64         `json:"job_id" doc:"The job that does it."`
	Progress   job.Progress  `json:"progress" doc:"Files read, and files there are to read."`
	CreatedAt  time.Time     `json:"created_at" doc:"When it was asked for."`
	CreatedBy  string        `json:"created_by" doc:"Actor that asked for it."`
	// CandidatesCount is nil until the scan is completed, and so are the figures after it.
	CandidatesCount *int       `json:"candidates_count,omitempty" doc:"Candidates it has found, decided or not; absent until it is completed."`
	Pending         *int       `json:"candidates_pending,omitempty" doc:"Those of them that wait for a decision."`
	CompletedAt     *time.Time `json:"completed_at,omitempty" doc:"When it was completed."`
	Reason          string     `json:"reason,omitempty" doc:"Why it failed."`
	Result
}

// Result is what a scan tells beside its candidates. It is empty until the scan is completed.
type Result struct {
	Files         int          `json:"files" doc:"Files it was given."`
	FilesRead     int          `json:"files_read" doc:"Those of them that are of the kinds asked for."`
	Found         int          `json:"found" doc:"Statements found, before those that are the same were merged."`
	Known         int          `json:"known" doc:"Statements left out because they have been approved or dismissed before, in the same file."`
	LeftOut       int          `json:"left_out,omitempty" doc:"Candidates left out because there were too many: those of the least confidence."`
	Refined       int          `json:"refined,omitempty" doc:"Candidates that the model has refined."`
	Model         string       `json:"model,omitempty" doc:"The model that refined candidates, if there is one."`
	ModelProblem  string       `json:"model_problem,omitempty" doc:"Why the model could not look at all candidates; those stay as they were found."`
	Problems      []Unreadable `json:"problems" nullable:"false" doc:"Files that could not be read, or not wholly; the first 1,000."`
	ProblemsTotal int          `json:"problems_total" doc:"How many there are."`
}

// Unreadable is a file, or a part of one, that a scan could not read.
type Unreadable source.Problem

// Place is where a candidate was found.
type Place struct {
	SourceFile    string      `json:"source_file" doc:"File the candidate came from."`
	SourceLine    int         `json:"source_line" doc:"Line in that file, from 1."`
	SourceEndLine int         `json:"source_end_line" doc:"Last line."`
	Quote         string      `json:"quote" doc:"What the file says there."`
	Section       string      `json:"section,omitempty" doc:"Headings or keys above it."`
	Source        source.Kind `json:"source" enum:"policy_document,assistant_md,linter_config,code_patterns" doc:"Kind of source."`
	Method        string      `json:"method" doc:"How it was found."`
	Note          string      `json:"note,omitempty" doc:"What else a reviewer should know."`
}

// Metadata is what a candidate suggests for its rule.
type Metadata struct {
	Scope      string          `json:"scope" doc:"Scope path that the rule should hold in; several are joined by commas; empty means everywhere."`
	Modality   rule.Modality   `json:"modality" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"How binding it is."`
	Severity   string          `json:"severity" enum:"low,medium,high,critical" doc:"How much a violation matters, in lower case."`
	Tags       []string        `json:"tags" nullable:"false" doc:"Free labels."`
	Exceptions []string        `json:"exceptions,omitempty" doc:"Cases that it leaves out."`
	AppliesTo  *rule.AppliesTo `json:"applies_to,omitempty" doc:"Which subjects it concerns; absent means all."`
	Check      *rule.Check     `json:"check,omitempty" doc:"Deterministic check."`
	Rationale  string          `json:"rationale,omitempty" doc:"Why it exists."`
}

// Similar is a rule there is already that says the same as a candidate, nearly the same, or the contrary.
type Similar struct {
	RuleID      string  `json:"rule_id" doc:"The rule."`
	Slug        string  `json:"slug,omitempty" doc:"Its short name."`
	Statement   string  `json:"statement" doc:"What it says."`
	Similarity  float64 `json:"similarity" minimum:"0" maximum:"1" doc:"1 for the same words, apart from case and endings."`
	Contradicts bool    `json:"contradicts" doc:"Whether the two contradict each other."`
	Reason      string  `json:"reason,omitempty" doc:"Why they do."`
}

// Candidate is a rule that was found and that a reviewer decides on.
type Candidate struct {
	ID         string  `json:"id" format:"uuid" doc:"Candidate identifier."`
	ScanID     string  `json:"scan_id" format:"uuid" doc:"The scan that found it."`
	Statement  string  `json:"statement" doc:"Proposed rule text."`
	Confidence float64 `json:"confidence" minimum:"0" maximum:"1" doc:"Share of candidates found in this way that a reviewer would approve."`
	Place
	SuggestedMetadata Metadata   `json:"suggested_metadata" doc:"What its rule should be."`
	Places            []Place    `json:"places" nullable:"false" doc:"All places it was found in, the one above first."`
	SimilarRules      []Similar  `json:"similar_rules" nullable:"false" doc:"Rules there were, at the time of the scan, that say the same, nearly so, or the contrary; the nearest first."`
	Status            Decision   `json:"status" enum:"pending,approved,dismissed" doc:"What has been decided."`
	RuleID            string     `json:"rule_id,omitempty" doc:"The rule it has become."`
	Reason            string     `json:"reason,omitempty" doc:"Why it was dismissed."`
	DecidedAt         *time.Time `json:"decided_at,omitempty" doc:"When that was decided."`
	DecidedBy         string     `json:"decided_by,omitempty" doc:"Actor that decided it."`
}

// scopes are the paths of a suggested scope.
func scopes(text string) []string {
	var paths []string
	for s := range strings.SplitSeq(text, ",") {
		if s = rule.CleanScope(s); s != "" && !slices.Contains(paths, s) {
			paths = append(paths, s)
		}
	}
	return paths
}
