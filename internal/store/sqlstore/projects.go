package sqlstore

import (
	"context"
	"database/sql"

	"tenet/internal/rule"
)

const projectColumns = "project_id, name, description, two_person, tests_required, corpus_version, created_at, updated_at"

func scanProject(scan func(...any) error) (rule.Project, error) {
	var p rule.Project
	var created, updated int64
	err := scan(&p.ID, &p.Name, &p.Description, &p.TwoPerson, &p.TestsRequired, &p.CorpusVersion, &created, &updated)
	p.CreatedAt, p.UpdatedAt = fromMicros(created), fromMicros(updated)
	return p, err
}

// Projects implements store.Reader.
func (r *reader) Projects(ctx context.Context) ([]rule.Project, error) {
	if err := r.holdAll(ctx); err != nil {
		return nil, err
	}
	list := []rule.Project{}
	err := r.each(ctx, "projects", "SELECT "+projectColumns+" FROM projects ORDER BY project_id", nil, func(rows *sql.Rows) error {
		p, err := scanProject(rows.Scan)
		list = append(list, p)
		return err
	})
	return list, err
}

// Project implements store.Reader.
func (r *reader) Project(ctx context.Context, id string) (rule.Project, error) {
	if err := r.hold(ctx, corpusOf(id)); err != nil {
		return rule.Project{}, err
	}
	p, err := scanProject(func(dest ...any) error {
		return r.row(ctx, "project", "SELECT "+projectColumns+" FROM projects WHERE project_id = ?", []any{id}, dest...)
	})
	return p, missing(err, "project", id)
}

// CorpusVersions implements store.Reader.
func (r *reader) CorpusVersions(ctx context.Context) (map[string]int64, error) {
	if err := r.holdAll(ctx); err != nil {
		return nil, err
	}
	versions := map[string]int64{}
	err := r.each(ctx, "corpus versions", "SELECT project_id, corpus_version FROM projects", nil, func(rows *sql.Rows) error {
		var id string
		var version int64
		err := rows.Scan(&id, &version)
		versions[id] = version
		return err
	})
	return versions, err
}

// CreateProject implements store.Tx.
func (t *tx) CreateProject(ctx context.Context, p rule.Project) error {
	if err := t.hold(ctx, lump{kind: projectList}); err != nil {
		return err
	}
	n, err := t.exec(ctx, "create project",
		"INSERT INTO projects ("+projectColumns+") VALUES (?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (project_id) DO NOTHING",
		p.ID, p.Name, p.Description, p.TwoPerson, p.TestsRequired, micros(p.CreatedAt), micros(p.UpdatedAt))
	if err != nil {
		return err
	}
	if n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is a project %q already", p.ID)
	}
	_, err = t.exec(ctx, "create chain", "INSERT INTO audit_heads (project_id, seq, hash) VALUES (?, 0, '')", p.ID)
	return err
}

// UpdateProject implements store.Tx.
func (t *tx) UpdateProject(ctx context.Context, p rule.Project) error {
	if err := t.hold(ctx, corpusOf(p.ID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "update project",
		"UPDATE projects SET name = ?, description = ?, two_person = ?, tests_required = ?, updated_at = ? WHERE project_id = ?",
		p.Name, p.Description, p.TwoPerson, p.TestsRequired, micros(p.UpdatedAt), p.ID)
	if err == nil && n == 0 {
		return rule.NotFound("project", p.ID)
	}
	return err
}

// RaiseCorpus implements store.Tx. The update holds the project's row until the transaction ends.
func (t *tx) RaiseCorpus(ctx context.Context, projectID string) (int64, error) {
	var version int64
	err := t.row(ctx, "raise corpus version",
		"UPDATE projects SET corpus_version = corpus_version + 1 WHERE project_id = ? RETURNING corpus_version", []any{projectID}, &version)
	if err == nil {
		t.inside.held[corpusOf(projectID)] = true
	}
	return version, missing(err, "project", projectID)
}
