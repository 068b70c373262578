package store

import (
	"context"

	"tenet/internal/rule"
)

// ProjectReader reads projects.
type ProjectReader interface {
	// List lists all projects by id.
	List(ctx context.Context) ([]rule.Project, error)
	// Get returns one project, or not_found. A stored policy that cannot be read is no error; see [rule.ReadPolicy].
	Get(ctx context.Context, id string) (rule.Project, error)
	// CorpusVersions returns the corpus version of every project: a cheap read for polling.
	CorpusVersions(ctx context.Context) (map[string]int64, error)
	// CorpusSum returns the sum of the corpus versions of all projects, which changes whenever one of them does: a cheaper read.
	CorpusSum(ctx context.Context) (int64, error)
}

// ProjectTx writes projects.
type ProjectTx interface {
	ProjectReader

	// Create stores a project with corpus version 0; conflict if the id is taken.
	Create(ctx context.Context, p rule.Project) error
	// Update changes name, description, settings, policy and UpdatedAt; not_found without the project.
	Update(ctx context.Context, p rule.Project) error
	// RaiseCorpus raises the corpus version of a project by one, returns it, and keeps other transactions from raising it
	// until this one ends; not_found without the project. Every change of rules or relationships needs it.
	RaiseCorpus(ctx context.Context, projectID string) (int64, error)
}
