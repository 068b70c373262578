// Package agent answers requests in plain words: questions about the rules, actions to be checked, diffs to be reviewed, and
// wishes for rules; and those of the agents that the operator has declared. All agents share one envelope, and none is believed
// more than its evidence: what a model says is checked against the rules it was shown, and what passes judgement is an
// evaluation like any other, on record.
package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// MaxIntent is the most characters that an intent may have.
const MaxIntent = 10_000

// Names of the agents that there always are.
const (
	Ask    = "ask"
	Check  = "check"
	Author = "author"
	Review = "review"
)

// Request is a request to an agent.
type Request struct {
	ProjectID string
	SessionID string // of an earlier answer; empty begins a session
	Intent    string
	// Input is the object of the intent: diff, files, facts, repository and scope. Agents fill in its action and intent.
	Input       subject.Input
	NodeID      string // federation node whose rules count; empty for none
	Environment string // whose active snapshot counts; empty for the live rules
	Mode        rule.Mode
	// Ask asks people for an approval of what is judged, where it needs confirmation.
	Ask wire.ApprovalAsk
	// Store keeps what the author writes, as a draft.
	Store bool
	// Decided, if not nil, gets each verdict of an evaluation once it is final.
	Decided func(rule.RuleVerdict)
	// Step, if not nil, gets each step of the agent.
	Step func(Step)
}

// Step is a thing that an agent does on its way to the answer.
type Step struct {
	Step   string `json:"step"`
	Detail string `json:"detail"`
}

func (r *Request) step(name, detail string) {
	if r.Step != nil {
		r.Step(Step{name, detail})
	}
}

// Evaluator judges a subject by the rules and records the evaluation before it returns.
type Evaluator interface {
	Evaluate(ctx context.Context, req *Request) (*rule.Evaluation, error)
}

// Rules finds rules in force.
type Rules interface {
	// Find returns the rules in force that match a text best, the best first. What the query leaves empty leaves that open.
	Find(ctx context.Context, q Query) ([]rule.Rule, error)
}

// Query says which rules an agent looks at.
type Query struct {
	ProjectID   string
	Text        string // empty for all, in the order they were made
	Scope       string
	Tags        []string
	SeverityMin rule.Severity
	NodeID      string
	Environment string
	Limit       int
}

// Drafts keeps what the author writes.
type Drafts interface {
	// Save makes a rule of status DRAFT with its test cases, which wait for a person to confirm them.
	Save(ctx context.Context, projectID string, d wire.RuleDraft, cases []wire.RuleDraftCase) (rule.Rule, error)
	// Try returns whether a sample keeps a draft (ALLOW) or breaks it (DENY), or neither is certain. It stores nothing.
	Try(ctx context.Context, d wire.RuleDraft, c wire.RuleDraftCase) (rule.Verdict, error)
}

// Recorder makes records durable; audit.Writer is one.
type Recorder interface {
	Append(ctx context.Context, r audit.Record) error
}

// Config sets up [New]. Evaluator, Rules, Drafts, Recorder and Now are required.
type Config struct {
	Evaluator Evaluator
	Rules     Rules
	Drafts    Drafts
	Recorder  Recorder
	// Model writes answers and drafts; it may be nil.
	Model llm.Model
	// Confirm looks whether rules say what an answer says; nil lets Model look a second time.
	Confirm llm.Model
	// Timeout bounds one call to the model; 0 is 30 s.
	Timeout time.Duration
	// Declared are the agents of the operator.
	Declared []Declared
	Sessions Limits
	// Bare records keep of texts only their hashes. Other records keep them without secrets, for good.
	Bare   bool
	Now    func() time.Time
	Logger *slog.Logger // nil discards
}

// Agents answers requests. It is safe for concurrent use.
type Agents struct {
	cfg      Config
	redactor *redact.Redactor
	sessions *sessions
	byName   map[string]handler
}

// handler answers a request for one agent. past are the turns of its session, oldest first.
type handler func(ctx context.Context, req *Request, past []turn) (*reply, error)

// reply is an agent's answer without the envelope.
type reply struct {
	result     any
	status     wire.AgentStatus // empty is Completed
	confidence float64
	reasoning  string
	followUps  []string
	trace      string // of the evaluation; empty has one recorded
	memory     string // what the session remembers of the answer
}

// New makes the agents.
func New(cfg Config) *Agents {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.Confirm == nil {
		cfg.Confirm = cfg.Model
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Agents{cfg: cfg, redactor: redact.New(), sessions: newSessions(cfg.Sessions, cfg.Now)}
	a.byName = map[string]handler{Ask: a.ask, Check: a.check, Author: a.author, Review: a.review}
	for i := range cfg.Declared {
		d := &cfg.Declared[i]
		a.byName[d.Name] = func(ctx context.Context, req *Request, past []turn) (*reply, error) {
			return a.runDeclared(ctx, d, req, past)
		}
	}
	return a
}

// Declared lists the agents of the operator, in the order of the settings.
func (a *Agents) Declared() []Declared { return a.cfg.Declared }

// Run lets an agent answer a request. The error is invalid or forbidden and the like where the request is at fault; then there
// is no answer. If the agent is at fault, because it has no model or no usable answer of one, Run returns both: an error of code
// unavailable, and an answer of status error that says the same.
func (a *Agents) Run(ctx context.Context, name string, req Request) (*wire.AgentAnswer, error) {
	run, ok := a.byName[name]
	if !ok {
		return nil, rule.NotFound("agent", name)
	}
	if err := req.normalize(); err != nil {
		return nil, err
	}
	s, past, found := a.sessions.open(ownerOf(ctx), req.ProjectID, name, req.SessionID)
	out, err := run(ctx, &req, past)
	if err != nil {
		return a.failed(ctx, name, &req, s.id, err)
	}
	if out.status == "" {
		out.status = wire.AgentCompleted
	}
	if !found {
		out.reasoning += " (The session that was named is not known here or has ended, so this answer begins a new one.)"
	}
	if out.trace == "" {
		if out.trace, err = a.record(ctx, name, &req, out); err != nil {
			return nil, err
		}
	}
	a.sessions.add(s, turn{intent: a.clean(req.Intent), answer: a.clean(out.memory), status: out.status})
	if out.followUps == nil {
		out.followUps = []string{}
	}
	return &wire.AgentAnswer{
		Result: out.result, Status: out.status, Confidence: out.confidence, Reasoning: strings.TrimSpace(out.reasoning),
		FollowUps: out.followUps, TraceID: out.trace, SessionID: s.id,
	}, nil
}

// failed makes the answer of an agent that could do nothing. Other errors are not the agent's own.
func (a *Agents) failed(ctx context.Context, name string, req *Request, session string, err error) (*wire.AgentAnswer, error) {
	e, ok := errors.AsType[*modelError](err)
	if !ok {
		return nil, err
	}
	out := &reply{status: wire.AgentFailed, reasoning: "Nothing was decided: " + e.public.Message}
	trace, errRecord := a.record(ctx, name, req, out)
	if errRecord != nil {
		return nil, errRecord
	}
	return &wire.AgentAnswer{
		Status: wire.AgentFailed, Reasoning: out.reasoning, FollowUps: e.followUps, Error: &wire.AgentFailure{Code: e.public.Code, Message: e.public.Message}, TraceID: trace,
		SessionID: session,
	}, err
}

// normalize refuses an intent that says nothing or too much.
func (r *Request) normalize() error {
	var p rule.Problems
	switch n := utf8.RuneCountInString(r.Intent); {
	case strings.TrimSpace(r.Intent) == "":
		p.Add("intent", "is empty; say in plain words what you want")
	case n > MaxIntent:
		p.Add("intent", "has %d characters; at most %d are allowed", n, MaxIntent)
	}
	if r.SessionID != "" && !rule.IsID(r.SessionID) {
		p.Add("session_id", "is not one that an agent has given; leave it out to begin a session")
	}
	return p.Err("the request is invalid")
}

// record leaves an entry in the audit chain for what was not an evaluation, which leaves its own, and returns its id.
func (a *Agents) record(ctx context.Context, name string, req *Request, out *reply) (string, error) {
	id := audit.NewID()
	result := audit.JSON(out.result)
	body := map[string]any{
		"agent": name, "status": out.status, "confidence": out.confidence, "model": a.modelID(), "intent_hash": hash([]byte(req.Intent)),
		"result_hash": hash(result),
	}
	if !a.cfg.Bare {
		body["intent"], body["reasoning"] = a.clean(req.Intent), a.clean(out.reasoning)
		if cleaned := json.RawMessage(a.clean(string(result))); json.Valid(cleaned) {
			body["result"] = cleaned
		}
	}
	return id, a.cfg.Recorder.Append(ctx, audit.Record{
		ProjectID: req.ProjectID, ID: id, Kind: audit.KindAgent, At: a.cfg.Now(), Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}

// hash is the SHA-256 of bytes, in hex.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// clean is a text without secrets.
func (a *Agents) clean(text string) string {
	text, _ = a.redactor.Text(text)
	return text
}

func (a *Agents) modelID() string {
	if a.cfg.Model == nil {
		return ""
	}
	return a.cfg.Model.ID()
}
