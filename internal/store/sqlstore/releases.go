package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const snapshotColumns = "project_id, id, name, description, rule_count, content_hash, corpus_version, created_at, created_by"

// Snapshot implements store.ReleaseReader.
func (t releaseTable) Snapshot(ctx context.Context, projectID, id string) (store.Snapshot, error) {
	s, err := one(ctx, t.session, corpusOf(projectID), "snapshot", "SELECT "+snapshotColumns+", manifest FROM snapshots WHERE project_id = ? AND id = ?",
		[]any{projectID, canonical(id)}, func(s *store.Snapshot) []any { return append(snapshotFields(s), &s.Manifest) })
	return s, notFound(err, "snapshot", id)
}

func snapshotFields(s *store.Snapshot) []any {
	return []any{&s.ProjectID, &s.ID, &s.Name, &s.Description, &s.RuleCount, &s.ContentHash, &s.CorpusVersion, timeColumn{&s.CreatedAt}, &s.CreatedBy}
}

// Snapshots implements store.ReleaseReader.
func (t releaseTable) Snapshots(ctx context.Context, projectID string, offset, limit int) ([]store.Snapshot, int, error) {
	return page(ctx, t.session, corpusOf(projectID), "snapshots", snapshotColumns, "FROM snapshots WHERE project_id = ?", "created_at DESC, id DESC",
		[]any{projectID}, window{offset, limit}, snapshotFields)
}

// Deployments implements store.ReleaseReader.
func (t releaseTable) Deployments(ctx context.Context, projectID, environment string) ([]store.Deployment, error) {
	where, args := equal("project_id = ?", []any{projectID}, "environment", environment)
	return many(ctx, t.session, corpusOf(projectID), "deployments",
		"SELECT "+deploymentColumns+" FROM deployments WHERE "+where+" ORDER BY environment, seq", args, deploymentFields)
}

const deploymentColumns = "project_id, environment, seq, action, snapshot_id, at, actor, reason, request_key, request"

func deploymentFields(d *store.Deployment) []any {
	return []any{&d.ProjectID, &d.Environment, &d.Seq, &d.Action, &d.SnapshotID, timeColumn{&d.At}, &d.By, &d.Reason, &d.Key, &d.Request}
}

// Named implements store.ReleaseReader.
func (t releaseTable) Named(ctx context.Context, projectID string, ids []string) (map[string]store.Snapshot, error) {
	in, list := t.d.in("id", ids)
	found, err := many(ctx, t.session, corpusOf(projectID), "names of snapshots", "SELECT "+snapshotColumns+" FROM snapshots WHERE project_id = ? AND "+in,
		[]any{projectID, list}, snapshotFields)
	out := make(map[string]store.Snapshot, len(found))
	for _, s := range found {
		out[s.ID] = s
	}
	return out, err
}

// Steps implements store.ReleaseReader.
func (t releaseTable) Steps(ctx context.Context, projectID, environment string, offset, limit int) ([]store.Deployment, int, error) {
	where, args := equal("project_id = ?", []any{projectID}, "environment", environment)
	return page(ctx, t.session, corpusOf(projectID), "deployments", deploymentColumns, "FROM deployments WHERE "+where, "at DESC, environment, seq DESC",
		args, window{offset, limit}, deploymentFields)
}

// DeploymentByKey implements store.ReleaseReader.
func (t releaseTable) DeploymentByKey(ctx context.Context, projectID, key string) (store.Deployment, error) {
	d, err := one(ctx, t.session, corpusOf(projectID), "deployment by key",
		"SELECT "+deploymentColumns+" FROM deployments WHERE project_id = ? AND request_key = ? AND request_key <> ''", []any{projectID, key}, deploymentFields)
	return d, notFound(err, "deployment", key)
}

// Gates implements store.ReleaseReader.
func (t releaseTable) Gates(ctx context.Context, projectID, environment string) ([]byte, error) {
	body, err := one(ctx, t.session, corpusOf(projectID), "gates", "SELECT body FROM release_gates WHERE project_id = ? AND environment = ?",
		[]any{projectID, environment}, bytesFields)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return body, err
}

// Gated implements store.ReleaseReader.
func (t releaseTable) Gated(ctx context.Context, projectID string) ([]store.GatedEnvironment, error) {
	query, args := inProject("SELECT project_id, environment, body FROM release_gates WHERE 1 = 1", nil, "project_id", projectID)
	return many(ctx, t.session, unlocked, "gates", query+" ORDER BY project_id, environment", args, func(g *store.GatedEnvironment) []any {
		return []any{&g.ProjectID, &g.Environment, &g.Gates}
	})
}

// Approvals implements store.ReleaseReader.
func (t releaseTable) Approvals(ctx context.Context, projectID, snapshotID string) ([]store.Approval, error) {
	return many(ctx, t.session, corpusOf(projectID), "approvals",
		"SELECT actor, at, note FROM snapshot_approvals WHERE project_id = ? AND snapshot_id = ? ORDER BY at, actor",
		[]any{projectID, snapshotID}, func(a *store.Approval) []any {
			a.ProjectID, a.SnapshotID = projectID, snapshotID
			return []any{&a.Actor, timeColumn{&a.At}, &a.Note}
		})
}

// AtVersions implements store.RuleReader.
func (t ruleTable) AtVersions(ctx context.Context, projectID string, refs []store.VersionRef) (map[string]rule.Rule, error) {
	found := make(map[string]rule.Rule, len(refs))
	err := t.lockedSnapshot(ctx, corpusOf(projectID), func(r *session) error {
		for part := range slices.Chunk(refs, pageSize) {
			if err := (ruleTable{r}).rulesAt(ctx, projectID, part, found); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// rulesAt finds versions: most are current, the others are past ones.
func (t ruleTable) rulesAt(ctx context.Context, projectID string, refs []store.VersionRef, found map[string]rule.Rule) error {
	wanted, ids := make(map[string]int, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		ids[i] = canonical(ref.RuleID)
		wanted[ids[i]] = ref.Version
	}
	in, list := t.d.in("id", ids)
	take := func(query string, args ...any) error {
		stored, err := many(ctx, t.session, unlocked, "rules of a snapshot", query, args, ruleFields)
		for _, r := range stored {
			if wanted[r.ID] == r.Version {
				found[r.ID] = r
				delete(wanted, r.ID)
			}
		}
		return err
	}
	if err := take("SELECT body FROM rules WHERE project_id = ? AND "+in, projectID, list); err != nil {
		return err
	}
	past := map[int][]string{} // few versions have all the rules
	for id, version := range wanted {
		past[version] = append(past[version], id)
	}
	for version, ids := range past {
		in, list := t.d.in("rule_id", ids)
		if err := take("SELECT body FROM rule_versions WHERE project_id = ? AND version = ? AND "+in, projectID, version, list); err != nil {
			return err
		}
	}
	return nil
}

// InsertSnapshot implements store.ReleaseTx.
func (t releaseTable) InsertSnapshot(ctx context.Context, s store.Snapshot) error {
	if _, err := projectTable(t).Get(ctx, s.ProjectID); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert snapshot",
		"INSERT INTO snapshots ("+snapshotColumns+", manifest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.Name, s.Description, s.RuleCount, s.ContentHash, s.CorpusVersion, micros(s.CreatedAt), s.CreatedBy, s.Manifest)
	t.changedInForce(s.ProjectID, store.SnapshotInForce, s.ID)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "there is a snapshot %q already", s.ID))
}

// AppendDeployment implements store.ReleaseTx.
func (t releaseTable) AppendDeployment(ctx context.Context, d store.Deployment) error {
	if err := t.lock(ctx, corpusOf(d.ProjectID)); err != nil {
		return err
	}
	err := t.exists(ctx, "snapshot", d.SnapshotID, "SELECT 1 FROM snapshots WHERE project_id = ? AND id = ?", d.ProjectID, d.SnapshotID)
	if err != nil {
		return err
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
		"INSERT INTO deployments ("+deploymentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		d.ProjectID, d.Environment, d.Seq, d.Action, d.SnapshotID, micros(d.At), d.By, d.Reason, d.Key, d.Request)
	t.changedInForce(d.ProjectID, store.DeploymentInForce, string(d.Environment)+"/"+strconv.Itoa(int(d.Seq)))
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "another deployment was made under the key %q", d.Key))
}

// PutGates implements store.ReleaseTx.
func (t releaseTable) PutGates(ctx context.Context, projectID, environment string, body []byte) error {
	if _, err := projectTable(t).Get(ctx, projectID); err != nil {
		return err
	}
	if err := t.beforeChange(ctx, projectID, store.GatesInForce, environment); err != nil {
		return err
	}
	_, err := t.exec(ctx, "put gates",
		"INSERT INTO release_gates (project_id, environment, body) VALUES (?, ?, ?) ON CONFLICT (project_id, environment) DO UPDATE SET body = excluded.body",
		projectID, environment, string(body))
	t.changedInForce(projectID, store.GatesInForce, environment)
	return err
}

// PutApproval implements store.ReleaseTx.
func (t releaseTable) PutApproval(ctx context.Context, a store.Approval) (store.Approval, bool, error) {
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
