// Package judge lets a language model decide rules that no check decides, and trusts it as little as it can. What comes
// back is a verdict for every rule, always: ALLOW and DENY only where the model really gave them and the server could
// verify what they rest on, NEEDS_CONFIRMATION with the reason everywhere else.
//
// The laws it keeps:
//   - Nothing fails open. No model, an error, a timeout, an unusable answer, a part of the subject that was not seen, or
//     text in the subject that addresses the judge: no ALLOW.
//   - A DENY quotes the subject. The server looks for the quote itself and takes file and line from there.
//   - A fault stays in the rule it concerns. Entries of an answer are read one by one, and bad ones are asked for once more.
//   - The subject is data behind a fence that its author cannot know.
package judge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// SinglePassConfidence is the confidence of a verdict that a model gave in one pass. Confidence is the agreement of a
// rule's passes; one pass agrees with nothing, so it says no more than that. What a model says about its own confidence
// is not asked for.
const SinglePassConfidence = 0.5

// Config sets up [New]. Zero fields take the defaults.
type Config struct {
	// Model decides. Nil means that no model is configured: then every rule stays undecided and says how to configure one.
	Model llm.Model
	// Timeout bounds one call; 0 means 30 s.
	Timeout time.Duration
	// TotalTimeout bounds all calls of one Decide together, waiting and repairs included; 0 means 90 s.
	TotalTimeout time.Duration
	// Concurrency is how many calls may run at once, over all subjects; 0 means 8.
	Concurrency int
	// BatchSize is how many rules one call decides at most; 0 means 10. CRITICAL rules go alone.
	BatchSize int
	// MaxSubjectBytes is how much of a subject one call sees, line numbers included; 0 means 200,000. A larger subject is
	// split into parts.
	MaxSubjectBytes int
	// MaxParts is how many parts of a subject are judged; 0 means 8. What lies beyond is named as unexamined and forbids ALLOW.
	MaxParts int
	// MaxOutputTokens bounds the answer of one call; 0 means 1,500 and 400 more per rule.
	MaxOutputTokens int
	// Logger gets a warning for every failed call and unusable answer; nil discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	orDefault(&c.Timeout, 30*time.Second)
	orDefault(&c.TotalTimeout, 90*time.Second)
	orDefault(&c.Concurrency, 8)
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
	cfg   Config
	slots chan struct{}
	// fenceKey makes fences that nobody outside this process can know; see fence.
	fenceKey [32]byte
}

// New makes a judge.
func New(cfg Config) *Judge {
	cfg = cfg.withDefaults()
	j := &Judge{cfg: cfg, slots: make(chan struct{}, cfg.Concurrency)}
	_, _ = rand.Read(j.fenceKey[:]) // never fails: crypto/rand ends the program instead
	return j
}

// Result is what [Judge.Decide] found out.
type Result struct {
	// Verdicts has one verdict per rule, in the order of the rules, before modality and enforcement are applied.
	Verdicts []rule.RuleVerdict
	Cost     rule.Cost
	// Models lists the models that answered.
	Models []string
	// Calls are all calls in a fixed order: by part, by batch, a repair behind what it repairs.
	Calls []Call
	// Parts is how many parts the subject was split into.
	Parts int
	// HunksExamined and BytesExamined count what was in parts that at least one answered call has seen. Bytes are counted as
	// in [subject.Subject.Size].
	HunksExamined, BytesExamined int
	// Unexamined names what no answered call has seen. Files without content and binary files are not in it: the subject
	// itself tells of them.
	Unexamined []rule.Unexamined
}

// Call is one call to a model, for the record.
type Call struct {
	Model         string `json:"model" doc:"The model that was asked."`
	PromptVersion string `json:"prompt_version" doc:"Version of the prompt templates."`
	PromptHash    string `json:"prompt_hash" doc:"SHA-256 of system text, prompt and schema, in hex."`
	// Rules holds the ids of the rules asked for; the rule at index 0 is R1 in the answer.
	Rules        []string `json:"rules" nullable:"false" doc:"Ids of the rules asked for, in the order R1, R2 and so on."`
	Part         int      `json:"part" doc:"Part of the subject that was shown, from 1."`
	Repair       bool     `json:"repair,omitempty" doc:"True for a second call about rules whose first answer was unusable."`
	Raw          string   `json:"raw" doc:"The model's answer as it came, cut where it is beyond what is read."`
	Error        string   `json:"error,omitempty" doc:"Why there is no answer."`
	DurationMS   int64    `json:"duration_ms" doc:"How long the call took, in milliseconds, waiting included."`
	InputTokens  int      `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int      `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int      `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
}

// Reasons of verdicts that no model gave.
const (
	reasonNoModel = "No model is configured to judge this rule; set TENET_JUDGE_MODEL=provider:model, such as openai:gpt-5-mini (with OPENAI_API_KEY) or ollama:qwen3:8b."
	reasonEmpty   = "There is nothing to judge: the subject has no diff, files, facts or action."
	issueNone     = "The judge could not decide."
)

// Decide judges s against rules. It always answers, with one verdict per rule: when the context or the total timeout
// ends, rules without an answer are NEEDS_CONFIRMATION.
func (j *Judge) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) Result {
	switch {
	case len(rules) == 0:
		return Result{Verdicts: []rule.RuleVerdict{}}
	case j.cfg.Model == nil:
		return undecided(rules, reasonNoModel)
	case s == nil || s.Empty():
		return undecided(rules, reasonEmpty)
	}
	ctx, cancel := context.WithTimeout(ctx, j.cfg.TotalTimeout)
	defer cancel()
	c := j.open(s, rules)
	c.hear(ctx)
	return c.conclude()
}

func undecided(rules []*rule.Rule, reason string) Result {
	verdicts := make([]rule.RuleVerdict, len(rules))
	for i, r := range rules {
		verdicts[i] = nothing(reason).verdictOf(r)
	}
	return Result{Verdicts: verdicts}
}
