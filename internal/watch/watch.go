// Package watch samples verdicts that no judge has looked at, and lets the judge decide them too: what checks decided, and what triage ruled
// out. A project so sees how often both are wrong, with an interval. A check that a model proposed is demoted on the first disagreement: it
// decides denials only from then on. A sample never changes the evaluation that it is from.
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Kind is the kind of the jobs in which the judge decides samples.
const Kind = "samples.judge"

// Limits of what samples cost.
const (
	maxOfEvaluation = 2   // rules of one evaluation
	maxOfDay        = 500 // samples of a project within 24 hours
)

// Recorded gives what was judged in a recorded evaluation.
type Recorded interface {
	// Subject returns it with the verdicts, or not_found.
	Subject(ctx context.Context, projectID, evaluationID string) (subject.Input, []rule.RuleVerdict, error)
}

// Config configures a [Watch]. All fields but Publish and Demote are required.
type Config struct {
	Store store.Updater
	Read  store.SampleReader
	Rules store.RuleReader
	Queue job.Queue
	// Recorded is read by jobs.
	Recorded Recorded
	// Try lets the judge decide a rule without a check on a subject.
	Try func(ctx context.Context, r rule.Rule, in subject.Input) (rule.Trial, error)
	// Demote makes the check of the version of a rule decide denials only; conflict if the rule has another version by now.
	Demote func(ctx context.Context, projectID, ruleID string, version int, note string) error
	// Publish publishes disagreements.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	// Part is how many of the verdicts are sampled, from 0 to 1.
	Part   float64
	Now    func() time.Time
	Logger *slog.Logger
}

// Watch samples verdicts.
type Watch struct{ cfg Config }

// New returns a Watch.
func New(cfg Config) *Watch { return &Watch{cfg} }

// args are the arguments of a job.
type args struct {
	EvaluationID string   `json:"evaluation_id"`
	Picks        []picked `json:"picks"`
}

// picked is a verdict that is sampled.
type picked struct {
	Kind    store.SampleKind `json:"kind"`
	RuleID  string           `json:"rule_id"`
	Version int              `json:"version"`
	Hash    string           `json:"hash"`
	Said    rule.Verdict     `json:"said"`
}

// Pick chooses verdicts of a record, by a hash of rule and subject, so that the same are chosen each time. It returns what queues their job in
// the transaction of the record; nil where none is chosen, as of a record with personal data: a sample stores what the judge has said.
func (w *Watch) Pick(rec *wire.EvaluationRecord) func(ctx context.Context, tx store.Tx) error {
	if w.cfg.Part <= 0 || rec.Kept == wire.KeepNone || rec.Personal != nil {
		return nil
	}
	chosen := w.chosen(rec)
	if len(chosen) == 0 {
		return nil
	}
	projectID := rec.Evaluation.ProjectID
	a := args{rec.Evaluation.EvaluationID, chosen}
	return func(ctx context.Context, tx store.Tx) error {
		_, err := w.cfg.Queue.Enqueue(ctx, tx, Kind, projectID, a, job.Options{Priority: job.Last})
		return err
	}
}

func (w *Watch) chosen(rec *wire.EvaluationRecord) []picked {
	type candidate struct {
		picked

		place uint64
	}
	var found []candidate
	bound := uint64(math.MaxUint64)
	if w.cfg.Part < 1 {
		bound = uint64(w.cfg.Part * math.MaxUint64)
	}
	take := func(p picked) {
		sum := sha256.Sum256([]byte("sample\x00" + rec.Evaluation.ProjectID + "\x00" + p.RuleID + "\x00" + strconv.Itoa(p.Version) + "\x00" + rec.SubjectHash))
		if place := binary.BigEndian.Uint64(sum[:]); place <= bound {
			found = append(found, candidate{p, place})
		}
	}
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		if said := raw(v); said != "" && v.DecidedBy == rule.ByCheck {
			take(picked{Kind: store.SampledCheck, RuleID: v.RuleID, Version: v.RuleVersion, Said: said})
		}
	}
	if rec.Triage != nil {
		for i := range rec.Triage.Rules {
			if r := &rec.Triage.Rules[i]; r.Outcome == wire.TriageRuledOut {
				take(picked{store.SampledTriage, r.RuleID, r.Version, r.ContentHash, store.SaidRuledOut})
			}
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.place < b.place {
			return -1
		}
		return 1
	})
	var out []picked
	for i := range found[:min(len(found), maxOfEvaluation)] {
		p := &found[i].picked
		if at := slices.IndexFunc(rec.Rules, func(r wire.RecordedRule) bool { return r.RuleID == p.RuleID }); p.Hash == "" && at >= 0 {
			p.Hash = rec.Rules[at].ContentHash
		}
		if p.Hash != "" {
			out = append(out, *p)
		}
	}
	return out
}

// raw is the verdict of a check before modality and enforcement soften it; empty if the check did not decide.
func raw(v *rule.RuleVerdict) rule.Verdict {
	switch {
	case v.Fingerprint != "": // which denials have
		return rule.Deny
	case v.Verdict == rule.Allow:
		return v.Verdict
	}
	return ""
}

// Handle lets the judge decide the samples of a job.
func (w *Watch) Handle(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var a args
	if err := job.DecodeArgs(&j, &a); err != nil {
		return err
	}
	made, err := w.cfg.Read.Number(ctx, j.ProjectID, w.cfg.Now().Add(-24*time.Hour))
	if err != nil || made >= maxOfDay {
		return err
	}
	in, _, err := w.cfg.Recorded.Subject(ctx, j.ProjectID, a.EvaluationID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	ctx = auth.WithActor(ctx, auth.Actor{Name: Actor})
	for i := range a.Picks {
		if err := w.judge(ctx, j.ProjectID, a.EvaluationID, &a.Picks[i], in); err != nil {
			return err
		}
		progress(i+1, len(a.Picks))
	}
	return nil
}

// Actor is the name under which samples are recorded and checks demoted.
const Actor = "tenet-watch"

// judge lets the judge decide one sample, and stores it.
func (w *Watch) judge(ctx context.Context, projectID, evaluationID string, p *picked, in subject.Input) error {
	r, err := w.cfg.Rules.Version(ctx, projectID, p.RuleID, p.Version)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound || err == nil && r.ContentHash() != p.Hash:
		return nil // not what was judged
	case err != nil:
		return err
	}
	checked := r.Check
	r.Check = nil
	trial, err := w.cfg.Try(ctx, r, in)
	if err != nil {
		return err
	}
	s := store.Sample{
		ProjectID: projectID, EvaluationID: evaluationID, RuleID: p.RuleID, Kind: p.Kind, RuleVersion: p.Version, ContentHash: p.Hash, Said: p.Said,
		Judged: trial.Raw, At: rule.Instant(w.cfg.Now()),
	}
	if trial.Verdict.DecidedBy == rule.ByNone {
		s.Judged = rule.NeedsConfirmation
	}
	r.Check = checked
	if err := w.cfg.Store.Update(ctx, func(tx store.Tx) error { return w.put(ctx, tx, &s, &r) }); err != nil {
		return err
	}
	if !s.Disputed() || w.cfg.Demote == nil || checked == nil || !checked.Proposed || checked.Decides == rule.DenyOnly {
		return nil
	}
	note := fmt.Sprintf("The check said %s and the judge %s of the evaluation %s, so the check, which a model proposed, decides denials only.", s.Said, s.Judged, evaluationID)
	err = w.cfg.Demote(ctx, projectID, p.RuleID, p.Version, note)
	if c := rule.CodeOf(err); c == rule.CodeConflict || c == rule.CodePrecondition || c == rule.CodeNotFound { // somebody has changed it meanwhile
		w.cfg.Logger.InfoContext(ctx, "a disputed check was not demoted", "project", projectID, "rule", p.RuleID, "error", err)
		return nil
	}
	return err
}

// put stores a sample; a disagreement is logged and published too.
func (w *Watch) put(ctx context.Context, tx store.Tx, s *store.Sample, r *rule.Rule) error {
	if err := tx.Samples.Put(ctx, *s); err != nil || !s.Disputed() {
		return err
	}
	body := map[string]any{
		"action": "disputed", "rule_id": s.RuleID, "slug": r.Slug, "version": s.RuleVersion, "evaluation_id": s.EvaluationID, "kind": s.Kind, "said": s.Said, "judged": s.Judged,
	}
	err := audit.Append(ctx, tx, s.ProjectID, audit.Record{Kind: audit.KindSample, At: s.At, Actor: Actor, Body: audit.JSON(body)})
	if err != nil || w.cfg.Publish == nil {
		return err
	}
	figure := figureOf(*s)
	figure.Slug, figure.Statement = r.Slug, r.Statement
	return w.cfg.Publish(ctx, tx, rule.Event{
		ID: audit.NewID(), ProjectID: s.ProjectID, Type: rule.VerdictDisputed, Time: s.At, RuleIDs: []string{s.RuleID}, Severity: r.Severity, Scope: r.Scope,
		Data: audit.JSON(figure),
	})
}
