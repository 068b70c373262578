package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// The subject of an alert is its rule or, if that is null, its edge.
const alertColumns = "project_id, id, type, status, COALESCE(rule_id, ''), CASE WHEN rule_id IS NULL THEN subject ELSE '' END, message, metadata, acted, created_at, acknowledged_at, acknowledged_by, " +
	"resolved_at, resolved_by, resolution_note"

func alertFields(a *rule.Alert) []any {
	return []any{
		&a.ProjectID, &a.ID, &a.Type, &a.Status, &a.RuleID, &a.Edge, &a.Message,
		jsonColumn{&a.Metadata},
		jsonColumn{&a.Acted},
		timeColumn{&a.CreatedAt},
		optionalTimeColumn{&a.AcknowledgedAt},
		&a.AcknowledgedBy,
		optionalTimeColumn{&a.ResolvedAt},
		&a.ResolvedBy, &a.ResolutionNote,
	}
}

// Get implements store.AlertReader.
func (t alertTable) Get(ctx context.Context, projectID, id string) (rule.Alert, error) {
	a, err := one(ctx, t.session, alertsOf(projectID), "alert", "SELECT "+alertColumns+" FROM alerts WHERE project_id = ? AND id = ?", []any{projectID, id}, alertFields)
	return a, notFound(err, "alert", id)
}

// Find implements store.AlertReader.
func (t alertTable) Find(ctx context.Context, f store.AlertFilter) ([]rule.Alert, int, error) {
	from, args := equal("FROM alerts WHERE project_id = ?", []any{f.ProjectID}, "status", string(f.Status), "type", string(f.Type), "rule_id", f.RuleID, "subject", f.Edge)
	if f.Edge != "" {
		from += " AND rule_id IS NULL"
	}
	for _, c := range []struct{ kind, name string }{{actedAgent, f.Agent}, {actedPerson, f.Person}, {actedSession, f.Session}} {
		if name := rule.FoldName(c.name); name != "" {
			from += " AND id IN (SELECT alert_id FROM alert_names WHERE project_id = ? AND kind = ? AND name = ?)"
			args = append(args, f.ProjectID, c.kind, name)
		}
	}
	return page(ctx, t.session, alertsOf(f.ProjectID), "alerts", alertColumns, from, "created_at DESC, id DESC", args, window{f.Offset, f.Limit}, alertFields)
}

// Count implements store.AlertReader.
func (t alertTable) Count(ctx context.Context, projectID string) ([]store.AlertCount, error) {
	domain, where, args := alertsOf(projectID), " WHERE project_id = ?", []any{projectID}
	if projectID == store.AllProjects {
		domain, where, args = unlocked, "", nil
	}
	return many(ctx, t.session, domain, "count alerts", "SELECT status, type, COUNT(*) FROM alerts"+where+" GROUP BY status, type ORDER BY status, type",
		args, func(c *store.AlertCount) []any { return []any{&c.Status, &c.Type, &c.Count} })
}

// ListOpen implements store.AlertReader.
func (t alertTable) ListOpen(ctx context.Context, projectID string, kind rule.AlertType, ruleIDs []string) ([]rule.Alert, error) {
	where, args := t.d.amongRules("project_id = ? AND type = ? AND status <> 'resolved'", []any{projectID, string(kind)}, ruleIDs)
	return many(ctx, t.session, alertsOf(projectID), "alerts", "SELECT "+alertColumns+" FROM alerts WHERE "+where+" ORDER BY subject", args, alertFields)
}

// ResolvedRules implements store.AlertReader.
func (t alertTable) ResolvedRules(ctx context.Context, projectID string, kind rule.AlertType, since time.Time, but string) ([]string, error) {
	return many(ctx, t.session, alertsOf(projectID), "resolved alerts", `SELECT DISTINCT rule_id FROM alerts WHERE project_id = ? AND type = ? AND rule_id IS NOT NULL
			AND status = 'resolved' AND resolved_at >= ? AND resolved_by <> ? ORDER BY rule_id`,
		[]any{projectID, string(kind), micros(since), but}, textFields)
}

// Insert implements store.AlertTx.
func (t alertTable) Insert(ctx context.Context, a rule.Alert) (bool, error) {
	if err := t.lock(ctx, alertsOf(a.ProjectID)); err != nil {
		return false, err
	}
	metadata, err := json.Marshal(a.Metadata)
	if err != nil {
		return false, fmt.Errorf("sqlstore: metadata of alert %s: %w", a.ID, err)
	}
	acted, err := json.Marshal(a.Acted[:min(len(a.Acted), rule.MaxActed)])
	if err != nil {
		return false, fmt.Errorf("sqlstore: who acted of alert %s: %w", a.ID, err)
	}
	subject, ruleID := a.RuleID, any(a.RuleID)
	if a.RuleID == "" {
		subject, ruleID = a.Edge, nil
	}
	if subject == "" {
		return false, rule.Errorf(rule.CodeInvalid, "an alert concerns a rule or an edge")
	}
	n, err := t.exec(ctx, "insert alert", "INSERT INTO alerts (project_id, id, type, status, rule_id, subject, message, metadata, acted, created_at, acknowledged_at, acknowledged_by, "+
		"resolved_at, resolved_by, resolution_note) VALUES "+marks(1, 15)+
		" ON CONFLICT (project_id, type, subject) WHERE status <> 'resolved' DO NOTHING",
		a.ProjectID, a.ID, string(a.Type), string(a.Status), ruleID, subject, a.Message, string(metadata), string(acted), micros(a.CreatedAt),
		nullable(a.AcknowledgedAt), a.AcknowledgedBy, nullable(a.ResolvedAt), a.ResolvedBy, a.ResolutionNote)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.addNames(ctx, &a)
}

// Kinds of the names by which alerts are found.
const (
	actedAgent   = "agent"
	actedPerson  = "person"
	actedSession = "session"
)

// addNames stores the names of those who acted, so that an alert is found by them.
func (t alertTable) addNames(ctx context.Context, a *rule.Alert) error {
	type key struct{ kind, name string }
	seen := map[key]bool{}
	var rows []any
	add := func(kind string, names ...string) {
		for _, name := range names {
			k := key{kind, rule.FoldName(name)}
			if k.name != "" && !seen[k] {
				seen[k] = true
				rows = append(rows, a.ProjectID, kind, k.name, a.ID)
			}
		}
	}
	for i := range a.Acted[:min(len(a.Acted), rule.MaxActed)] {
		who := &a.Acted[i]
		add(actedAgent, who.Agents()...)
		add(actedPerson, who.People()...)
		add(actedSession, who.Session)
	}
	return t.execRows(ctx, "names of an alert", "INSERT INTO alert_names (project_id, kind, name, alert_id) VALUES ", 4, "", rows)
}

// Update implements store.AlertTx.
func (t alertTable) Update(ctx context.Context, a rule.Alert) error {
	n, err := t.lockedExec(ctx, alertsOf(a.ProjectID), "update alert", `UPDATE alerts SET status = ?, acknowledged_at = ?, acknowledged_by = ?, resolved_at = ?,
			resolved_by = ?, resolution_note = ? WHERE project_id = ? AND id = ?`,
		string(a.Status), nullable(a.AcknowledgedAt), a.AcknowledgedBy, nullable(a.ResolvedAt), a.ResolvedBy, a.ResolutionNote, a.ProjectID, a.ID)
	return unlessNone(n, err, rule.NotFound("alert", a.ID))
}
