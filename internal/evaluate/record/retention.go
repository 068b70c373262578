package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"tenet/internal/audit"
	"tenet/internal/evaluate/find"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// PruneKind is the kind of the jobs that remove records after their retention; [Archive.Prune] makes their handler.
const PruneKind = "records.prune"

// PruneEvery is how often the jobs run.
const PruneEvery = time.Hour

// Retention is how long the server keeps records and submissions, where a project says nothing else.
type Retention struct {
	Records     time.Duration // bodies of the records of evaluations; 0 means without limit
	Submissions time.Duration // submissions and idempotency keys; 0 means without limit
	// Explained returns an error if the audit log does not explain what the database says of the retention of a project, which is then not followed.
	// It may be nil.
	Explained func(ctx context.Context, projectID string, kinds ...string) error
}

// dropBatch is how many submissions one transaction removes.
const dropBatch = 1000

// Prune returns the handler of the jobs that remove records and submissions after their retention, in all projects. A fault in
// one project does not stop the others.
func (a *Archive) Prune(keep Retention) job.Handler {
	return func(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
		projects, err := a.store.Projects.List(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for i, p := range projects {
			began := time.Now()
			errs = append(errs, a.prune(ctx, p.ID, keep))
			job.Rest(ctx, began, len(projects))
			progress(i+1, len(projects))
		}
		return errors.Join(errs...)
	}
}

func (a *Archive) prune(ctx context.Context, projectID string, server Retention) error {
	if server.Explained != nil {
		if err := server.Explained(ctx, projectID, store.RetentionInForce); err != nil {
			return err
		}
	}
	keeping, err := a.store.Retention.Get(ctx, projectID)
	if err != nil {
		return err
	}
	now := a.now()
	for _, kind := range []struct {
		kept, entries string
		server        time.Duration
	}{{rule.KeptEvaluations, audit.KindEvaluation, server.Records}, {rule.KeptAgents, audit.KindAgent, 0}} {
		time := keeping.Keep(kind.kept, kind.server)
		if time == 0 {
			continue
		}
		p := audit.Pruning{ProjectID: projectID, Kind: kind.entries, Before: now.Add(-time), Now: now}
		if err := a.hold(ctx, &p, &keeping); err != nil {
			return err
		}
		if _, err := audit.Prune(ctx, a.store, a.store.Audit, p); err != nil {
			return err
		}
		if a.store.Edges == nil || kind.entries != audit.KindEvaluation {
			continue
		}
		if _, err := audit.PruneEdges(ctx, a.store, a.store.Audit, a.store.Edges, p); err != nil {
			return err
		}
	}
	if err := a.forget(ctx, projectID, &keeping); err != nil {
		return err
	}
	for time := keeping.Keep(rule.KeptSubmissions, server.Submissions); time > 0; {
		dropped := 0
		err := a.store.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.Submissions.DeleteOld(ctx, projectID, now.Add(-time), dropBatch)
			return err
		})
		if err != nil {
			return err
		}
		if dropped < dropBatch {
			break
		}
	}
	return nil
}

// hold has a removal leave what the legal holds of a project cover. It ends with an error if they change meanwhile; the next job goes on.
func (a *Archive) hold(ctx context.Context, p *audit.Pruning, keeping *rule.Retention) error {
	p.Lifts = keeping.Lifts
	p.Confirm = func(ctx context.Context, tx store.Tx) error {
		now, err := tx.Retention.Get(ctx, p.ProjectID)
		if err == nil && !reflect.DeepEqual(&now, keeping) {
			err = rule.Errorf(rule.CodeConflict, "the retention of project %q has changed; the removal of old records begins again with the next job", p.ProjectID)
		}
		return err
	}
	holds := keeping.InForce()
	if len(holds) == 0 {
		return nil
	}
	covering, err := a.index.Covering(ctx, p.ProjectID, holds)
	if err != nil {
		return fmt.Errorf("record: the legal holds of project %s: %w", p.ProjectID, err)
	}
	p.Held = func(_ context.Context, entries []store.AuditEntry) (held []int64, err error) {
		for i := range entries {
			if len(covering(&entries[i])) > 0 {
				held = append(held, entries[i].Seq)
			}
		}
		return held, nil
	}
	return nil
}

// forget removes the terms of removed records from the index. Those after the first record that a legal hold has kept stay until it is lifted.
func (a *Archive) forget(ctx context.Context, projectID string, keeping *rule.Retention) error {
	through, err := audit.Pruned(ctx, a.store.Audit, projectID)
	if err != nil || through == 0 {
		return err
	}
	if len(keeping.InForce()) > 0 {
		first, err := a.store.Retention.FirstBody(ctx, projectID, audit.KindEvaluation, through)
		if err != nil {
			return err
		}
		if first > 0 {
			through = first - 1
		}
	}
	return a.index.Forget(ctx, projectID, through)
}

// heldBy returns the legal holds that cover a record.
func (a *Archive) heldBy(ctx context.Context, entry *store.AuditEntry) ([]rule.LegalHold, error) {
	if a.store.Retention == nil { // of a sandbox
		return nil, nil
	}
	keeping, err := a.store.Retention.Get(ctx, entry.ProjectID)
	holds := keeping.InForce()
	if err != nil || len(holds) == 0 {
		return nil, err
	}
	covering, err := a.index.Covering(ctx, entry.ProjectID, holds)
	if err != nil {
		return nil, err
	}
	return covering(entry), nil
}

// Covered returns how many recorded evaluations a legal hold covers, and replaces the slug of its rule by the id; invalid, naming the
// conditions, if nothing can meet them.
func (a *Archive) Covered(ctx context.Context, projectID string, h *rule.LegalHold) (int, error) {
	found, err := a.index.Find(ctx, projectID, find.HoldQuery(h))
	if err != nil || h.Rule == "" {
		return found.Total, err
	}
	r, err := a.store.Rules.Get(ctx, projectID, h.Rule)
	h.Rule = r.ID
	return found.Total, err
}

// About returns how many recorded evaluations are sealed under a key, and those of some legal holds that cover one of them; unavailable while not
// all records are searched.
func (a *Archive) About(ctx context.Context, projectID, key string, holds []rule.LegalHold) (records int, covering []rule.LegalHold, err error) {
	under := wire.EvaluationQuery{PersonalKey: key, PageQuery: wire.PageQuery{Page: 1, PageSize: 1}}
	found, err := a.index.Find(ctx, projectID, under)
	if err == nil && found.Unsearched > 0 {
		err = rule.Errorf(rule.CodeUnavailable, "%d records are not searched yet; try again in some minutes", found.Unsearched)
	}
	if err != nil || found.Total == 0 {
		return found.Total, nil, err
	}
	for i := range holds {
		q := find.HoldQuery(&holds[i])
		q.PersonalKey = key
		held, err := a.index.Find(ctx, projectID, q)
		if err != nil && rule.CodeOf(err) != rule.CodeInvalid {
			return found.Total, nil, err
		}
		if err != nil || held.Total > 0 || held.Unsearched > 0 { // what cannot be decided is held
			covering = append(covering, holds[i])
		}
	}
	return found.Total, covering, nil
}

// Covering returns a function that returns those of some legal holds that cover an entry.
func (a *Archive) Covering(ctx context.Context, projectID string, holds []rule.LegalHold) (func(*store.AuditEntry) []rule.LegalHold, error) {
	return a.index.Covering(ctx, projectID, holds)
}

// Kept is [Archive.Get] with the legal holds that cover the record.
func (a *Archive) Kept(ctx context.Context, projectID, id string) (*wire.EvaluationRecord, error) {
	entry, err := a.entry(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	rec, err := a.open(ctx, entry)
	if err != nil {
		return nil, err
	}
	holds, err := a.heldBy(ctx, &entry)
	for _, h := range holds {
		rec.Holds = append(rec.Holds, wire.HeldBy{ID: h.ID, Reason: h.Reason})
	}
	return rec, err
}
