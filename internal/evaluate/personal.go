package evaluate

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Sealer encrypts the personal data of records under keys of the people whom they are about.
type Sealer interface {
	// Ready returns nil if personal data can be sealed, else an error of code unavailable.
	Ready(ctx context.Context) error
	// Seal returns a record without its personal fields, with the whole of it encrypted.
	Seal(ctx context.Context, rec *wire.EvaluationRecord, people, fields []string) (*wire.EvaluationRecord, error)
	// Open returns the whole of a sealed record, or the record as it is with the state that says why it cannot be opened.
	Open(ctx context.Context, rec *wire.EvaluationRecord) (*wire.EvaluationRecord, error)
}

// personal holds the people whom a subject is about, and its personal fields. Without fields nothing is sealed.
type personal struct{ people, fields []string }

// findPersonal finds the personal data of the request. Where they cannot be sealed, it refuses the evaluation: a record that held them as they are
// could never be cleaned. The verdicts of models about them are neither taken from stored ones nor stored.
func findPersonal(ctx context.Context, r *run) error {
	p := r.policy.Personal
	if r.e.cfg.Recorder == nil { // nothing is stored
		return nil
	}
	if r.policy.Unreadable { // it may have named any of them
		if r.e.cfg.Personal == nil || r.e.cfg.Personal.Ready(ctx) != nil {
			return nil
		}
		p = allOf(r)
	}
	if p.IsZero() {
		return nil
	}
	identity := audit.IdentityFrom(ctx)
	people, fields := wire.PersonalData(&p, &r.req.Input, &identity)
	if len(fields) == 0 {
		return nil
	}
	if r.e.cfg.Personal == nil {
		return rule.Errorf(rule.CodeUnavailable, "the policy of project %q names personal data, which only a server can encrypt; send the request to a server", r.req.ProjectID)
	}
	if err := r.e.cfg.Personal.Ready(ctx); err != nil {
		return err
	}
	r.personal = personal{people, fields}
	r.judge = r.e.cfg.Fresh
	return nil
}

// allOf names everything in a request.
func allOf(r *run) rule.Personal {
	p := rule.Personal{Fields: []string{rule.PersonalPerson, rule.PersonalSession, rule.PersonalAction, rule.PersonalIntent, rule.PersonalContent}}
	for name := range r.req.Input.Facts {
		p.Fields = append(p.Fields, rule.PersonalFacts+name)
	}
	return p
}

// seal returns a record as the log stores it.
func seal(ctx context.Context, r *run, rec wire.EvaluationRecord) (wire.EvaluationRecord, error) {
	if len(r.personal.fields) == 0 {
		return rec, nil
	}
	sealed, err := r.e.cfg.Personal.Seal(ctx, &rec, r.personal.people, r.personal.fields)
	if err != nil {
		return rec, err
	}
	return *sealed, nil
}

// public returns the answer as others than its caller may keep it: in approvals, and in counts by agent.
func public(r *run, input wire.RecordedSubject) *wire.EvaluationRecord {
	rec := &wire.EvaluationRecord{Identity: r.answer.Identity, Evaluation: r.answer, Subject: input}
	if len(r.personal.fields) == 0 {
		return rec
	}
	return rec.Strip(r.personal.fields)
}
