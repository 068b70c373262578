package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/judge"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Record is all that is kept of an evaluation: enough to replay it.
type Record struct {
	Evaluation  *rule.Evaluation `json:"evaluation" doc:"The answer that was given."`
	Subject     subject.Input    `json:"subject" doc:"What was judged, as far as it is kept."`
	SubjectHash string           `json:"subject_hash" doc:"SHA-256 of the normalised subject as it was judged, secrets included."`
	Kinds       []subject.Kind   `json:"subject_kinds,omitempty" nullable:"false" doc:"Kinds of the subject, the leading one first."`
	Kept        Keep             `json:"subject_kept,omitempty" enum:"redacted,full,none" doc:"What is kept of the subject."`
	Redactions  []redact.Found   `json:"redactions,omitempty" nullable:"false" doc:"Where secrets stood that were taken out of what is kept."`
	NodeID      string           `json:"node_id,omitempty" doc:"Federation node, as requested."`
	Environment string           `json:"environment,omitempty" doc:"Environment, as requested."`
	MaxRules    int              `json:"max_rules" doc:"As requested."`
	SeverityMin rule.Severity    `json:"severity_min" doc:"As requested."`
	Rules       []RecordedRule   `json:"rules" nullable:"false" doc:"The rules that were judged, as they were."`
	Prompt      string           `json:"prompt_version,omitempty" doc:"Version of the judge's prompt, if a judge was asked."`
	Calls       []judge.Call     `json:"calls,omitempty" doc:"Calls made to models, with their raw answers."`
	Reused      []judge.Reused   `json:"reused,omitempty" doc:"Kept verdicts that were taken instead of calls."`
	Audit       *AuditPlace      `json:"audit,omitempty" doc:"Place in the audit chain."`
}

// RecordedRule names the exact content of a rule that was judged.
type RecordedRule struct {
	RuleID      string `json:"rule_id" doc:"The rule."`
	Version     int    `json:"version" doc:"Its version."`
	ContentHash string `json:"content_hash" doc:"SHA-256 of what it says."`
}

// AuditPlace is where a record stands in its project's chain.
type AuditPlace struct {
	Seq      int64     `json:"seq" doc:"Number of the entry, from 1."`
	Hash     string    `json:"hash" doc:"Hash of the entry."`
	PrevHash string    `json:"prev_hash" doc:"Hash of the entry before."`
	At       time.Time `json:"at" doc:"When it was recorded."`
	Actor    string    `json:"actor" doc:"Who asked."`
}

// record makes the audit record of an evaluation, and the evaluation as it stands there: without the secrets of its subject.
// Violations and warnings are left out: they follow from the verdicts.
func (r *run) record(e *rule.Evaluation) (audit.Record, *rule.Evaluation) {
	bare := *e
	bare.Violations, bare.Warnings = nil, nil
	input, redactions, secrets := r.kept()
	if secrets != nil {
		bare.RuleVerdicts = without(secrets, bare.RuleVerdicts)
		bare.FixSummary = secrets.Replace(bare.FixSummary)
	}
	rec := Record{
		Evaluation: &bare, Subject: input, SubjectHash: r.subject.Hash(), Kinds: r.subject.Kinds, Kept: r.e.cfg.Subjects,
		Redactions: redactions, NodeID: r.req.NodeID, Environment: r.req.Environment, MaxRules: r.req.MaxRules,
		SeverityMin: r.req.SeverityMin, Rules: make([]RecordedRule, len(r.sel.chosen)),
	}
	for i, c := range r.sel.chosen {
		rec.Rules[i] = RecordedRule{RuleID: c.Rule.ID, Version: c.Rule.Version, ContentHash: c.ContentHash()}
	}
	if len(r.calls)+len(r.reused) > 0 {
		rec.Prompt, rec.Calls, rec.Reused = judge.PromptVersion, r.calls, r.reused
	}
	return audit.Record{
		ProjectID: e.ProjectID, ID: e.EvaluationID, Kind: audit.KindEvaluation, At: e.Timestamp,
		Verdict: string(e.OverallVerdict), Mode: string(e.Mode), Body: audit.JSON(rec),
	}, &bare
}

// Get returns the record of an evaluation.
func (e *Evaluator) Get(ctx context.Context, projectID, id string) (*Record, error) {
	entry, err := e.cfg.Records.AuditEntry(ctx, projectID, strings.ToLower(id))
	if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
		return nil, err
	}
	if err != nil || entry.Kind != audit.KindEvaluation {
		return nil, rule.NotFound("evaluation", id)
	}
	return decode(entry)
}

// Withhold takes out what models were asked and answered word by word, which may tell more than the verdicts do.
func (rec *Record) Withhold() {
	for i := range rec.Calls {
		c := &rec.Calls[i]
		rec.Calls[i] = judge.Call{
			Model: c.Model, PromptVersion: c.PromptVersion, PromptHash: c.PromptHash, Rules: c.Rules, Part: c.Part, Repair: c.Repair, Error: c.Error,
			DurationMS: c.DurationMS, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, CachedTokens: c.CachedTokens,
		}
	}
	rec.Reused = nil
}

// errPruned marks the errors about records that were removed.
var errPruned = errors.New("the record was removed under the retention setting")

func isPruned(err error) bool { return errors.Is(err, errPruned) }

// kind is the leading kind of the subject; empty for an empty one.
func (rec *Record) kind() string {
	if len(rec.Kinds) == 0 {
		return ""
	}
	return string(rec.Kinds[0])
}

// kind is the leading kind of the subject; empty for an empty one.
func (r *run) kind() string {
	if len(r.subject.Kinds) == 0 {
		return ""
	}
	return string(r.subject.Kinds[0])
}

func decode(entry store.AuditEntry) (*Record, error) {
	if len(entry.Body) == 0 {
		return nil, rule.Errorf(rule.CodeNotFound, "evaluation %q was recorded, but %w", entry.ID, errPruned)
	}
	body, err := audit.Body(entry)
	if err != nil {
		return nil, err
	}
	var rec Record
	if err := json.Unmarshal(body, &rec); err != nil {
		return nil, fmt.Errorf("evaluate: record %s: %w", entry.ID, err)
	}
	if rec.Evaluation == nil {
		return nil, fmt.Errorf("evaluate: record %s holds no evaluation", entry.ID)
	}
	overall := rec.Evaluation.OverallVerdict
	rec.Evaluation.Tally()
	rec.Evaluation.OverallVerdict = overall
	rec.Audit = &AuditPlace{Seq: entry.Seq, Hash: entry.Hash, PrevHash: entry.PrevHash, At: entry.At, Actor: entry.Actor}
	return &rec, nil
}

// Summary is an evaluation in a list.
type Summary struct {
	EvaluationID   string       `json:"evaluation_id" doc:"Identifier."`
	OverallVerdict rule.Verdict `json:"overall_verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"Overall verdict."`
	Mode           rule.Mode    `json:"mode" enum:"preflight,posthoc" doc:"Before or after the action."`
	Actor          string       `json:"actor" doc:"Who asked."`
	Repository     string       `json:"repository" doc:"Repository of the subject."`
	Scope          string       `json:"scope" doc:"Scope of the subject."`
	RulesEvaluated int          `json:"rules_evaluated" doc:"Total rules evaluated."`
	RulesViolated  int          `json:"rules_violated" doc:"Rules that returned DENY."`
	RulesUncertain int          `json:"rules_uncertain" doc:"Rules that returned NEEDS_CONFIRMATION."`
	Timestamp      time.Time    `json:"timestamp" doc:"When the evaluation ran."`
	Pruned         bool         `json:"pruned,omitempty" doc:"True if the record was removed under the retention setting; only what stands in the chain is left."`
}

// Filter selects evaluations; empty fields select everything.
type Filter struct {
	Verdict      rule.Verdict
	Mode         rule.Mode
	Actor        string
	Since, Until *time.Time
}

// List returns a page of evaluations, newest first, and how many match.
func (e *Evaluator) List(ctx context.Context, projectID string, f Filter, offset, limit int) ([]Summary, int, error) {
	entries, total, err := e.cfg.Records.FindAudit(ctx, store.AuditFilter{
		ProjectID: projectID, Kind: audit.KindEvaluation, Verdict: string(f.Verdict), Mode: string(f.Mode), Actor: f.Actor,
		Since: f.Since, Until: f.Until, Offset: offset, Limit: limit,
	})
	if err != nil {
		return nil, 0, err
	}
	list := make([]Summary, len(entries))
	for i, entry := range entries {
		rec, err := decode(entry)
		if isPruned(err) {
			list[i] = Summary{
				EvaluationID: entry.ID, OverallVerdict: rule.Verdict(entry.Verdict), Mode: rule.Mode(entry.Mode), Actor: entry.Actor,
				Timestamp: entry.At, Pruned: true,
			}
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		ev := rec.Evaluation
		list[i] = Summary{
			EvaluationID: ev.EvaluationID, OverallVerdict: ev.OverallVerdict, Mode: ev.Mode, Actor: entry.Actor,
			Repository: rec.Subject.Repository, Scope: rec.Subject.Scope, RulesEvaluated: ev.RulesEvaluated,
			RulesViolated: ev.RulesViolated, RulesUncertain: ev.RulesUncertain, Timestamp: ev.Timestamp,
		}
	}
	return list, total, nil
}
