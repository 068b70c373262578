package conflict

import (
	"context"
	"errors"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// FindKind is the kind of the jobs that look for conflicts.
const FindKind = "conflicts.find"

// Walks over the rules of a project.
const (
	changesWalk = "changes" // over rules that have changed
	allWalk     = "all"
)

const (
	// firstBatch is how many rules are compared before their conflicts are stored, with the progress of the walk. Later batches are as large as the time of
	// the one before allows, at most walkBatch.
	firstBatch, walkBatch = 10, 100
	// batchTime is how long a transaction that stores conflicts should take: nobody else writes to SQLite meanwhile.
	batchTime = 20 * time.Millisecond
	// restTimes is how many times as long as a batch took the walk rests after it while people or programs change rules, at most longestRest.
	restTimes   = 3
	longestRest = 200 * time.Millisecond
	// modelRules is the number of changed rules up to which the model is asked. Larger imports are compared by the tests only; a scan
	// asks the model about them.
	modelRules = 50
)

// findArgs are the arguments of a job.
type findArgs struct {
	Walk  string `json:"walk"`
	Model bool   `json:"model"` // the model is asked about every rule
}

// Changed enqueues a job that compares the rules that a transaction changes, as part of it. At most one such job waits, and it
// compares everything that has changed since the last one.
func (b *Conflicts) Changed(ctx context.Context, tx store.Tx, projectID string) error {
	_, err := b.enqueue(ctx, tx, projectID, changesWalk, false)
	return err
}

// Scan enqueues a job that compares all rules of a project, and returns its id. An interrupted scan resumes. With askModel, the
// model is asked about every rule, which takes as many calls. The error is unavailable for that without a model, not_found without
// the project.
func (b *Conflicts) Scan(ctx context.Context, projectID string, askModel bool) (int64, error) {
	if askModel && b.cfg.Model == nil {
		return 0, rule.Errorf(rule.CodeUnavailable, "no model is configured; set TENET_JUDGE_MODEL, or scan without the model")
	}
	var id int64
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
		if _, err = tx.Projects.Get(ctx, projectID); err != nil {
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

// Find is the handler of the jobs of [FindKind]. It compares rules in the order of their ids. The next attempt of an interrupted job
// resumes behind the last stored batch.
func (b *Conflicts) Find(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args findArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	name := args.Walk
	if args.Model {
		name += " with model"
	}
	for {
		resumed, err := b.resume(ctx, &j, name, args, progress)
		if err != nil {
			return err
		}
		// Rules that changed during an interrupted walk may lie behind it already, and no other job may wait for them.
		if !resumed || args.Walk != changesWalk {
			return nil
		}
	}
}

// resume walks to the end, and reports whether an earlier attempt had begun. While the model cannot be reached, it stores what the
// tests find and does not advance, until the last attempt, which does without the model.
func (b *Conflicts) resume(ctx context.Context, j *wire.Job, name string, args findArgs, progress func(done, total int)) (resumed bool, err error) {
	projectID := j.ProjectID
	w, err := b.cfg.Store.Conflicts.Walk(ctx, projectID, name)
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
	for size := firstBatch; len(ids) > 0; {
		batch := ids[:min(size, len(ids))]
		ids = ids[len(batch):]
		progress(done, total)
		begun := time.Now()
		found, err := s.look(ctx, batch)
		if err != nil {
			return false, err
		}
		if s.away && j.Attempt < j.MaxAttempts {
			err := rule.Errorf(rule.CodeUnavailable, "the model cannot be asked about the rules now; what was found without it is kept")
			_, errKeep := b.keep(ctx, projectID, name, w, batch, found)
			return false, errors.Join(errKeep, err)
		}
		w.LastID = batch[len(batch)-1]
		took, err := b.keep(ctx, projectID, name, w, batch, found)
		if err != nil {
			return false, err
		}
		done, size = done+len(batch), nextBatch(len(batch), took)
		if err := s.rest(ctx, begun); err != nil {
			return false, err
		}
	}
	progress(total, total)
	finished := store.ConflictWalk{Reached: w.Toward}
	if args.Walk == allWalk {
		finished.Reached = 0 // the next one begins at the start
	}
	return resumed, b.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Conflicts.PutWalk(ctx, projectID, name, finished) })
}

// rest lets those who change rules come first: it waits for a while after a batch if the corpus has changed since the batch was compared. The changes
// are compared together by the next walk.
func (s *search) rest(ctx context.Context, begun time.Time) error {
	view, err := s.b.cfg.Views.View(ctx, s.projectID)
	if err != nil || view.Version() == s.version {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(restTimes*time.Since(begun), longestRest)):
		return nil
	}
}

// nextBatch is the size of the batch after one of a size whose transaction took a time.
func nextBatch(size int, took time.Duration) int {
	fits := float64(size) * float64(batchTime) / float64(max(took, time.Microsecond))
	return min(max(int(min(fits, walkBatch)), 1), 2*size)
}

// toWalk lists the rules of a walk, in order of their ids, and the corpus version that the list is of.
func (b *Conflicts) toWalk(ctx context.Context, projectID, walk string, w store.ConflictWalk) (ids []string, version int64, err error) {
	if walk == changesWalk {
		version, err = b.cfg.Store.Rules.Changes(ctx, projectID, w.Reached, func(s store.RuleState) error {
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

// after returns the place of the first of ids behind last.
func after(ids []string, last string) int {
	i, found := slices.BinarySearch(ids, last)
	if found {
		i++
	}
	return i
}

// statuses of the rules that are compared.
var statuses = []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective}

// related reports whether one of two rules overrides, supersedes or refines the other, so that they are meant to differ.
func related(a, b *corpus.Entry) bool {
	return linked(a, b, rule.Overrides, rule.Supersedes, rule.Refines)
}

// linked reports whether two rules have a relationship of one of these kinds, in either direction.
func linked(a, b *corpus.Entry, kinds ...rule.RelationKind) bool {
	from := func(one, other *corpus.Entry) bool {
		return slices.ContainsFunc(one.Relationships, func(rel rule.Relationship) bool {
			return rel.ToID == other.Rule.ID && slices.Contains(kinds, rel.Kind)
		})
	}
	return from(a, b) || from(b, a)
}
