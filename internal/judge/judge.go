// Package judge lets a language model decide rules that no check decides, and trusts it as little as it can. What comes
// back is a verdict for every rule, always: ALLOW and DENY only where the model really gave them and the server could
// verify what they rest on, NEEDS_CONFIRMATION with the reason everywhere else.
//
// The laws it keeps:
//   - Nothing fails open. No model, an error, a timeout, an unusable answer, a part of the subject that was not seen, text
//     in the subject that addresses the judge, or a control rule that the model got wrong: no ALLOW.
//   - A DENY quotes the subject. The server looks for the quote itself and takes file and line from there.
//   - A fault stays in the rule it concerns. Entries of an answer are read one by one, and bad ones are asked for once more.
//   - The subject is data behind a fence that its author cannot know, and holds no secrets.
//   - Same input, same verdict: what was judged is kept under its content, and equal requests at one time share their calls.
package judge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Config sets up [New]. Zero fields take the defaults.
type Config struct {
	// Model decides. Nil means that no model is configured: then every rule stays undecided and says how to configure one.
	Model llm.Model
	// Confirm confirms denials of CRITICAL rules; nil lets Model look a second time.
	Confirm llm.Model
	// Cache keeps verdicts; nil keeps none.
	Cache *Cache
	// Timeout bounds one call; 0 means 30 s.
	Timeout time.Duration
	// TotalTimeout bounds all calls of one Decide together, waiting and repairs included; 0 means 90 s.
	TotalTimeout time.Duration
	// Concurrency is how many calls may run at once, over all subjects; 0 means 32.
	Concurrency int
	// BatchSize is how many rules one call decides at most; 0 means 10. CRITICAL rules go alone.
	BatchSize int
	// MaxSubjectBytes is how much of a subject one call sees, line numbers included; 0 means 200,000. A larger subject is
	// split into parts.
	MaxSubjectBytes int
	// MaxParts is how many parts of a subject are judged; 0 means 8. What lies beyond is named as unexamined and forbids ALLOW.
	MaxParts int
	// MaxTokens bounds the input of all calls of one Decide together, by an estimate of four bytes a token; 0 means no
	// bound. A call that would go beyond it is not made.
	MaxTokens int
	// MaxOutputTokens bounds the answer of one call; 0 means 1,500 and 400 more per rule.
	MaxOutputTokens int
	// Logger gets a warning for every failed call and unusable answer; nil discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	orDefault(&c.Timeout, 30*time.Second)
	orDefault(&c.TotalTimeout, 90*time.Second)
	orDefault(&c.Concurrency, 32)
	orDefault(&c.BatchSize, 10)
	orDefault(&c.MaxSubjectBytes, 200_000)
	orDefault(&c.MaxParts, 8)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// Judge decides rules. It is safe for concurrent use.
type Judge struct {
	cfg      Config
	redactor *redact.Redactor
	slots    chan struct{}
	flights  flights
	// secret makes fences and controls that nobody outside this process can know; see nonceOf.
	secret [32]byte
}

// New makes a judge.
func New(cfg Config) *Judge {
	cfg = cfg.withDefaults()
	j := &Judge{cfg: cfg, redactor: redact.New(), slots: make(chan struct{}, cfg.Concurrency)}
	_, _ = rand.Read(j.secret[:]) // never fails: crypto/rand ends the program instead
	return j
}

// Result is what [Judge.Decide] found out.
type Result struct {
	// Verdicts has one verdict per rule, in the order of the rules, before modality and enforcement are applied.
	Verdicts []rule.RuleVerdict
	Cost     rule.Cost
	// Models lists the models that answered.
	Models []string
	// Calls are all calls in a fixed order: by round, by group of rules, by part, a repair behind what it repairs.
	Calls []Call
	// Reused are the kept verdicts that were taken instead of calls, in order of the rules.
	Reused []Reused
	// Redacted is how many secrets were replaced before the subject was shown.
	Redacted int
	// Parts is how many parts the subject was split into.
	Parts int
	// HunksExamined and BytesExamined count what at least one answered call, now or when a reused verdict was made, has
	// seen. Bytes are counted as in [subject.Subject.Size].
	HunksExamined, BytesExamined int
	// Unexamined names what no answered call has seen. Files without content and binary files are not in it: the subject
	// itself tells of them.
	Unexamined []rule.Unexamined
}

// clone copies what a caller may change.
func (r Result) clone() Result {
	r.Verdicts = slices.Clone(r.Verdicts)
	return r
}

// Purposes of a [Call].
const (
	CallJudge   = "judge"   // the first question about rules
	CallRepair  = "repair"  // once more about rules whose answer was unusable
	CallWhole   = "whole"   // about rules that could not be judged by the changed hunks alone
	CallConfirm = "confirm" // a second look at a denial of a CRITICAL rule
	CallRecheck = "recheck" // a second look, at marked text, at an ALLOW on a subject that gives orders
)

// Call is one call to a model, for the record. With the subject and the rules it is all that [Replay] needs: the prompt
// follows from them and from Seed, Nonce and Plan.
type Call struct {
	Model         string `json:"model" doc:"The model that was asked."`
	PromptVersion string `json:"prompt_version" doc:"Version of the prompt templates."`
	PromptHash    string `json:"prompt_hash" doc:"SHA-256 of system text, prompt and schema, in hex."`
	Purpose       string `json:"purpose,omitempty" enum:"judge,repair,whole,confirm,recheck" doc:"Why it was asked."`
	// Rules holds the ids of the rules asked for, in the order of their references.
	Rules []string `json:"rules" nullable:"false" doc:"Ids of the rules asked for, in the order of R1, R2 and so on, the control left out."`
	// Control is the index of the control among the references: 0 where R1 is the control.
	Control      int    `json:"control" doc:"Place of the planted control among the references, from 0; its right answer is known."`
	Held         bool   `json:"held" doc:"True if the model answered the control rightly; else no ALLOW of the answer counts."`
	Part         int    `json:"part" doc:"Part of the subject that was shown, from 1."`
	Units        []int  `json:"units,omitempty" doc:"Pieces of the subject that were shown, by number from 0; absent means all of the part."`
	Seed         string `json:"seed,omitempty" doc:"Hash of the request, which orders the rules."`
	Nonce        string `json:"nonce,omitempty" doc:"What fence and control were made from."`
	Plan         string `json:"plan,omitempty" doc:"How the subject was cut and the rules batched."`
	Repair       bool   `json:"repair,omitempty" doc:"True for a second call about rules whose first answer was unusable."`
	Raw          string `json:"raw" doc:"The model's answer as it came, cut where it is beyond what is read."`
	Error        string `json:"error,omitempty" doc:"Why there is no answer."`
	ErrorCode    string `json:"error_code,omitempty" doc:"Kind of that error."`
	DurationMS   int64  `json:"duration_ms" doc:"How long the call took, in milliseconds, waiting included."`
	InputTokens  int    `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int    `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int    `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
}

// Reused is a kept verdict that was taken instead of a call.
type Reused struct {
	RuleID string `json:"rule_id" doc:"The rule."`
	// Unit and Rule are the key: what was judged, under which prompt and model, and the content of the rule.
	Unit string `json:"unit" doc:"Hash of the piece of the subject, with prompt version and model."`
	Rule string `json:"rule" doc:"Hash of the rule's content."`
	// Entry is the verdict as it was kept.
	Entry string `json:"entry" doc:"The verdict as it was kept, JSON."`
	// Seed and Plan are those of [Call]; the first of a Decide has them.
	Seed string `json:"seed,omitempty" doc:"Hash of the request, which orders the rules."`
	Plan string `json:"plan,omitempty" doc:"How the subject was cut."`
}

// Reasons of verdicts that no model gave.
const (
	reasonNoModel = "No model is configured to judge this rule; set TENET_JUDGE_MODEL=provider:model, such as openai:gpt-5-mini (with OPENAI_API_KEY) or ollama:qwen3:8b."
	reasonEmpty   = "There is nothing to judge: the subject has no diff, files, facts or action."
	reasonFault   = "The judge broke off with an internal fault."
	issueNone     = "The judge could not decide."
)

// Decide judges s against rules. It always answers, with one verdict per rule: when the context or the total timeout
// ends, rules without an answer are NEEDS_CONFIRMATION. Equal requests that run at the same time share their calls; that
// one of the callers goes away does not disturb the others.
func (j *Judge) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) Result {
	switch {
	case len(rules) == 0:
		return Result{Verdicts: []rule.RuleVerdict{}}
	case j.cfg.Model == nil:
		return undecided(rules, reasonNoModel)
	case s == nil || s.Empty():
		return undecided(rules, reasonEmpty)
	}
	s, secrets := j.redactor.Subject(s)
	h := j.open(s, rules, j.cfg.plan(), len(secrets))
	return j.flights.join(ctx, h)
}

// Estimate tells what Decide would ask, if no verdict were kept and no second look needed. It asks nothing.
func (j *Judge) Estimate(s *subject.Subject, rules []*rule.Rule) rule.Estimate {
	e := rule.Estimate{Verdicts: len(rules)}
	if len(rules) == 0 || j.cfg.Model == nil || s == nil || s.Empty() {
		return e
	}
	h := j.open(s, rules, j.cfg.plan(), 0)
	need := make([][]int, len(rules))
	for i := range need {
		need[i] = h.docket.all()
	}
	for _, g := range h.groups(need) {
		for _, session := range h.sessions(g, CallJudge) {
			if session.admitted {
				e.Calls++
			}
		}
	}
	e.InputTokens = h.spent
	return e
}

// Replay decides again from what was recorded of a Decide: its calls and the kept verdicts that it took. No model is
// asked and nothing is kept. With the same subject, redacted or not, and the same rules it gives the same verdicts. calls
// and reused may hold more than this Decide made, such as all of an evaluation; what it does not use is left out of the
// result. Calls of an older prompt version cannot be replayed: their rules are NEEDS_CONFIRMATION, and say so.
func Replay(ctx context.Context, s *subject.Subject, rules []*rule.Rule, calls []Call, reused []Reused) Result {
	switch {
	case len(rules) == 0:
		return Result{Verdicts: []rule.RuleVerdict{}}
	case s == nil || s.Empty():
		return undecided(rules, reasonEmpty)
	case len(calls)+len(reused) == 0:
		return undecided(rules, reasonNoModel)
	}
	return replay(ctx, s, rules, calls, reused)
}

func undecided(rules []*rule.Rule, reason string) Result {
	verdicts := make([]rule.RuleVerdict, len(rules))
	for i, r := range rules {
		verdicts[i] = nothing(reason).verdictOf(r)
	}
	return Result{Verdicts: verdicts}
}
