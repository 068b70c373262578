package search

import (
	"context"
	"time"

	"tenet/internal/job"
	"tenet/internal/poll"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const (
	// otherModel is the pause before a job for another model is offered to a node with that model again.
	otherModel = 5 * time.Second
	// checkAgain is the time between checks of projects that have not changed: a job may have been given up.
	checkAgain = 10 * time.Minute
	// jobRest is the time for which a project is not checked after a job was enqueued for it, whose work changes it again and
	// again.
	jobRest = time.Second
)

// Follower enqueues the jobs that embed rules, for all projects, and carries them out.
type Follower struct {
	embeddings *Embeddings
	projects   store.ProjectReader
	queue      job.Queue
	poll       time.Duration
	checked    map[string]check // by project
}

// check is the corpus version of a project at which all rules had vectors, or a job was enqueued.
type check struct {
	version  int64
	enqueued time.Time // zero unless a job was
}

// NewFollower returns a Follower that compares corpus versions at intervals of poll.
func NewFollower(e *Embeddings, projects store.ProjectReader, queue job.Queue, poll time.Duration) *Follower {
	return &Follower{embeddings: e, projects: projects, queue: queue, poll: poll, checked: map[string]check{}}
}

// embedArgs are the arguments of the jobs that embed rules.
type embedArgs struct {
	Model string `json:"model"`
}

// Embed is the [job.Handler] of [EmbedKind]. A job for another model is left to a node that has it: while the setting changes,
// nodes differ.
func (f *Follower) Embed(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args embedArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	if own := f.embeddings.embedder.ID(); args.Model != own {
		return job.RetryIn(otherModel, rule.Errorf(rule.CodeUnavailable, "the node embeds with %s; one with %s has to do this", own, args.Model))
	}
	return f.embeddings.EmbedRules(ctx, j.ProjectID, progress)
}

// Run enqueues a job for every project with rules that have no vector: at the start, whenever its corpus has changed on any
// node, and at intervals, until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	again := time.Now().Add(checkAgain)
	poll.Every(ctx, f.poll, f.embeddings.log, "cannot look for rules to embed; trying again", func(ctx context.Context) error {
		if time.Now().After(again) {
			clear(f.checked)
			again = time.Now().Add(checkAgain)
		}
		return f.enqueue(ctx)
	})
}

func (f *Follower) enqueue(ctx context.Context) error {
	versions, err := f.projects.CorpusVersions(ctx)
	if err != nil {
		return err
	}
	for project, version := range versions {
		if last, ok := f.checked[project]; ok && (last.version == version || time.Since(last.enqueued) < jobRest) {
			continue
		}
		missing, err := f.embeddings.Missing(ctx, project)
		if rule.CodeOf(err) == rule.CodeNotFound {
			continue // it has been removed meanwhile
		}
		now := check{version: version}
		if err == nil && missing {
			now.enqueued = time.Now()
			err = f.embeddings.store.Update(ctx, func(tx store.Tx) error {
				model := f.embeddings.embedder.ID()
				_, err := f.queue.Enqueue(ctx, tx, EmbedKind, project, embedArgs{model}, job.Options{UniqueKey: model, Priority: job.Last})
				return err
			})
		}
		if err != nil {
			return err
		}
		f.checked[project] = now
	}
	return nil
}
