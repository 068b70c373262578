package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const snapshotColumns = "id, name, description, rule_count, content_hash, corpus_version, created_at, created_by"

// Snapshot implements store.Reader.
func (r *reader) Snapshot(ctx context.Context, projectID, id string) (store.Snapshot, error) {
	s := store.Snapshot{ProjectID: projectID}
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return s, err
	}
	var created int64
	err := r.row(ctx, "snapshot", "SELECT "+snapshotColumns+", manifest FROM snapshots WHERE project_id = ? AND id = ?",
		[]any{projectID, canonical(id)}, &s.ID, &s.Name, &s.Description, &s.RuleCount, &s.ContentHash, &s.CorpusVersion, &created, &s.CreatedBy, &s.Manifest)
	s.CreatedAt = fromMicros(created)
	return s, missing(err, "snapshot", id)
}

// Snapshots implements store.Reader.
func (r *reader) Snapshots(ctx context.Context, projectID string, offset, limit int) ([]store.Snapshot, int, error) {
	list, total := []store.Snapshot{}, 0
	err := r.holding(ctx, corpusOf(projectID), func(r *reader) error {
		err := r.row(ctx, "count snapshots", "SELECT COUNT(*) FROM snapshots WHERE project_id = ?", []any{projectID}, &total)
		if err != nil {
			return err
		}
		return r.each(ctx, "snapshots",
			"SELECT "+snapshotColumns+" FROM snapshots WHERE project_id = ? ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
			[]any{projectID, max(limit, 0), max(offset, 0)}, func(rows *sql.Rows) error {
				s := store.Snapshot{ProjectID: projectID}
				var created int64
				err := rows.Scan(&s.ID, &s.Name, &s.Description, &s.RuleCount, &s.ContentHash, &s.CorpusVersion, &created, &s.CreatedBy)
				s.CreatedAt = fromMicros(created)
				list = append(list, s)
				return err
			})
	})
	return list, total, err
}

// Deployments implements store.Reader.
func (r *reader) Deployments(ctx context.Context, projectID, environment string) ([]store.Deployment, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	where, args := "project_id = ?", []any{projectID}
	if environment != "" {
		where, args = where+" AND environment = ?", append(args, environment)
	}
	list := []store.Deployment{}
	err := r.each(ctx, "deployments",
		"SELECT "+deploymentColumns+" FROM deployments WHERE "+where+" ORDER BY environment, seq", args,
		func(rows *sql.Rows) error {
			d, err := scanDeployment(rows.Scan)
			list = append(list, d)
			return err
		})
	return list, err
}

const deploymentColumns = "project_id, environment, seq, action, snapshot_id, at, actor, request_key, request"

func scanDeployment(scan func(...any) error) (store.Deployment, error) {
	var d store.Deployment
	var at int64
	err := scan(&d.ProjectID, &d.Environment, &d.Seq, &d.Action, &d.SnapshotID, &at, &d.By, &d.Key, &d.Request)
	d.At = fromMicros(at)
	return d, err
}

// DeploymentByKey implements store.Reader.
func (r *reader) DeploymentByKey(ctx context.Context, projectID, key string) (store.Deployment, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return store.Deployment{}, err
	}
	d, err := scanDeployment(func(dest ...any) error {
		return r.row(ctx, "deployment by key",
			"SELECT "+deploymentColumns+" FROM deployments WHERE project_id = ? AND request_key = ? AND request_key <> ''", []any{projectID, key}, dest...)
	})
	return d, missing(err, "deployment", key)
}

// Gates implements store.Reader.
func (r *reader) Gates(ctx context.Context, projectID, environment string) ([]byte, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	var body []byte
	err := r.row(ctx, "gates", "SELECT body FROM release_gates WHERE project_id = ? AND environment = ?", []any{projectID, environment}, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return body, err
}

// Approvals implements store.Reader.
func (r *reader) Approvals(ctx context.Context, projectID, snapshotID string) ([]store.Approval, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.Approval{}
	err := r.each(ctx, "approvals", "SELECT actor, at, note FROM snapshot_approvals WHERE project_id = ? AND snapshot_id = ? ORDER BY at, actor",
		[]any{projectID, snapshotID}, func(rows *sql.Rows) error {
			a := store.Approval{ProjectID: projectID, SnapshotID: snapshotID}
			var at int64
			err := rows.Scan(&a.Actor, &at, &a.Note)
			a.At = fromMicros(at)
			list = append(list, a)
			return err
		})
	return list, err
}

// RulesAt implements store.Reader.
func (r *reader) RulesAt(ctx context.Context, projectID string, refs []store.VersionRef) (map[string]rule.Rule, error) {
	found := make(map[string]rule.Rule, len(refs))
	err := r.holding(ctx, corpusOf(projectID), func(r *reader) error {
		for part := range slices.Chunk(refs, pageSize) {
			if err := r.rulesAt(ctx, projectID, part, found); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// rulesAt finds some versions: most are current, the others among the past ones.
func (r *reader) rulesAt(ctx context.Context, projectID string, refs []store.VersionRef, found map[string]rule.Rule) error {
	wanted, ids := make(map[string]int, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		ids[i] = canonical(ref.RuleID)
		wanted[ids[i]] = ref.Version
	}
	in, list := r.d.in("id", ids)
	take := func(rows *sql.Rows) error {
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return err
		}
		one, err := decodeRule(body)
		if err == nil && wanted[one.ID] == one.Version {
			found[one.ID] = one
			delete(wanted, one.ID)
		}
		return err
	}
	if err := r.each(ctx, "rules of a snapshot", "SELECT body FROM rules WHERE project_id = ? AND "+in, []any{projectID, list}, take); err != nil {
		return err
	}
	const past = "SELECT body FROM rule_versions WHERE project_id = ? AND rule_id = ? AND version = ?"
	for _, id := range ids {
		version, missing := wanted[id]
		if !missing {
			continue
		}
		if err := r.each(ctx, "past rules of a snapshot", past, []any{projectID, id, version}, take); err != nil {
			return err
		}
	}
	return nil
}

// InsertSnapshot implements store.Tx.
func (t *tx) InsertSnapshot(ctx context.Context, s store.Snapshot) error {
	if _, err := t.Project(ctx, s.ProjectID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert snapshot",
		"INSERT INTO snapshots (project_id, "+snapshotColumns+", manifest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.Name, s.Description, s.RuleCount, s.ContentHash, s.CorpusVersion, micros(s.CreatedAt), s.CreatedBy, s.Manifest)
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "there is a snapshot %q already", s.ID)
	}
	return err
}

// AppendDeployment implements store.Tx.
func (t *tx) AppendDeployment(ctx context.Context, d store.Deployment) error {
	if err := t.hold(ctx, corpusOf(d.ProjectID)); err != nil {
		return err
	}
	var one int
	err := t.row(ctx, "snapshot to deploy", "SELECT 1 FROM snapshots WHERE project_id = ? AND id = ?", []any{d.ProjectID, d.SnapshotID}, &one)
	if err != nil {
		return missing(err, "snapshot", d.SnapshotID)
	}
	var last int64
	err = t.row(ctx, "last deployment", "SELECT COALESCE(MAX(seq), 0) FROM deployments WHERE project_id = ? AND environment = ?",
		[]any{d.ProjectID, d.Environment}, &last)
	if err != nil {
		return err
	}
	if d.Seq != last+1 {
		return rule.Errorf(rule.CodeConflict, "the history of %s has moved on; try again", d.Environment)
	}
	n, err := t.exec(ctx, "append deployment",
		"INSERT INTO deployments ("+deploymentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		d.ProjectID, d.Environment, d.Seq, d.Action, d.SnapshotID, micros(d.At), d.By, d.Key, d.Request)
	if err == nil && n == 0 {
		return rule.Errorf(rule.CodeConflict, "another deployment was made under the key %q", d.Key)
	}
	return err
}

// PutGates implements store.Tx.
func (t *tx) PutGates(ctx context.Context, projectID, environment string, body []byte) error {
	if _, err := t.Project(ctx, projectID); err != nil {
		return err
	}
	_, err := t.exec(ctx, "put gates",
		"INSERT INTO release_gates (project_id, environment, body) VALUES (?, ?, ?) ON CONFLICT (project_id, environment) DO UPDATE SET body = excluded.body",
		projectID, environment, string(body))
	return err
}

// PutApproval implements store.Tx.
func (t *tx) PutApproval(ctx context.Context, a store.Approval) (store.Approval, bool, error) {
	if _, err := t.Snapshot(ctx, a.ProjectID, a.SnapshotID); err != nil {
		return a, false, err
	}
	n, err := t.exec(ctx, "put approval",
		"INSERT INTO snapshot_approvals (project_id, snapshot_id, actor, at, note) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		a.ProjectID, a.SnapshotID, a.Actor, micros(a.At), a.Note)
	if err != nil || n > 0 {
		return a, n > 0, err
	}
	list, err := t.Approvals(ctx, a.ProjectID, a.SnapshotID)
	for _, before := range list {
		if before.Actor == a.Actor {
			return before, false, err
		}
	}
	return a, false, err
}
