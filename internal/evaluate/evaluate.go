// Package evaluate is the pipeline from a subject to recorded verdicts: parse, select rules, run checks, ask the judge,
// aggregate, record. Nothing is answered before its record is durable.
package evaluate

import (
	"context"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Limits of a request.
const (
	DefaultMaxRules = 20
	MaxMaxRules     = 100
	MaxAction       = 10000 // characters of a plain-text action; quick evaluations take 5,000
	MaxIntent       = 10000 // characters of an intent
	MaxName         = 1024  // bytes of a scope or a repository
)

// DefaultSeverityMin is the least severity that is judged unless the request says otherwise.
const DefaultSeverityMin = rule.Medium

// Views gives the corpus view of a project.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Judge decides rules that no check decides.
type Judge interface {
	Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) judge.Result
}

// Recorder makes records durable; audit.Writer is one.
type Recorder interface {
	Append(ctx context.Context, r audit.Record) error
}

// Config sets up [New]. Views, Judge, Recorder, Checks and Now are required.
type Config struct {
	Views    Views
	Judge    Judge
	Recorder Recorder
	// Estimate tells what Judge would ask of a model. Nil counts the verdicts alone.
	Estimate func(s *subject.Subject, rules []*rule.Rule) rule.Estimate
	// Fresh asks the model again where a live replay wants that, and takes no kept verdicts; nil means Judge.
	Fresh Judge
	// Records reads what was recorded, and keeps submissions and feedback. Nil is enough for Evaluate and Applicable alone.
	Records store.Store
	Checks  *check.Cache
	Now     func() time.Time
	// Released gives the rules that are active in an environment. Nil means that nothing is deployed anywhere.
	Released Released
	// Documents holds the uploaded documents that a submission may name. Nil means that there are none.
	Documents Documents
	// Queue takes submissions that are carried out in the background. Nil means that all are answered at once.
	Queue job.Queue
	// Redact takes secrets out of what is kept. Nil keeps texts as they are.
	Redact Redactor
	// Subjects says what is kept of what was judged; empty means [KeepRedacted].
	Subjects Keep
	// Publish tells of violations that have happened, in the transaction of their record. Nil: nobody listens.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
}

// Released gives the rules that are active in an environment.
type Released interface {
	// Deployed returns the view of the snapshot that is active in an environment, and its id; conflict if nothing is deployed there.
	Deployed(ctx context.Context, projectID, environment string) (*corpus.View, string, error)
}

// Documents holds uploaded documents.
type Documents interface {
	// Text returns the title and the text of a document, or not_found.
	Text(ctx context.Context, projectID, id string) (title, text string, err error)
}

// Evaluator runs evaluations. It is safe for concurrent use.
type Evaluator struct {
	cfg Config
	// owner names this process in the leases of submissions.
	owner    string
	measured measured
}

// New makes an evaluator.
func New(cfg Config) *Evaluator {
	if cfg.Subjects == "" {
		cfg.Subjects = KeepRedacted
	}
	if cfg.Fresh == nil {
		cfg.Fresh = cfg.Judge
	}
	return &Evaluator{cfg: cfg, owner: audit.NewID()}
}

// Environments are the places that rules can be released to.
var Environments = []string{"production", "staging", "development"}

// Request asks for an evaluation. Zero fields take the defaults: preflight, 20 rules, severity MEDIUM.
type Request struct {
	ProjectID string
	Input     subject.Input
	// Submitted, if not nil, is what Input is made of; of Input only the scope counts then.
	Submitted *subject.Submitted
	// NodeID is the federation node whose effective rules are applied; empty means the node that the subject's repository is
	// bound to, and all live rules where there is none.
	NodeID      string
	Environment string // one of [Environments], whose released rules are applied; empty for the live rules
	Mode        rule.Mode
	MaxRules    int
	SeverityMin rule.Severity
	// Decided, if not nil, is told each verdict once it is final, from several goroutines but never from two at once. What
	// it was told is not yet recorded: only the return of Evaluate says that.
	Decided func(rule.RuleVerdict)

	id string // of the evaluation; a new one if empty
}

// Evaluate judges a subject against the rules of a project and records the evaluation. If ctx ends before the verdicts are
// there, nothing is recorded.
func (e *Evaluator) Evaluate(ctx context.Context, req Request) (*rule.Evaluation, error) {
	r, err := e.prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	return r.conduct(ctx)
}

// prepare does all that can refuse a request: what it lets through is carried out.
func (e *Evaluator) prepare(ctx context.Context, req Request) (*run, error) {
	start := e.cfg.Now()
	if err := e.resolve(ctx, &req); err != nil {
		return nil, err
	}
	if err := req.normalize(); err != nil {
		return nil, err
	}
	s, err := subject.Build(req.Input)
	if err != nil {
		return nil, req.within(err)
	}
	view, snapshot, err := e.rules(ctx, req.ProjectID, req.Environment)
	if err != nil {
		return nil, err
	}
	within, err := withinNode(view, req.NodeID, s.Repository, start)
	if err != nil {
		return nil, err
	}
	return &run{
		e: e, req: &req, subject: s, view: view, snapshot: snapshot, within: within, judge: e.cfg.Judge, start: start, whole: part{s, check.Prepare(s)},
		waived: e.waivers(ctx, req.ProjectID, start),
	}, nil
}

// rules are the rules to judge by: those of the snapshot that is active in an environment, or the live ones. Where nothing is deployed,
// live rules never stand in: they would pass what a release forbids.
func (e *Evaluator) rules(ctx context.Context, projectID, environment string) (view *corpus.View, snapshot string, err error) {
	if environment == "" {
		view, err = e.cfg.Views.View(ctx, projectID)
		return view, "", err
	}
	if e.cfg.Released == nil {
		return nil, "", rule.Errorf(rule.CodeConflict, "nothing is deployed to %s", environment)
	}
	return e.cfg.Released.Deployed(ctx, projectID, environment)
}

// conduct carries out what was prepared and makes the record durable.
func (r *run) conduct(ctx context.Context) (*rule.Evaluation, error) {
	r.sel = r.selectRules(ctx)
	evaluation := r.decide(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	evaluation.TotalLatencyMS = r.e.cfg.Now().Sub(r.start).Milliseconds()
	record, told := r.record(evaluation)
	record.Actor = auth.ActorFrom(ctx).Name
	if r.e.cfg.Publish != nil && violated(evaluation) {
		event := r.violation(told)
		record.Also = func(ctx context.Context, tx store.Tx) error { return r.e.cfg.Publish(ctx, tx, event) }
	}
	if err := r.e.cfg.Recorder.Append(ctx, record); err != nil {
		return nil, err
	}
	return evaluation, nil
}

// resolve turns a submitted subject into input, with the text of the document that it names.
func (e *Evaluator) resolve(ctx context.Context, req *Request) error {
	if req.Submitted == nil {
		return nil
	}
	s := *req.Submitted
	if id := s.DocumentID(); id != "" {
		if e.cfg.Documents == nil {
			return rule.NotFound("document", id)
		}
		title, text, err := e.cfg.Documents.Text(ctx, req.ProjectID, id)
		if err != nil {
			return err
		}
		if err := s.WithText(title, text); err != nil {
			return err
		}
	}
	in, err := s.Input()
	if err != nil {
		return err
	}
	in.Scope = req.Input.Scope
	req.Input = in
	return nil
}

// within puts the field errors of a submitted subject under its name.
func (req *Request) within(err error) error {
	if req.Submitted == nil {
		return err
	}
	var p rule.Problems
	p.AddAll("subject", err)
	return p.Err("the subject is invalid")
}

// normalize fills defaults and refuses what is out of range.
func (req *Request) normalize() error {
	var p rule.Problems
	if req.Mode == "" {
		req.Mode = rule.Preflight
	}
	if mode, ok := rule.Parse(string(req.Mode), rule.Modes); ok {
		req.Mode = mode
	} else {
		p.Add("mode", "is %q; use one of %s", string(req.Mode), rule.Names(rule.Modes))
	}
	if req.SeverityMin == "" {
		req.SeverityMin = DefaultSeverityMin
	}
	if s, ok := rule.Parse(string(req.SeverityMin), rule.Severities); ok {
		req.SeverityMin = s
	} else {
		p.Add("severity_min", "is %q; use one of %s", string(req.SeverityMin), rule.Names(rule.Severities))
	}
	if req.Environment != "" {
		if env, ok := rule.Parse(req.Environment, Environments); ok {
			req.Environment = env
		} else {
			p.Add("environment", "is %q; use one of %s", req.Environment, strings.Join(Environments, ", "))
		}
	}
	if req.MaxRules == 0 {
		req.MaxRules = DefaultMaxRules
	}
	if req.MaxRules < 1 || req.MaxRules > MaxMaxRules {
		p.Add("max_rules", "is %d; use 1 to %d", req.MaxRules, MaxMaxRules)
	}
	in := &req.Input
	in.Scope = cleanScope(&p, in.Scope)
	if len(in.Repository) > MaxName {
		p.Add("repository", "has %d bytes; at most %d are allowed", len(in.Repository), MaxName)
	}
	if n := len([]rune(in.Intent)); n > MaxIntent {
		p.Add("intent", "has %d characters; at most %d are allowed", n, MaxIntent)
	}
	if n := len([]rune(in.Action)); n > MaxAction {
		p.Add("action", "has %d characters; at most %d are allowed", n, MaxAction)
	}
	return p.Err("the evaluation request is invalid")
}

// cleanScope brings the scope of a subject to the form that rules have; * is every scope, as none is. A scope that could match
// no rule by mistake is noted.
func cleanScope(p *rule.Problems, scope string) string {
	scope = rule.CleanScope(scope)
	switch {
	case scope == "*":
		return ""
	case len(scope) > MaxName:
		p.Add("scope", "has %d bytes; at most %d are allowed", len(scope), MaxName)
	case scope != "" && slices.ContainsFunc(strings.Split(scope, "/"), func(s string) bool { return s == "" || s == "*" }):
		p.Add("scope", "is %q; write a path without empty or * segments, such as finance/payments", scope)
	}
	return scope
}

// ApplicableQuery asks which rules would apply. Empty fields leave open what they describe.
type ApplicableQuery struct {
	ProjectID  string
	View       *corpus.View // whose rules may apply instead of the live ones, such as a snapshot's; nil for those
	FilePaths  []string
	Repository string
	Scope      string
	NodeID     string // as in [Request]
}

// Applicable returns the rules that apply, best ranked first, MAY and INFO rules included. Nothing is evaluated.
func (e *Evaluator) Applicable(ctx context.Context, q ApplicableQuery) ([]rule.Rule, error) {
	var p rule.Problems
	q.Scope = cleanScope(&p, q.Scope)
	if err := p.Err("the question is invalid"); err != nil {
		return nil, err
	}
	view := q.View
	if view == nil {
		var err error
		if view, err = e.cfg.Views.View(ctx, q.ProjectID); err != nil {
			return nil, err
		}
	}
	now := e.cfg.Now()
	within, err := withinNode(view, q.NodeID, q.Repository, now)
	if err != nil {
		return nil, err
	}
	query := corpus.Query{
		Now: now, Scope: q.Scope, Repository: q.Repository, Context: true, Within: within,
		AnyKind: len(q.FilePaths) == 0, AnyPath: len(q.FilePaths) == 0, Paths: q.FilePaths, Terms: q.FilePaths,
		Kinds: []subject.Kind{subject.CodeChange},
	}
	matches, _ := within.Split(view.Applicable(&query))
	silencers := corpus.Silencers(&query, matches, func(int) bool { return true })
	rules := make([]rule.Rule, 0, len(matches))
	for i, m := range matches {
		if silencers[i] < 0 {
			rules = append(rules, *m.Rule)
		}
	}
	return rules, nil
}
