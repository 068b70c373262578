package wire

import (
	"time"

	"tenet/internal/rule"
)

// Candidates is a page of the candidates of a scan.
type Candidates struct {
	Candidates []Candidate `json:"candidates" nullable:"false" doc:"Candidates of this page."`
	Total      int         `json:"total" doc:"Candidates on all pages."`
	Limit      int         `json:"limit" doc:"Candidates per page."`
	Offset     int         `json:"offset" doc:"Candidates before this page."`
}

// DismissCandidate is the body that dismisses a candidate.
type DismissCandidate struct {
	Reason string `json:"reason,omitempty" doc:"Why, at most 1000 characters."`
}

// ApproveCandidates is the body that approves many candidates.
type ApproveCandidates struct {
	Selection
	Overrides *Overrides `json:"metadata_overrides,omitempty" nullable:"false" doc:"What takes the place of the suggested metadata of each."`
}

// DismissCandidates is the body that dismisses many candidates.
type DismissCandidates struct {
	Selection
	Reason string `json:"reason,omitempty" doc:"Why, at most 1000 characters."`
}

// CandidateApproval holds the changes of a reviewer to a candidate that becomes a rule. Empty fields take what the candidate suggests.
type CandidateApproval struct {
	Statement *string    `json:"statement,omitempty" nullable:"false" doc:"Rule text in place of the proposed one; an empty one is refused."`
	Overrides *Overrides `json:"metadata_overrides,omitempty" nullable:"false" doc:"What takes the place of the suggested metadata, and what else the rule shall have."`
}

// Overrides take the place of suggested metadata, field by field; what is absent stays.
type Overrides struct {
	Scope       any              `json:"scope,omitempty" doc:"A scope path such as finance/payments, or a list of them; an empty one means everywhere."`
	Modality    rule.Modality    `json:"modality,omitempty" enum:"MUST,MUST_NOT,SHOULD,MAY,INFO" doc:"In any letter case."`
	Severity    rule.Severity    `json:"severity,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"In any letter case."`
	Tags        []string         `json:"tags,omitzero" nullable:"false" doc:"Free labels."`
	Exceptions  []string         `json:"exceptions,omitzero" nullable:"false" doc:"Cases that the rule leaves out."`
	AppliesTo   *rule.AppliesTo  `json:"applies_to,omitempty" nullable:"false" doc:"Which subjects it concerns; an empty one means all."`
	Check       *rule.Check      `json:"check,omitempty" nullable:"false" doc:"Deterministic check; an empty one means none."`
	Rationale   string           `json:"rationale,omitempty" doc:"Why it exists."`
	Slug        string           `json:"slug,omitempty" doc:"Short unique name." example:"SEC-003"`
	Owner       string           `json:"owner,omitempty" doc:"Person or team that answers for it."`
	Enforcement rule.Enforcement `json:"enforcement,omitempty" enum:"enforce,warn,shadow" doc:"What breaking it leads to."`
	Status      rule.Status      `json:"status,omitempty" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE" doc:"DRAFT if absent, as for every new rule; a project that demands two people or tests refuses more."`
}

// Decided is a candidate after a decision.
type Decided struct {
	CandidateID string          `json:"candidate_id" doc:"The candidate."`
	Status      CandidateStatus `json:"status" enum:"pending,approved,dismissed,merged" doc:"What was decided; pending if a decision was taken back."`
	RuleID      string          `json:"rule_id,omitempty" doc:"The rule it has become."`
}

// Selection names candidates of a scan: by their ids, or all that wait for a decision, are confident enough and come from a folder.
type Selection struct {
	CandidateIDs  []string `json:"candidate_ids,omitempty" nullable:"false" maxItems:"500" doc:"Ids of candidates of the scan."`
	All           bool     `json:"all,omitempty" doc:"All that wait for a decision, in place of ids; those of the most confidence first, 500 in one call."`
	MinConfidence *float64 `json:"min_confidence,omitempty" nullable:"false" minimum:"0" maximum:"1" doc:"Of these only those with at least this confidence; it implies all."`
	Path          string   `json:"path,omitempty" maxLength:"1000" doc:"Of these only those from this file, or from files below this folder; it implies all." example:"docs/security"`
}

// MaxBulk bounds the candidates that one call decides on.
const MaxBulk = 500

// Bulk is the result of decisions on many candidates.
type Bulk struct {
	Results   []BulkResult `json:"results" nullable:"false" doc:"One for each candidate, in order."`
	Done      int          `json:"done" doc:"How many were decided as asked."`
	Failed    int          `json:"failed" doc:"How many were not; their results say why."`
	Remaining int          `json:"remaining" doc:"Candidates that the selection also names and that this call has left for the next one."`
}

// BulkResult is the result for one of them.
type BulkResult struct {
	CandidateID string `json:"candidate_id" doc:"The candidate."`
	Status      string `json:"status" enum:"approved,dismissed,failed" doc:"What was decided; failed if nothing could be."`
	RuleID      string `json:"rule_id,omitempty" doc:"The rule it has become."`
	Code        string `json:"code,omitempty" doc:"Kind of the failure, such as conflict."`
	Error       string `json:"error,omitempty" doc:"Why it failed."`
}

// CandidateStatus is the decision on a candidate.
type CandidateStatus string

// States of a candidate.
const (
	CandidateUndecided CandidateStatus = "pending"
	CandidateApproved  CandidateStatus = "approved"
	CandidateDismissed CandidateStatus = "dismissed"
	CandidateMerged    CandidateStatus = "merged"
)

// Scan is a search for candidate rules, in the background.
type Scan struct {
	ID         string       `json:"scan_id" format:"uuid" doc:"Identifier."`
	Status     Status       `json:"status" enum:"pending,running,completed,failed" doc:"How far it has come."`
	Sources    []SourceKind `json:"sources" nullable:"false" doc:"Kinds of sources that it looks at."`
	Repository string       `json:"repository,omitempty" doc:"Repository of the files."`
	DocumentID string       `json:"document_id,omitempty" doc:"Uploaded document that it reads, if it reads one."`
	Archive    string       `json:"archive,omitempty" doc:"Name of the archive that its files come from, if they came in one."`
	JobID      int64        `json:"job_id" doc:"The job that does it."`
	Progress   Progress     `json:"progress" doc:"Files read, and files there are to read."`
	CreatedAt  time.Time    `json:"created_at" doc:"When it was asked for."`
	CreatedBy  string       `json:"created_by" doc:"Actor that asked for it."`
	// CandidatesCount is nil until the scan is completed, and so are the figures after it.
	CandidatesCount *int `json:"candidates_count,omitempty" doc:"Candidates it has found, decided or not; absent until it is completed."`
	Pending         *int `json:"candidates_pending,omitempty" doc:"Those of them that wait for a decision."`
	// Decided is nil until the scan is completed.
	Decided     map[CandidateStatus]int `json:"candidates_decided,omitempty" doc:"The others by decision: approved, dismissed, merged."`
	CompletedAt *time.Time              `json:"completed_at,omitempty" doc:"When it was completed."`
	PrunedAt    *time.Time              `json:"pruned_at,omitempty" doc:"When retention has removed its candidates that had become no rule."`
	Reason      string                  `json:"reason,omitempty" doc:"Why it failed."`
	ScanResult  `yaml:"result"`
}

// ScanResult holds the figures of a scan. It is empty until the scan is completed.
type ScanResult struct {
	Files         int          `json:"files" doc:"Files it was given."`
	FilesRead     int          `json:"files_read" doc:"Those of them that are of the kinds asked for."`
	Found         int          `json:"found" doc:"Statements found, before those that are the same were merged."`
	Known         int          `json:"known" doc:"Statements left out because they have been approved or dismissed before, in the same file."`
	LeftOut       int          `json:"left_out,omitempty" doc:"Candidates left out because there were too many: those of the least confidence."`
	Refined       int          `json:"refined,omitempty" doc:"Candidates that the model has refined."`
	Model         string       `json:"model,omitempty" doc:"The model that refined candidates, if there is one."`
	ModelProblem  string       `json:"model_problem,omitempty" doc:"Why the model could not look at all candidates; those stay as they were found."`
	Excluded      []Excluded   `json:"excluded,omitempty" nullable:"false" doc:"Files that were not read because of excludes, by reason; the most first."`
	Problems      []Unreadable `json:"problems" nullable:"false" doc:"Files that could not be read, or not wholly; the first 1,000."`
	ProblemsTotal int          `json:"problems_total" doc:"How many there are."`
}

// Excluded counts the files that a scan leaves out for one reason.
type Excluded struct {
	Reason   string   `json:"reason" doc:"Why, such as test data." maxLength:"200"`
	Files    int      `json:"files" doc:"How many." minimum:"0"`
	Examples []string `json:"examples" nullable:"false" doc:"Paths of the first few." maxItems:"5"`
}

// Unreadable is a file, or a part of one, that a scan could not read.
type Unreadable struct {
	File   string `json:"file" doc:"The file."`
	Line   int    `json:"line,omitempty" doc:"Where in it; 0 if that is not known."`
	Reason string `json:"reason" doc:"Why it could not be read."`
}

// Place is where a candidate was found.
type Place struct {
	SourceFile    string     `json:"source_file" doc:"File the candidate came from."`
	SourceLine    int        `json:"source_line" doc:"Line in that file, from 1."`
	SourceEndLine int        `json:"source_end_line" doc:"Last line."`
	Quote         string     `json:"quote" doc:"What the file says there."`
	Section       string     `json:"section,omitempty" doc:"Headings or keys above it."`
	Source        SourceKind `json:"source" enum:"policy_document,assistant_md,linter_config,code_patterns" doc:"Kind of source."`
	Method        string     `json:"method" doc:"How it was found."`
	Note          string     `json:"note,omitempty" doc:"What else a reviewer should know."`
}

// Metadata holds the fields that a candidate suggests for its rule.
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

// Similar is an existing rule that says the same as a candidate, nearly the same, or the contrary.
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
	SuggestedMetadata Metadata        `json:"suggested_metadata" doc:"What its rule should be."`
	Places            []Place         `json:"places" nullable:"false" doc:"All places it was found in, the one above first."`
	SimilarRules      []Similar       `json:"similar_rules" nullable:"false" doc:"Rules there were, at the time of the scan, that say the same, nearly so, or the contrary; the nearest first."`
	Status            CandidateStatus `json:"status" enum:"pending,approved,dismissed,merged" doc:"What has been decided."`
	RuleID            string          `json:"rule_id,omitempty" doc:"The rule it has become, or was merged into."`
	MergedInto        string          `json:"merged_into,omitempty" doc:"The candidate that it was merged into."`
	ExclusionID       string          `json:"exclusion_id,omitempty" doc:"The exclusion that has dismissed it."`
	Reason            string          `json:"reason,omitempty" doc:"Why it was dismissed."`
	DecidedAt         *time.Time      `json:"decided_at,omitempty" doc:"When that was decided."`
	DecidedBy         string          `json:"decided_by,omitempty" doc:"Actor that decided it."`
}

// ScanRequest asks for a scan.
type ScanRequest struct {
	Sources    []SourceKind      `json:"sources" nullable:"false" doc:"Kinds of sources to look at: policy_document, assistant_md, linter_config, code_patterns."`
	Files      map[string]string `json:"file_contents" doc:"Texts of files by their path, which is relative to the root of the repository; 10,000 at most."`
	Repository string            `json:"repository,omitempty" doc:"Repository they are from. What was decided of a file of a repository is remembered for its next scan." example:"acme/payments"`
	Exclude    []string          `json:"exclude,omitempty" nullable:"false" maxItems:"100" doc:"Globs of files to leave out." example:"[\"docs/archive/**\"]"`
	Include    []string          `json:"include,omitempty" nullable:"false" maxItems:"100" doc:"Globs of files to read although the default excludes name them." example:"[\"testdata/policies/**\"]"`
	// NoDefaultExcludes also reads what is left out otherwise.
	NoDefaultExcludes bool       `json:"no_default_excludes,omitempty" doc:"Also read test data, packages of other people, change logs and the manual of a product, which are left out otherwise."`
	Excluded          []Excluded `json:"excluded,omitempty" nullable:"false" maxItems:"20" doc:"Files that the caller has left out before, for the record of the scan."`
}

// SourceKind is a kind of place that rules are found in.
type SourceKind string

// The kinds of sources.
const (
	PolicyDocument SourceKind = "policy_document"
	AssistantMD    SourceKind = "assistant_md"
	LinterConfig   SourceKind = "linter_config"
	CodePatterns   SourceKind = "code_patterns"
)

// SourceKinds are all kinds, in the order they are shown in.
var SourceKinds = []SourceKind{PolicyDocument, AssistantMD, LinterConfig, CodePatterns}

// CandidateDetail is a candidate with all that a reviewer needs to decide on it.
type CandidateDetail struct {
	Candidate
	Excerpt  Excerpt     `json:"excerpt" doc:"The lines of the source round the first place, without secrets."`
	Alike    []Alike     `json:"alike" nullable:"false" doc:"Candidates of the same scan that say nearly the same and wait for a decision, the nearest first; at most 5."`
	Merged   []MergedOne `json:"merged" nullable:"false" doc:"Candidates that were merged into it."`
	Previous string      `json:"previous,omitempty" doc:"The candidate before it that waits for a decision, in the order of the scan."`
	Next     string      `json:"next,omitempty" doc:"The one after it."`
	Before   int         `json:"before" doc:"How many come before it that wait for a decision."`
	Waiting  int         `json:"waiting" doc:"How many wait for a decision, of those that the query selects."`
}

// Excerpt is a part of a source.
type Excerpt struct {
	FirstLine int      `json:"first_line" doc:"Number of the first line, from 1."`
	Lines     []string `json:"lines" nullable:"false" doc:"The lines, each cut to 400 characters."`
	Quoted    bool     `json:"quoted,omitempty" doc:"True if only the quote is at hand: of files that are no plain text, and of older scans."`
}

// Alike is a candidate that says nearly the same as another.
type Alike struct {
	CandidateID string  `json:"candidate_id" doc:"The candidate."`
	Statement   string  `json:"statement" doc:"What it says."`
	SourceFile  string  `json:"source_file" doc:"Where it was found."`
	SourceLine  int     `json:"source_line" doc:"Line in that file."`
	Similarity  float64 `json:"similarity" minimum:"0" maximum:"1" doc:"1 for the same words, apart from case and endings."`
}

// MergedOne is a candidate that was merged into another.
type MergedOne struct {
	CandidateID string  `json:"candidate_id" doc:"The candidate."`
	Statement   string  `json:"statement" doc:"What it says."`
	Places      []Place `json:"places" nullable:"false" doc:"Where it was found."`
}

// MergeCandidate is the body that merges a candidate into a rule or into another candidate.
type MergeCandidate struct {
	RuleID      string `json:"rule_id,omitempty" doc:"Rule, by id or short name: it gets the places of the candidate as sources."`
	CandidateID string `json:"candidate_id,omitempty" doc:"Candidate of the same repository that waits for a decision: what is decided of it holds for both."`
}

// ScanFile counts the candidates that were found first in one file.
type ScanFile struct {
	SourceFile string `json:"source_file" doc:"The file."`
	Candidates int    `json:"candidates" doc:"Its candidates."`
	Pending    int    `json:"pending" doc:"Those of them that wait for a decision."`
}

// Exclusion is a folder or a file that scans leave out.
type Exclusion struct {
	ID         string    `json:"id" format:"uuid" doc:"Identifier."`
	Repository string    `json:"repository" doc:"Repository that it is for; empty for every one."`
	Path       string    `json:"path" doc:"Folder or file, relative to the root of the repository."`
	Reason     string    `json:"reason,omitempty" doc:"Why."`
	CreatedAt  time.Time `json:"created_at" doc:"Since when."`
	CreatedBy  string    `json:"created_by" doc:"Who has excluded it."`
}

// CreateExclusion is the body that excludes a folder or a file from scans.
type CreateExclusion struct {
	Repository string `json:"repository,omitempty" doc:"Repository, as its scans name it; absent means every one." example:"acme/payments"`
	Path       string `json:"path" doc:"Folder or file, relative to the root of the repository." example:"docs/manual"`
	Reason     string `json:"reason,omitempty" doc:"Why, at most 1000 characters."`
}

// ExclusionMade is a new exclusion with its effect.
type ExclusionMade struct {
	Exclusion
	Dismissed int `json:"dismissed" doc:"Candidates that it has dismissed: those found nowhere else that waited for a decision."`
}

// Lifted is the effect of lifting an exclusion.
type Lifted struct {
	Reopened int `json:"reopened" doc:"Candidates that it had dismissed and that wait for a decision again."`
}

// ArchiveScan asks for a scan of the files in an archive.
type ArchiveScan struct {
	Filename          string
	Content           []byte
	Sources           []SourceKind
	Repository        string
	Exclude, Include  []string
	NoDefaultExcludes bool
}

// Request returns the request for a scan of the files, without these.
func (a *ArchiveScan) Request() ScanRequest {
	return ScanRequest{Sources: a.Sources, Repository: a.Repository, Exclude: a.Exclude, Include: a.Include, NoDefaultExcludes: a.NoDefaultExcludes}
}

// CandidatesFound is the data of the event about a scan that has found candidates.
type CandidatesFound struct {
	Scan
	BySeverity map[string]int `json:"by_severity" doc:"New candidates by suggested severity."`
	First      []FoundOne     `json:"first" nullable:"false" doc:"The candidates of the most confidence; at most 10."`
}

// FoundOne is a candidate of [CandidatesFound].
type FoundOne struct {
	CandidateID string  `json:"candidate_id" doc:"The candidate."`
	Statement   string  `json:"statement" doc:"What it says."`
	Severity    string  `json:"severity" doc:"Suggested severity, in lower case."`
	Confidence  float64 `json:"confidence" doc:"Its confidence."`
	SourceFile  string  `json:"source_file" doc:"Where it was found."`
	SourceLine  int     `json:"source_line" doc:"Line in that file."`
}

// Reliability compares the confidence of candidates with how often they were rules.
type Reliability struct {
	Candidates int               `json:"candidates" doc:"How many candidates people have judged for it. They are from texts that the reader was not tuned on."`
	Ranges     []ConfidenceRange `json:"ranges" nullable:"false" doc:"Ranges of confidence, the lowest first."`
}

// ConfidenceRange is a range of confidence in [Reliability].
type ConfidenceRange struct {
	From       float64 `json:"from" doc:"Least confidence of the range."`
	Until      float64 `json:"until" doc:"End of the range; the last one includes it."`
	Candidates int     `json:"candidates" doc:"Candidates whose confidence was in the range."`
	Confidence float64 `json:"confidence" doc:"Mean of their confidence."`
	Rules      float64 `json:"rules" doc:"Share of them that were rules."`
}
