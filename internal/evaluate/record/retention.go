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
	// Apart reports whether all servers can read records that lie in parts of time. Until then, and if it is nil, none are made.
	Apart func(ctx context.Context) (bool, error)
}

// dropBatch is how many submissions one transaction removes.
const dropBatch = 1000

// Prune returns the handler of the jobs that remove records and submissions after their retention, in all projects, and that make the parts of time in which
// records lie. A fault in one project does not stop the others.
//
// All removals are in the chains before anything is removed: parts of time of which no project keeps anything go at once, and then what is left of each project.
func (a *Archive) Prune(keep Retention) job.Handler {
	return func(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
		projects, err := a.store.Projects.List(ctx)
		if err != nil {
			return err
		}
		parts, err := a.parts(ctx)
		if err != nil {
			return err
		}
		var errs []error
		all, announced := make([]*pruning, 0, len(projects)), map[string]*audit.Removal{}
		for _, p := range projects {
			began := time.Now()
			one, err := a.announce(ctx, p.ID, keep, parts)
			job.Rest(ctx, began, len(projects))
			all, errs = append(all, one), append(errs, err)
			for _, r := range one.removals {
				if r.Kind == store.KindApart {
					announced[p.ID] = r
				}
			}
		}
		if len(parts) > 0 {
			_, err := audit.DropParts(ctx, a.store, a.store.Parts, announced)
			errs = append(errs, err)
		}
		for i, one := range all {
			began := time.Now()
			if one.ready {
				errs = append(errs, a.finish(ctx, one, keep))
			}
			job.Rest(ctx, began, len(projects))
			progress(i+1, len(all))
		}
		return errors.Join(append(errs, a.makeParts(ctx, keep, all))...)
	}
}

// pruning is the removal of what is over its time in one project.
type pruning struct {
	projectID string
	keeping   rule.Retention
	removals  []*audit.Removal // which are in the chain
	ready     bool             // nothing has failed so far
}

// announce puts into the chain of a project what is to be removed.
func (a *Archive) announce(ctx context.Context, projectID string, server Retention, parts []store.Part) (*pruning, error) {
	one := &pruning{projectID: projectID}
	if server.Explained != nil {
		if err := server.Explained(ctx, projectID, store.RetentionInForce); err != nil {
			return one, err
		}
	}
	var err error
	if one.keeping, err = a.store.Retention.Get(ctx, projectID); err != nil {
		return one, err
	}
	now := a.now()
	for _, kind := range []struct {
		kept, entries string
		server        time.Duration
	}{{rule.KeptEvaluations, audit.KindEvaluation, server.Records}, {rule.KeptAgents, audit.KindAgent, 0}} {
		time := one.keeping.Keep(kind.kept, kind.server)
		if time == 0 {
			continue
		}
		p := audit.Pruning{ProjectID: projectID, Kind: kind.entries, Before: now.Add(-time), Now: now}
		if kind.entries == store.KindApart {
			p.Before = wholeParts(parts, p.Before)
		}
		if err := a.hold(ctx, &p, &one.keeping); err != nil {
			return one, err
		}
		r, _, err := audit.Announce(ctx, a.store, a.store.Audit, p)
		if err != nil {
			return one, err
		}
		one.removals = append(one.removals, r)
	}
	one.ready = true
	return one, nil
}

// finish removes what is over its time in a project, and what the index has of it.
func (a *Archive) finish(ctx context.Context, one *pruning, server Retention) error {
	for _, r := range one.removals {
		if _, err := r.Finish(ctx, a.store, a.store.Audit); err != nil {
			return err
		}
		if a.store.Edges == nil || r.Kind != audit.KindEvaluation {
			continue
		}
		if _, err := audit.PruneEdges(ctx, a.store, a.store.Audit, a.store.Edges, r.Pruning); err != nil {
			return err
		}
	}
	if err := a.forget(ctx, one.projectID, &one.keeping); err != nil {
		return err
	}
	for time := one.keeping.Keep(rule.KeptSubmissions, server.Submissions); time > 0; {
		dropped := 0
		err := a.store.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.Submissions.DeleteOld(ctx, one.projectID, a.now().Add(-time), dropBatch)
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
