package conflict

import (
	"context"
	"errors"
	"slices"

	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// FindKind is the kind of the jobs that look for conflicts.
const FindKind = "conflicts.find"

// Walks over the rules of a project.
const (
	changesWalk = "changes" // over rules that have changed
	allWalk     = "all"
)

const (
	// walkBatch is how many rules are looked at before what was found is stored, and with it how far the walk has come.
	walkBatch = 100
	// modelRules is up to how many changed rules the model is asked about. Larger imports are left to the tests: the model can be
	// asked about them by a scan.
	modelRules = 50
)

// findArgs are the arguments of a job.
type findArgs struct {
	Walk  string `json:"walk"`
	Model bool   `json:"model"` // the model is asked about every rule
}

// Changed asks for a look at the rules that a transaction changes, as part of it. However many transactions ask, one job at most
// waits, and looks at all that has changed since the last one.
func (b *Conflicts) Changed(ctx context.Context, tx store.Tx, projectID string) error {
	_, err := b.enqueue(ctx, tx, projectID, changesWalk, false)
	return err
}

// Scan asks for a look at all rules of a project, and returns the id of the job. A scan that was interrupted is gone on with. With
// askModel, the model is asked about every rule, which takes as many calls. The error is unavailable for that without a model,
// not_found without the project.
func (b *Conflicts) Scan(ctx context.Context, projectID string, askModel bool) (int64, error) {
	if askModel && b.cfg.Model == nil {
		return 0, rule.Errorf(rule.CodeUnavailable, "no model is configured; set TENET_JUDGE_MODEL, or scan without the model")
	}
	var id int64
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		if _, err = tx.Project(ctx, projectID); err != nil {
			return err
		}
		id, err = b.enqueue(ctx, tx, projectID, allWalk, askModel)
		return err
	})
	return id, err
}

func (b *Conflicts) enqueue(ctx context.Context, tx store.Tx, projectID, walk string, askModel bool) (int64, error) {
	key := walk
	if askModel {
		key += " with model" // not the same work as a scan without, which may wait
	}
	return b.cfg.Queue.Enqueue(ctx, tx, FindKind, projectID, findArgs{walk, askModel}, job.Options{UniqueKey: key, Priority: job.Last})
}

// Find is the handler of the jobs of [FindKind]. Rules are looked at in order of their ids. A job that is interrupted goes on, when it
// is tried again, behind the last batch that was stored.
func (b *Conflicts) Find(ctx context.Context, j job.Job, progress func(done, total int)) error {
	var args findArgs
	if err := j.Decode(&args); err != nil {
		return err
	}
	name := args.Walk
	if args.Model {
		name += " with model"
	}
	for {
		resumed, err := b.goOn(ctx, &j, name, args, progress)
		if err != nil {
			return err
		}
		// What has changed since an interrupted walk began may lie where it had been already, and no other job may wait for it.
		if !resumed || args.Walk != changesWalk {
			return nil
		}
	}
}

// goOn does a walk to its end, and reports whether it had been begun before. While the model cannot be reached, it stays where it is with
// what the tests have found, until the last attempt, which does without the model.
func (b *Conflicts) goOn(ctx context.Context, j *job.Job, name string, args findArgs, progress func(done, total int)) (resumed bool, err error) {
	projectID := j.ProjectID
	w, err := b.cfg.Store.ConflictWalk(ctx, projectID, name)
	if err != nil {
		return false, err
	}
	ids, end, err := b.toWalk(ctx, projectID, args.Walk, w)
	if err != nil {
		return false, err
	}
	if resumed = w.Toward != 0; !resumed {
		w.Toward, w.LastID = end, ""
	}
	ids = ids[after(ids, w.LastID):]
	s := &search{b: b, projectID: projectID, model: b.cfg.Model}
	if !args.Model && (args.Walk == allWalk || len(ids) > modelRules) {
		s.model = nil
	}
	done, total := 0, len(ids)
	for batch := range slices.Chunk(ids, walkBatch) {
		progress(done, total)
		found, err := s.look(ctx, batch)
		if err != nil {
			return false, err
		}
		if s.away && j.Attempt < j.MaxAttempts {
			err := rule.Errorf(rule.CodeUnavailable, "the model cannot be asked about the rules now; what was found without it is kept")
			return false, errors.Join(b.keep(ctx, projectID, name, w, batch, found), err)
		}
		w.LastID = batch[len(batch)-1]
		if err := b.keep(ctx, projectID, name, w, batch, found); err != nil {
			return false, err
		}
		done += len(batch)
	}
	progress(total, total)
	finished := store.ConflictWalk{Reached: w.Toward}
	if args.Walk == allWalk {
		finished.Reached = 0 // the next one begins anew
	}
	return resumed, b.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.PutConflictWalk(ctx, projectID, name, finished) })
}

// toWalk lists the rules of a walk, in order of their ids, and the corpus version that the list is of.
func (b *Conflicts) toWalk(ctx context.Context, projectID, walk string, w store.ConflictWalk) (ids []string, version int64, err error) {
	if walk == changesWalk {
		version, err = b.cfg.Store.Changes(ctx, projectID, w.Reached, func(s store.RuleState) error {
			ids = append(ids, s.Rule.ID)
			return nil
		})
		return ids, version, err
	}
	if walk != allWalk {
		return nil, 0, rule.Errorf(rule.CodeInvalid, "there is no walk %q", walk)
	}
	view, err := b.cfg.Views.Refresh(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	for e := range view.All() {
		ids = append(ids, e.Rule.ID)
	}
	return ids, view.Version(), nil
}

// after is the place of the first of ids that comes behind last.
func after(ids []string, last string) int {
	i, found := slices.BinarySearch(ids, last)
	if found {
		i++
	}
	return i
}

// statuses of the rules that are compared.
var statuses = []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective}

// related reports whether one of two rules stands above the other, so that they are meant to differ.
func related(a, b *corpus.Entry) bool {
	above := func(from, to *corpus.Entry) bool {
		return slices.ContainsFunc(from.Relationships, func(rel rule.Relationship) bool {
			return rel.ToID == to.Rule.ID && (rel.Kind == rule.Overrides || rel.Kind == rule.Supersedes || rel.Kind == rule.Refines)
		})
	}
	return above(a, b) || above(b, a)
}

// conflicting gives the CONFLICTS_WITH relationships of two rules.
func conflicting(a, b *corpus.Entry) []rule.Relationship {
	var out []rule.Relationship
	for _, pair := range [][2]*corpus.Entry{{a, b}, {b, a}} {
		for _, rel := range pair[0].Relationships {
			if rel.Kind == rule.ConflictsWith && rel.ToID == pair[1].Rule.ID {
				out = append(out, rel)
			}
		}
	}
	return out
}
