package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const agentColumns = "project_id, agent, person, actor, session, verified, first_seen, last_seen, evaluations, denied"

// flagColumn reads a number as a truth.
type flagColumn struct{ v *bool }

// Scan implements sql.Scanner.
func (c flagColumn) Scan(value any) error {
	n, _ := value.(int64)
	*c.v = n != 0
	return nil
}

func agentFields(a *store.SeenAgent) []any {
	return []any{
		&a.ProjectID, &a.Agent, &a.Person, &a.Actor, &a.Session, flagColumn{&a.Verified}, timeColumn{&a.FirstSeen}, timeColumn{&a.LastSeen}, &a.Evaluations, &a.Denied,
	}
}

const suspensionColumns = "project_id, id, agent, person, reason, suspended_at, suspended_by, lifted_at, lifted_by, lift_reason"

func suspensionFields(s *rule.Suspension) []any {
	return []any{
		&s.ProjectID, &s.ID, &s.Agent, &s.Person, &s.Reason, timeColumn{&s.SuspendedAt}, &s.SuspendedBy, optionalTimeColumn{&s.LiftedAt}, &s.LiftedBy, &s.LiftReason,
	}
}

// Find implements store.AgentReader.
func (t agentTable) Find(ctx context.Context, f store.AgentFilter) ([]store.SeenAgent, int, error) {
	from, args := "FROM agents WHERE project_id = ?", []any{f.ProjectID}
	if f.Words != "" {
		pattern := "%" + likeEscape.Replace(rule.FoldName(f.Words)) + "%"
		from += ` AND (LOWER(agent) LIKE ? ESCAPE '\' OR LOWER(person) LIKE ? ESCAPE '\')`
		args = append(args, pattern, pattern)
	}
	return page(ctx, t.session, unlocked, "agents", agentColumns, from, "last_seen DESC, agent, person", args, window{f.Offset, f.Limit}, agentFields)
}

// See implements store.AgentTx. The order keeps two servers from waiting for each other.
func (t agentTable) See(ctx context.Context, list []store.SeenAgent) error {
	list = slices.SortedFunc(slices.Values(list), func(a, b store.SeenAgent) int {
		return cmp.Or(cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Person, b.Person))
	})
	for i := range list {
		a := &list[i]
		verified := 0
		if a.Verified {
			verified = 1
		}
		_, err := t.exec(ctx, "see agent", "INSERT INTO agents ("+agentColumns+") VALUES "+marks(1, 10)+" ON CONFLICT (project_id, agent, person) DO UPDATE SET "+
			"actor = CASE WHEN excluded.last_seen >= agents.last_seen THEN excluded.actor ELSE agents.actor END, "+
			"session = CASE WHEN excluded.last_seen >= agents.last_seen THEN excluded.session ELSE agents.session END, "+
			"verified = CASE WHEN agents.verified = 1 THEN 1 ELSE excluded.verified END, "+
			"first_seen = CASE WHEN excluded.first_seen < agents.first_seen THEN excluded.first_seen ELSE agents.first_seen END, "+
			"last_seen = CASE WHEN excluded.last_seen > agents.last_seen THEN excluded.last_seen ELSE agents.last_seen END, "+
			"evaluations = agents.evaluations + excluded.evaluations, denied = agents.denied + excluded.denied",
			a.ProjectID, a.Agent, a.Person, a.Actor, a.Session, verified, micros(a.FirstSeen), micros(a.LastSeen), a.Evaluations, a.Denied)
		if err != nil {
			return err
		}
		if i+1 < len(list) && list[i+1].ProjectID == a.ProjectID {
			continue
		}
		_, err = t.exec(ctx, "drop agents", "DELETE FROM agents WHERE project_id = ? AND last_seen < "+
			"(SELECT last_seen FROM agents WHERE project_id = ? ORDER BY last_seen DESC LIMIT 1 OFFSET ?)", a.ProjectID, a.ProjectID, store.MaxAgents-1)
		if err != nil {
			return err
		}
	}
	return nil
}

// Suspended implements store.AgentReader.
func (t agentTable) Suspended(ctx context.Context) ([]rule.Suspension, error) {
	return many(ctx, t.session, keyDomain, "suspensions", "SELECT "+suspensionColumns+" FROM suspensions WHERE lifted_at IS NULL ORDER BY suspended_at DESC, id DESC",
		nil, suspensionFields)
}

// Suspensions implements store.AgentReader.
func (t agentTable) Suspensions(ctx context.Context, f store.SuspensionFilter) ([]rule.Suspension, int, error) {
	from, args := "FROM suspensions WHERE project_id IN (?, ?)", []any{f.ProjectID, store.AllProjects}
	if f.InForce {
		from += " AND lifted_at IS NULL"
	}
	return page(ctx, t.session, keyDomain, "suspensions", suspensionColumns, from, "suspended_at DESC, id DESC", args, window{f.Offset, f.Limit}, suspensionFields)
}

// Suspend implements store.AgentTx.
func (t agentTable) Suspend(ctx context.Context, s rule.Suspension) error {
	n, err := t.lockedExec(ctx, keyDomain, "insert suspension", "INSERT INTO suspensions ("+suspensionColumns+", agent_key, person_key) VALUES "+marks(1, 12)+
		" ON CONFLICT DO NOTHING",
		s.ProjectID, s.ID, s.Agent, s.Person, s.Reason, micros(s.SuspendedAt), s.SuspendedBy, nullable(s.LiftedAt), s.LiftedBy, s.LiftReason,
		rule.FoldName(s.Agent), rule.FoldName(s.Person))
	t.changedInForce(s.ProjectID, store.SuspensionInForce, s.ID)
	return unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the agent %s is suspended already", s.Agent))
}

// Lift implements store.AgentTx.
func (t agentTable) Lift(ctx context.Context, projectID, id string, at time.Time, by, reason string) (rule.Suspension, error) {
	if err := t.lock(ctx, keyDomain); err != nil {
		return rule.Suspension{}, err
	}
	if err := t.beforeChange(ctx, projectID, store.SuspensionInForce, id); err != nil {
		return rule.Suspension{}, err
	}
	s, err := one(ctx, t.session, keyDomain, "suspension", "SELECT "+suspensionColumns+" FROM suspensions WHERE project_id = ? AND id = ?", []any{projectID, id}, suspensionFields)
	if err != nil {
		return s, notFound(err, "suspension", id)
	}
	if s.LiftedAt != nil {
		return s, rule.Errorf(rule.CodeConflict, "the suspension was lifted already, by %s", s.LiftedBy)
	}
	s.LiftedAt, s.LiftedBy, s.LiftReason = &at, by, reason
	t.changedInForce(projectID, store.SuspensionInForce, id)
	_, err = t.exec(ctx, "lift suspension", "UPDATE suspensions SET lifted_at = ?, lifted_by = ?, lift_reason = ? WHERE project_id = ? AND id = ?",
		micros(at), by, reason, projectID, id)
	return s, err
}
