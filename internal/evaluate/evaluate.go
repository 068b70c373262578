// Package evaluate is the pipeline from a subject to recorded verdicts: parse, select rules, run checks, ask the judge,
// aggregate, record. Nothing is answered before its record is durable.
package evaluate

import (
	"context"
	"time"

	"tenet/internal/audit"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate/find"
	"tenet/internal/evaluate/record"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Judge decides rules that no check decides, and finds out which of many could concern a subject; judge.Judge is one.
type Judge interface {
	// Decide returns a verdict for each rule.
	Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result
	// Triage returns an outcome for each rule. A rule without one counts as open.
	Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Triaged
}

// Recorder makes records durable; audit.Writer is one.
type Recorder interface {
	// Append may use the body of the record until it returns, and not after that.
	Append(ctx context.Context, r audit.Record) error
}

// Store holds the parts of the database that this package uses.
type Store struct {
	store.Updater
	Audit       store.AuditReader
	Feedback    store.FeedbackReader
	Jobs        store.JobReader
	Projects    store.ProjectReader
	Rules       store.RuleReader
	Retention   store.RetentionReader
	Parts       store.PartReader // nil for none
	Edges       store.EdgeReader // nil for none
	Submissions store.SubmissionReader
	TestCases   store.TestCaseReader
	// Dropped is that of [record.Store].
	Dropped func(projectID string)
}

func (s Store) archive(personal Sealer) record.Store {
	out := record.Store{Updater: s.Updater, Audit: s.Audit, Feedback: s.Feedback, Projects: s.Projects, Rules: s.Rules, Retention: s.Retention, Edges: s.Edges, Parts: s.Parts, TestCases: s.TestCases, Dropped: s.Dropped}
	if personal != nil {
		out.Personal = personal
	}
	return out
}

// Config sets up [New]. Views, Judge, Checks and Now are required.
type Config struct {
	Views corpus.Views
	Judge Judge
	// Recorder makes records durable before they are answered; nil makes none, for programs that throw them away.
	Recorder Recorder
	// Estimate returns the calls that Judge would make to a model. Nil counts the verdicts alone.
	Estimate func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	// EstimateTriage returns the calls that its triage would make. Nil counts none.
	EstimateTriage func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	// Fresh asks the model again for live replays, and uses no stored verdicts; nil means Judge.
	Fresh Judge
	// Records reads what was recorded, and keeps submissions and feedback. Nil is enough for Evaluate and Applicable alone.
	Records Store
	// Index finds what was recorded.
	Index  *find.Index
	Checks *check.Cache
	Now    func() time.Time
	// Released gives the rules that are active in an environment. Nil means that nothing is deployed anywhere.
	Released Released
	// Documents holds the uploaded documents that a submission may name; it may be nil.
	Documents Documents
	// Queue takes the jobs of submissions that run in the background. Nil refuses those.
	Queue job.Queue
	// Redact takes secrets out of records. Nil leaves texts as they are.
	Redact record.Redactor
	// Personal encrypts personal data of records. Nil refuses evaluations of subjects that have some.
	Personal Sealer
	// Subjects says what records keep of the subject; empty means [record.KeepRedacted].
	Subjects wire.Keep
	// Agents knows the agents that act, and which are suspended; nil suspends none.
	Agents Agents
	// Refuse returns an error if a project must not be evaluated, such as one whose history was changed; nil refuses none.
	Refuse func(ctx context.Context, projectID string) error
	// Approvals keeps the confirmations of people. Nil asks for none and uses none.
	Approvals Approvals
	// Bundle returns by which bundle an edge evaluates now. Nil on servers.
	Bundle func() Bundle
	// FailModes are the demands of the server on what callers do about rules that nothing could judge; nil without any.
	FailModes rule.FailModes
	// Sample returns what queues the judging of a sample of a record's verdicts, in the transaction of the record; nil where none is chosen.
	// A nil Sample chooses none.
	Sample func(rec *wire.EvaluationRecord) func(ctx context.Context, tx store.Tx) error
	// Observe is called with each stage of an evaluation and its time: parse, select, check, triage, judge or record. Nil does nothing.
	Observe func(stage string, took time.Duration)
	// Publish publishes violations that have happened, in the transaction of their record; nil publishes none.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
}

// Released gives the rules that are active in an environment.
type Released interface {
	// Deployed returns the view of the snapshot that is active in an environment, and its id; conflict if nothing is deployed there.
	Deployed(ctx context.Context, projectID, environment string) (*corpus.View, string, error)
}

// Bundle is by what an edge evaluates.
type Bundle struct {
	Name        string // hash of its text
	Environment string // of requests that name none
	Age         time.Duration
	// Stale says why the edge must not simply go on, such as that the bundle is older than it may be; empty if it may.
	Stale string
	// Fail says what the edge does then, by the severity of the most severe rule that applies.
	Fail rule.StaleModes
}

// Agents knows the agents that act.
type Agents interface {
	// Suspended returns the suspension that stops an identity in a project; nil if none does.
	Suspended(ctx context.Context, projectID string, id rule.Identity) (*rule.Suspension, error)
	// Saw notes that an agent has asked for an evaluation.
	Saw(projectID, actor string, id rule.Identity, denied bool)
}

// Documents holds uploaded documents.
type Documents interface {
	// Text returns the title and the text of a document, or not_found.
	Text(ctx context.Context, projectID, id string) (title, text, unread string, err error)
}

// Evaluator runs evaluations. It is safe for concurrent use.
type Evaluator struct {
	cfg Config
	// Archive reads the records that the evaluator has made.
	*record.Archive
	Applying
	// owner names this process in the leases of submissions.
	owner string
}

// New makes an evaluator.
func New(cfg Config) *Evaluator {
	if cfg.Subjects == "" {
		cfg.Subjects = wire.KeepRedacted
	}
	if cfg.Fresh == nil {
		cfg.Fresh = cfg.Judge
	}
	return &Evaluator{
		cfg: cfg, Archive: record.NewArchive(cfg.Records.archive(cfg.Personal), cfg.Index, cfg.Now), Applying: newApplying(cfg.Views, cfg.Checks, cfg.Now),
		owner: audit.NewID(),
	}
}

// Evaluate judges a subject against the rules of a project and records the evaluation. If ctx ends before the verdicts are
// there, nothing is recorded.
func (e *Evaluator) Evaluate(ctx context.Context, req Request) (*rule.Evaluation, error) {
	r, err := e.prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	return mayConfirm(r).conduct(ctx)
}
