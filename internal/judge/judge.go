// Package judge lets a language model decide rules that no check decides, and trusts it as little as it can. It returns a
// verdict for every rule, always: ALLOW and DENY only if the model gave them and the server verified their evidence, else
// NEEDS_CONFIRMATION with the reason.
//
// Its laws:
//   - Nothing fails open. No model, an error, a timeout, an unusable answer, an unseen part of the subject, text
//     in the subject that addresses the judge, or a control rule that the model got wrong: no ALLOW.
//   - A DENY quotes the subject. The server looks for the quote itself and takes file and line from there.
//   - A fault stays in the rule it concerns. It reads the entries of an answer one by one, and asks once more for bad ones.
//   - The subject is data behind a fence that its author cannot know, and holds no secrets.
//   - Same input, same verdict: it stores verdicts by content, and equal requests at one time share their calls.
//
// # Where things are
//
//	judge.go, decide.go     what callers use; one decision: a subject in units, a state for each rule
//	layout.go, part.go      cutting a subject into units, and packing them into parts
//	plan.go, batch.go       which rules are asked together; one batch on one part
//	prompt.go, model.go     templates of prompts; answers of models, or of a record (replay.go)
//	entries.go, answer.go, evidence.go  reading an answer, and verifying what it quotes
//	expect.go, control.go, probe/  rules whose right answers the server knows
//	injection.go, instruction.go, address.go  text that addresses the judge
//	mask.go, secondlook.go  the second look at an ALLOW
//	cache.go, stored.go, memory.go, share.go  stored verdicts, and calls that equal requests share
//	triage*.go              which of many rules could concern the subject
//	conclude.go, account.go  one verdict for each rule, and the account of what was examined
package judge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"

	"tenet/internal/judge/probe"
	"tenet/internal/ledger"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/turn"
	"tenet/internal/wire"
)

// Config sets up [New]. Zero fields take the defaults.
type Config struct {
	// Model decides. Nil means that no model is configured: then every rule stays undecided and says how to configure one.
	Model llm.Model
	// Confirm confirms denials of CRITICAL rules; nil lets Model look a second time.
	Confirm llm.Model
	// Cache stores verdicts; nil stores none.
	Cache *Cache
	// Timeout bounds one call; 0 means 30 s.
	Timeout time.Duration
	// TotalTimeout bounds all calls of one Decide together, waiting and repairs included; 0 means 90 s.
	TotalTimeout time.Duration
	// Concurrency is how many calls may run at once, over all subjects; 0 means 32. Projects whose calls wait are served by turns.
	Concurrency int
	// BatchSize is how many rules one call decides at most; 0 means 10. CRITICAL rules go alone.
	BatchSize int
	// Profile is how the model is asked; empty means [Large].
	Profile Profile
	// MaxSubjectBytes is how much of a subject one call sees, line numbers included; 0 means 200,000. A larger subject is
	// split into parts.
	MaxSubjectBytes int
	// MaxParts is how many parts of a subject are judged; 0 means 8. The rest counts as unexamined and forbids ALLOW.
	MaxParts int
	// MaxTokens bounds the input of all calls of one Decide together, and of a triage before it, by an estimate of four bytes a
	// token; 0 means no bound. No call is made beyond that.
	MaxTokens int
	// MaxOutputTokens bounds the answer of one call; 0 means 1,500 and 400 more per rule.
	MaxOutputTokens int
	// Samples returns rules of a project with examples of both kinds, to make control rules of; nil for none.
	Samples func(projectID string) []probe.Sample
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
	places   *turn.Places // of calls, by project
	running  inFlight[Result]
	triages  inFlight[Triaged]
	// servers is the hash of the servers of the models; empty if they are the vendors' own.
	servers string
	// secret makes fences and controls that nobody outside this process can know; see nonceOf.
	secret [32]byte
}

// New makes a judge.
func New(cfg Config) *Judge {
	cfg = cfg.withDefaults()
	j := &Judge{cfg: cfg, redactor: redact.New(), places: turn.New(cfg.Concurrency)}
	_, _ = rand.Read(j.secret[:]) // never fails: crypto/rand ends the program instead
	if model, confirm := serverOf(cfg.Model), serverOf(cfg.Confirm); model+confirm != "" {
		j.servers = hashed(model, confirm)
	}
	return j
}

// Result holds the verdicts of one [Judge.Decide].
type Result struct {
	// Verdicts has one verdict per rule, in the order of the rules, before modality and enforcement are applied. The ledger
	// gives them.
	Verdicts []rule.RuleVerdict
	Cost     rule.Cost
	// Models lists the models that answered.
	Models []string
	// Calls are all calls in a fixed order: by round, by group of rules, by part, a repair behind what it repairs.
	Calls []wire.ModelCall
	// Reused are the stored verdicts used instead of calls, in order of the rules.
	Reused []wire.ReusedVerdict
	// Stored are the keys under which verdicts are stored, or were found.
	Stored []wire.StoredUnder
	// Redacted is how many secrets were replaced before a model saw the subject.
	Redacted int
	// Parts is how many parts the subject was split into.
	Parts int
	// Accounts are by rule, over the units of the subject that was given.
	Accounts []ledger.Account
}

// clone copies the list that a caller may change.
func (r Result) clone() Result {
	r.Verdicts = slices.Clone(r.Verdicts)
	return r
}

// Purposes of a [wire.ModelCall].
const (
	CallJudge   = "judge"   // the first question about rules
	CallRepair  = "repair"  // once more about rules whose answer was unusable
	CallWhole   = "whole"   // about rules that need more than the changed hunks
	CallConfirm = "confirm" // a second look at a denial of a CRITICAL rule
	CallRecheck = "recheck" // a second look, at a masked view, that an ALLOW of a CRITICAL or HIGH rule takes
	CallAddress = "address" // whether the text of a subject speaks to its judge
	CallControl = "control" // about a control rule in a call of its own; see [Small]

	CallTriage       = "triage"        // which rules of a batch could concern the subject
	CallTriageRepair = "triage-repair" // once more about a batch whose answer was unusable
)

// Reasons of verdicts that no model gave.
const (
	reasonNoModel = rule.SentenceNoModel + "; set TENET_JUDGE_MODEL=provider:model, such as openai:gpt-5-mini (with OPENAI_API_KEY) or ollama:qwen3:8b."
	reasonEmpty   = rule.SentenceEmpty + ": the subject has no diff, files, facts or action."
	reasonFault   = "The judge broke off with an internal fault."
	issueNone     = "The judge could not decide."
)

// Decide judges s against rules. It always answers, with one verdict per rule: when the context or the total timeout
// ends, rules without an answer are NEEDS_CONFIRMATION. Equal requests that run at the same time share their calls; a
// caller that goes away does not disturb the others.
func (j *Judge) Decide(ctx context.Context, s *subject.Subject, rules []*rule.Rule) Result {
	switch {
	case len(rules) == 0:
		return Result{Verdicts: []rule.RuleVerdict{}}
	case j.cfg.Model == nil:
		return allUndecided(rules, reasonNoModel)
	case s == nil || s.Empty():
		return allUndecided(rules, reasonEmpty)
	}
	s, secrets := j.redactor.Subject(s)
	d := j.newDecision(s, rules, j.cfg.plan().after(ctx), len(secrets))
	d.caller = callerOf(ctx)
	d.source = j.of(d.caller)
	return j.running.join(turn.With(ctx, rules[0].ProjectID), d)
}

// Estimate returns the calls that Decide would make without stored verdicts and second looks. It makes none.
func (j *Judge) Estimate(s *subject.Subject, rules []*rule.Rule) rule.Estimate {
	e := rule.Estimate{Verdicts: len(rules)}
	if len(rules) == 0 || j.cfg.Model == nil || s == nil || s.Empty() {
		return e
	}
	d := j.newDecision(s, rules, j.cfg.plan(), 0)
	need := make([][]int, len(rules))
	for i := range need {
		need[i] = d.layout.all()
	}
	for _, g := range d.groups(need) {
		for _, b := range d.newBatches(g, CallJudge) {
			if b.withinBudget {
				e.Calls += d.plan.callsEach()
			}
		}
	}
	e.InputTokens = d.spent
	return e
}

// Replay decides again from the record of a Decide: its calls and the stored verdicts that it used. It asks no model and
// stores nothing. With the same subject, redacted or not, and the same rules it gives the same verdicts. calls and reused
// may hold more than this Decide made, such as those of a whole evaluation; the result leaves out the rest. It cannot
// replay calls of an older prompt version: their rules are NEEDS_CONFIRMATION, and say so.
func Replay(ctx context.Context, s *subject.Subject, rules []*rule.Rule, calls []wire.ModelCall, reused []wire.ReusedVerdict) Result {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c wire.ModelCall) bool { return isTriage(&c) })
	switch {
	case len(rules) == 0:
		return Result{Verdicts: []rule.RuleVerdict{}}
	case s == nil || s.Empty():
		return allUndecided(rules, reasonEmpty)
	case len(calls)+len(reused) == 0:
		return allUndecided(rules, reasonNoModel)
	}
	return replay(ctx, s, rules, calls, reused)
}

func allUndecided(rules []*rule.Rule, reason string) Result {
	verdicts := make([]rule.RuleVerdict, len(rules))
	for i, r := range rules {
		verdicts[i] = undecided(reason).verdictOf(r, &ledger.Account{})
	}
	return Result{Verdicts: verdicts, Accounts: make([]ledger.Account, len(rules))}
}
