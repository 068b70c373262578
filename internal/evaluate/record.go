package evaluate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/record"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// record makes the record of the evaluation durable, and publishes a violation in the same transaction.
func (r *run) record(ctx context.Context) error {
	for {
		err := appendRecord(ctx, r)
		if damaged, ok := errors.AsType[unexplainedApproval](err); ok {
			return damaged.err
		}
		if !errors.Is(err, errApprovalGone) {
			return err
		}
		if err := retract(ctx, r); err != nil {
			return err
		}
	}
}

// appendRecord appends the record to the chain, and uses or stores an approval in the same transaction.
func appendRecord(ctx context.Context, r *run) error {
	if r.answer.Suspended != nil { // meanwhile: a denial neither uses nor asks for an approval
		r.confirmation.used, r.confirmation.asked, r.answer.Approval = nil, nil, nil
	}
	r.answer.TotalLatencyMS = r.e.cfg.Now().Sub(r.start).Milliseconds()
	if r.e.cfg.Recorder == nil {
		return nil
	}
	rec, err := seal(ctx, r, r.recorded())
	if err != nil {
		return err
	}
	memory, _ := bodies.Get().(*[]byte)
	entry := record.EntryOf(&rec, (*memory)[:0])
	if *memory = entry.Body; cap(*memory) <= maxBody {
		defer bodies.Put(memory)
	}
	entry.Actor = auth.ActorFrom(ctx).Name
	entry.Also = r.confirmation.also(r, entry.Actor)
	if r.e.cfg.Publish != nil && violated(r.answer) {
		event := violation(r, rec.Evaluation)
		entry.Also = func(ctx context.Context, tx store.Tx) error { return r.e.cfg.Publish(ctx, tx, event) }
	}
	if r.e.cfg.Sample != nil {
		entry.Also = both(entry.Also, r.e.cfg.Sample(&rec))
	}
	return r.e.cfg.Recorder.Append(ctx, entry)
}

// bodies are memory for bodies of records, which the next record uses again: a recorder keeps none of it.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// maxBody bounds the body for which memory is kept, in bytes.
const maxBody = 256 << 10

// both returns a write that makes two others; either may be nil.
func both(first, second func(ctx context.Context, tx store.Tx) error) func(ctx context.Context, tx store.Tx) error {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(ctx context.Context, tx store.Tx) error {
		if err := first(ctx, tx); err != nil {
			return err
		}
		return second(ctx, tx)
	}
}

// violated reports whether an evaluation is an incident: an action that has happened and that the rules deny.
func violated(e *rule.Evaluation) bool {
	return e.Mode == rule.Posthoc && e.OverallVerdict == rule.Deny
}

// recorded makes the record of the evaluation. It leaves violations and warnings out, since they follow from the verdicts.
func (r *run) recorded() wire.EvaluationRecord {
	answer := *r.answer
	answer.Violations, answer.Warnings = nil, nil
	in := r.req.Input
	var found []wire.Redaction
	if r.e.cfg.Subjects != wire.KeepFull && r.e.cfg.Redact != nil {
		var secrets func(string) string
		in, found, secrets = r.e.cfg.Redact.Input(in)
		record.ReplaceSecrets(&answer, secrets)
	}
	if r.e.cfg.Subjects == wire.KeepNone {
		in = subject.Input{Kind: in.Kind, Repository: in.Repository, Scope: in.Scope}
	}
	rec := wire.EvaluationRecord{
		Identity: answer.Identity, Evaluation: &answer, Subject: in, SubjectHash: subjectHash(r), Kinds: r.subject.Kinds, Kept: r.e.cfg.Subjects,
		Redactions: found, NodeID: r.req.NodeID, Environment: r.req.Environment, MaxRules: r.req.MaxRules,
		SeverityMin: r.req.SeverityMin, Rules: make([]wire.RecordedRule, len(r.sel.chosen)),
	}
	for i, c := range r.sel.chosen {
		rec.Rules[i] = wire.RecordedRule{RuleID: c.Rule.ID, Version: c.Rule.Version, ContentHash: c.ContentHash()}
	}
	rec.Triage = r.triage.record
	if len(r.calls)+len(r.reused) > 0 {
		rec.Prompt, rec.Calls, rec.Reused, rec.Stored = judge.PromptOf(r.calls, r.reused), r.calls, r.reused, r.stored
	}
	return rec
}

// violation makes the event about an evaluation as it was recorded. It concerns the rules that deny, except those in their
// shadow time.
func violation(r *run, recorded *rule.Evaluation) rule.Event {
	whole := *recorded
	if r.e.cfg.Subjects == wire.KeepFull && r.e.cfg.Redact != nil {
		// The record may keep secrets of the subject; what leaves the server must not.
		_, _, secrets := r.e.cfg.Redact.Input(r.req.Input)
		record.ReplaceSecrets(&whole, secrets)
	}
	whole.Tally()
	e := rule.Event{
		ID: audit.NewID(), ProjectID: whole.ProjectID, Type: rule.EvaluationViolated, Time: whole.Timestamp, Data: audit.JSON(&whole),
	}
	everywhere := len(whole.Violations) == 0
	if everywhere { // the policy denies what no rule covers, and there is no rule by which to call that minor
		e.Severity = rule.Critical
	}
	for _, v := range whole.Violations {
		if v.Enforcement == rule.Shadow {
			continue
		}
		e.RuleIDs = append(e.RuleIDs, v.RuleID)
		if v.Severity.Rank() > e.Severity.Rank() {
			e.Severity = v.Severity
		}
		i := slices.IndexFunc(r.sel.chosen, func(c chosen) bool { return c.Rule.ID == v.RuleID })
		if i < 0 || len(r.sel.chosen[i].Rule.Scope) == 0 {
			everywhere = true
			continue
		}
		for _, s := range r.sel.chosen[i].Rule.Scope {
			if !slices.Contains(e.Scope, s) {
				e.Scope = append(e.Scope, s)
			}
		}
	}
	if everywhere {
		e.Scope = append(e.Scope, "*")
	}
	return e
}

// kindOf returns the leading kind of a subject; empty for an empty one.
func kindOf(s *subject.Subject) string {
	if len(s.Kinds) == 0 {
		return ""
	}
	return string(s.Kinds[0])
}
