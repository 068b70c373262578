package sqlstore

import (
	"context"
	"encoding/hex"
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const projectColumns = "project_id, name, description, two_person, tests_required, policy, corpus_version, created_at, updated_at"

// policyColumn reads a policy. One that cannot be read is no error: it demands the most.
type policyColumn struct{ p *rule.ProjectPolicy }

// Scan implements sql.Scanner.
func (c policyColumn) Scan(value any) error {
	*c.p = rule.ReadPolicy(bytesOf(value))
	return nil
}

func projectFields(p *rule.Project) []any {
	return []any{&p.ID, &p.Name, &p.Description, &p.TwoPerson, &p.TestsRequired, policyColumn{&p.Policy}, &p.CorpusVersion, timeColumn{&p.CreatedAt}, timeColumn{&p.UpdatedAt}}
}

// List implements store.ProjectReader.
func (t projectTable) List(ctx context.Context) ([]rule.Project, error) {
	if err := t.lockProjects(ctx); err != nil {
		return nil, err
	}
	return many(ctx, t.session, unlocked, "projects", "SELECT "+projectColumns+" FROM projects ORDER BY project_id", nil, projectFields)
}

// Get implements store.ProjectReader.
func (t projectTable) Get(ctx context.Context, id string) (rule.Project, error) {
	p, err := one(ctx, t.session, corpusOf(id), "project", "SELECT "+projectColumns+" FROM projects WHERE project_id = ?", []any{id}, projectFields)
	return p, notFound(err, "project", id)
}

// CorpusVersions implements store.ProjectReader.
func (t projectTable) CorpusVersions(ctx context.Context) (map[string]int64, error) {
	if err := t.lockProjects(ctx); err != nil {
		return nil, err
	}
	return byKey(ctx, t.session, unlocked, "corpus versions", "SELECT project_id, corpus_version FROM projects", nil,
		func(id *string, version *int64) []any { return []any{id, version} })
}

// CorpusSum implements store.ProjectReader.
func (t projectTable) CorpusSum(ctx context.Context) (sum int64, err error) {
	if err := t.lockProjects(ctx); err != nil {
		return 0, err
	}
	err = t.row(ctx, "sum of corpus versions", "SELECT CAST(COALESCE(SUM(corpus_version), 0) AS BIGINT) FROM projects", nil, &sum)
	return sum, err
}

// Create implements store.ProjectTx.
func (t projectTable) Create(ctx context.Context, p rule.Project) error {
	policy, err := p.Policy.Stored()
	if err != nil {
		return fmt.Errorf("sqlstore: policy of a project: %w", err)
	}
	n, err := t.lockedExec(ctx, projectListDomain, "create project",
		"INSERT INTO projects ("+projectColumns+") VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (project_id) DO NOTHING",
		p.ID, p.Name, p.Description, p.TwoPerson, p.TestsRequired, policy, micros(p.CreatedAt), micros(p.UpdatedAt))
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a project %q already", p.ID)); err != nil {
		return err
	}
	t.changedInForce(p.ID, store.ProjectInForce, p.ID)
	if _, err = t.exec(ctx, "create chain", "INSERT INTO audit_heads (project_id, seq, hash) VALUES (?, 0, '')", p.ID); err != nil {
		return err
	}
	_, err = t.exec(ctx, "create tally", "INSERT INTO corpus_tallies (project_id, corpus_version, rules, digest) VALUES (?, 0, 0, ?)",
		p.ID, hex.EncodeToString(make([]byte, len(rowSum{}))))
	return err
}

// Update implements store.ProjectTx.
func (t projectTable) Update(ctx context.Context, p rule.Project) error {
	policy, err := p.Policy.Stored()
	if err != nil {
		return fmt.Errorf("sqlstore: policy of a project: %w", err)
	}
	if err := t.lock(ctx, corpusOf(p.ID)); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, p.ID, store.ProjectInForce, p.ID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "update project",
		"UPDATE projects SET name = ?, description = ?, two_person = ?, tests_required = ?, policy = ?, updated_at = ? WHERE project_id = ?",
		p.Name, p.Description, p.TwoPerson, p.TestsRequired, policy, micros(p.UpdatedAt), p.ID)
	t.changedInForce(p.ID, store.ProjectInForce, p.ID)
	return unlessNone(n, err, rule.NotFound("project", p.ID))
}

// RaiseCorpus implements store.ProjectTx. The update holds the project's row until the transaction ends.
func (t projectTable) RaiseCorpus(ctx context.Context, projectID string) (int64, error) {
	var version int64
	err := t.row(ctx, "raise corpus version",
		"UPDATE projects SET corpus_version = corpus_version + 1 WHERE project_id = ? RETURNING corpus_version", []any{projectID}, &version)
	if err == nil {
		t.state.locked[corpusOf(projectID)] = true
	}
	return version, notFound(err, "project", projectID)
}
