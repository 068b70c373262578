// Package record stores the record of each evaluation in the audit chain and reads it back: what was judged, by which rules,
// and how the verdicts came about. It lists records, removes them after their retention, compares a replay with its record,
// and holds the feedback that people give on recorded verdicts.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/find"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Archive reads the records of evaluations and holds the feedback on them. It is safe for concurrent use.
type Archive struct {
	store    Store
	index    *find.Index
	now      func() time.Time
	feedback feedbackCache
}

// Store holds the parts of the database that an [Archive] uses.
type Store struct {
	store.Updater
	Audit     store.AuditReader
	Feedback  store.FeedbackReader
	Projects  store.ProjectReader
	Rules     store.RuleReader
	Retention store.RetentionReader
	Edges     store.EdgeReader // nil for none
	Parts     store.PartReader // nil for none
	TestCases store.TestCaseReader
	// Dropped is called after stored verdicts of a project were deleted from the database; nil for a judge without any.
	Dropped func(projectID string)
	// Personal opens records that hold personal data encrypted; nil opens none.
	Personal Opener
}

// Opener opens sealed records.
type Opener interface {
	// Open returns the whole of a sealed record, or the record as it is with the state that says why it cannot be opened.
	Open(ctx context.Context, rec *wire.EvaluationRecord) (*wire.EvaluationRecord, error)
}

// NewArchive returns an archive of the records in s, which index finds.
func NewArchive(s Store, index *find.Index, now func() time.Time) *Archive {
	return &Archive{store: s, index: index, now: now}
}

// EntryOf returns what the audit chain stores of the record. It appends the body to memory, which may be nil.
func EntryOf(rec *wire.EvaluationRecord, memory []byte) audit.Record {
	e := rec.Evaluation
	return audit.Record{
		ProjectID: e.ProjectID, ID: e.EvaluationID, Kind: audit.KindEvaluation, At: e.Timestamp,
		Verdict: string(e.OverallVerdict), Mode: string(e.Mode), Body: wire.AppendJSON(memory, rec, true),
	}
}

// Get returns the record of an evaluation.
func (a *Archive) Get(ctx context.Context, projectID, id string) (*wire.EvaluationRecord, error) {
	entry, err := a.entry(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	return a.open(ctx, entry)
}

// open decodes an entry, and opens what it holds encrypted for those who may read it.
func (a *Archive) open(ctx context.Context, entry store.AuditEntry) (*wire.EvaluationRecord, error) {
	rec, err := decode(entry)
	if err != nil || rec.Personal == nil {
		return rec, err
	}
	rec.Personal.State = wire.SealedClosed
	if rec.Evaluation.EvaluationID != entry.ID || rec.Evaluation.ProjectID != entry.ProjectID {
		rec.Personal.State = wire.SealedUnreadable // the body of another entry
	} else if a.store.Personal != nil && mayOpen(ctx, &entry) {
		if rec, err = a.store.Personal.Open(ctx, rec); err != nil {
			return nil, err
		}
		overall := rec.Evaluation.OverallVerdict
		rec.Evaluation.Tally()
		rec.Evaluation.OverallVerdict = overall
	}
	rec.Personal.Box = ""
	return rec, nil
}

// mayOpen reports whether a caller may read personal data: reviewers and administrators, who has asked for the evaluation, and the server itself,
// which acts in no name.
func mayOpen(ctx context.Context, entry *store.AuditEntry) bool {
	who := auth.ActorFrom(ctx)
	return who.Name == "" || who.Name == entry.Actor || who.May(auth.Reviewer, entry.ProjectID) == nil
}

// entry returns the entry of an evaluation.
func (a *Archive) entry(ctx context.Context, projectID, id string) (store.AuditEntry, error) {
	entry, err := a.store.Audit.Get(ctx, projectID, strings.ToLower(id))
	if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
		return entry, err
	}
	if err != nil || entry.Kind != audit.KindEvaluation {
		return entry, rule.NotFound("evaluation", id)
	}
	return entry, nil
}

// errPruned marks the errors about records that were removed.
var errPruned = errors.New("the record was removed under the retention setting")

// IsPruned reports whether err says that retention has removed a record.
func IsPruned(err error) bool { return errors.Is(err, errPruned) }

// verdictIn finds the verdict of a rule, named by id or slug, and the hash of the content that was judged.
func verdictIn(rec *wire.EvaluationRecord, ref string) (*rule.RuleVerdict, string) {
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		if !strings.EqualFold(v.RuleID, ref) && (v.RuleSlug == "" || v.RuleSlug != ref) {
			continue
		}
		for _, r := range rec.Rules {
			if r.RuleID == v.RuleID {
				return v, r.ContentHash
			}
		}
	}
	return nil, ""
}

func decode(entry store.AuditEntry) (*wire.EvaluationRecord, error) {
	body, err := bodyOf(&entry)
	if err != nil {
		return nil, err
	}
	var rec wire.EvaluationRecord
	if err := json.Unmarshal(body, &rec); err != nil {
		return nil, fmt.Errorf("record: evaluation %s: %w", entry.ID, err)
	}
	if rec.Evaluation == nil {
		return nil, fmt.Errorf("record: evaluation %s holds no evaluation", entry.ID)
	}
	overall := rec.Evaluation.OverallVerdict
	rec.Evaluation.Tally()
	rec.Evaluation.OverallVerdict = overall
	rec.Audit = &wire.AuditPlace{Seq: entry.Seq, Hash: entry.Hash, PrevHash: entry.PrevHash, At: entry.At, Actor: entry.Actor}
	return &rec, nil
}
