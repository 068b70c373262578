package app

import (
	"context"
	"time"

	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// ingest makes what takes in pull requests and signed submissions, with its handler.
func (a *App) ingest(handlers map[string]job.Handler, evaluator *evaluate.Evaluator, now func() time.Time) (*ingest.Ingest, error) {
	in, err := ingest.New(ingest.Config{
		Store: a.store, Queue: job.NewQueue(now), Evaluator: changes{evaluator, a.store}, Now: now, ProjectID: a.cfg.IngestProject, Secret: a.cfg.IngestSecret,
		GitHubSecret: a.cfg.IngestGitHubSecret, GitHubURL: a.cfg.GitHubURL, GitHubToken: a.cfg.GitHubToken, MaxDiff: a.cfg.MaxBody,
	})
	if err != nil {
		return nil, err
	}
	handlers[ingest.GitHubKind] = in.FetchDiff
	return in, nil
}

// changes has an evaluator judge what was taken in, as something that has happened: nobody waits for the answer, and so a
// violation is told as an event.
type changes struct {
	evaluator *evaluate.Evaluator
	store     store.Store
}

// Known implements ingest.Evaluator.
func (c changes) Known(ctx context.Context, projectID string, n ingest.Named) (bool, error) {
	_, err := c.store.Submission(ctx, projectID, n.SubmissionID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		_, err = c.store.SubmissionByKey(ctx, projectID, n.Key)
	}
	if rule.CodeOf(err) == rule.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// Submit implements ingest.Evaluator.
func (c changes) Submit(ctx context.Context, n ingest.Named, change ingest.Change) error {
	_, err := c.evaluator.Later(ctx, evaluate.Named{SubmissionID: n.SubmissionID, Key: n.Key, BodyHash: n.BodyHash}, evaluate.Request{
		ProjectID: change.ProjectID, Mode: rule.Posthoc,
		Submitted: &subject.Submitted{Kind: subject.CodeChange, Of: &subject.CodeChangeSubject{
			Kind: subject.CodeChange, Diff: change.Diff, Repository: change.Repository, Intent: change.Intent,
		}},
	})
	return err
}
