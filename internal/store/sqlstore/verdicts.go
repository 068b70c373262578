package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// List implements store.VerdictReader.
func (t verdictTable) List(ctx context.Context, projectID string, units []string) ([]store.Verdict, error) {
	condition, arg := t.d.in("unit", units)
	return many(ctx, t.session, unlocked, "verdicts", "SELECT unit, rule, entry, created_at FROM verdicts WHERE project_id = ? AND "+condition,
		[]any{projectID, arg}, func(v *store.Verdict) []any {
			v.ProjectID = projectID
			return []any{&v.Unit, &v.Rule, &v.Entry, timeColumn{&v.CreatedAt}}
		})
}

// Epoch implements store.VerdictReader.
func (t verdictTable) Epoch(ctx context.Context, projectID string) (int64, error) {
	return t.epoch(ctx, projectID, unlocked)
}

func (t verdictTable) epoch(ctx context.Context, projectID string, d lockDomain) (int64, error) {
	list, err := many(ctx, t.session, d, "verdict epochs", "SELECT epoch FROM verdict_epochs WHERE project_id = ?", []any{projectID}, func(n *int64) []any { return []any{n} })
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0], nil
}

// Stats implements store.VerdictReader.
func (t verdictTable) Stats(ctx context.Context, projectID string) (wire.VerdictStats, error) {
	return one(ctx, t.session, unlocked, "verdict stats",
		"SELECT COUNT(*), COALESCE(CAST(SUM(size) AS BIGINT), 0), MIN(created_at), MAX(created_at) FROM verdicts WHERE project_id = ?",
		[]any{projectID}, func(s *wire.VerdictStats) []any {
			return []any{&s.Count, &s.Bytes, optionalTimeColumn{&s.Oldest}, optionalTimeColumn{&s.Newest}}
		})
}

// Put implements store.VerdictTx. Nodes put the same verdicts at the same time: all insert in the same order, so
// that they do not deadlock.
func (t verdictTable) Put(ctx context.Context, list []store.Verdict) ([]store.Verdict, error) {
	if len(list) == 0 {
		return nil, nil
	}
	now, err := t.epoch(ctx, list[0].ProjectID, verdictsOf(list[0].ProjectID))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v store.Verdict) bool { return v.Epoch != now })
	if len(list) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b store.Verdict) int {
		return cmp.Or(cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Rule, b.Rule))
	})
	list = slices.CompactFunc(list, func(a, b store.Verdict) bool {
		return a.ProjectID == b.ProjectID && a.Unit == b.Unit && a.Rule == b.Rule
	})
	args := make([]any, 0, 6*len(list))
	for _, v := range list {
		args = append(args, v.ProjectID, v.Unit, v.Rule, v.Entry, len(v.Entry), micros(v.CreatedAt))
	}
	inserted, err := t.countRows(ctx, "put verdicts", "INSERT INTO verdicts (project_id, unit, rule, entry, size, created_at) VALUES ", 6,
		" ON CONFLICT DO NOTHING", args)
	if err != nil {
		return nil, err
	}
	if inserted == int64(len(list)) {
		return nil, nil
	}
	return t.differing(ctx, list)
}

// differing returns the stored verdicts that differ from those in list.
func (t verdictTable) differing(ctx context.Context, list []store.Verdict) ([]store.Verdict, error) {
	wanted := make(map[[2]string]string, len(list))
	units := make([]string, len(list))
	for i, v := range list {
		wanted[[2]string{v.Unit, v.Rule}] = v.Entry
		units[i] = v.Unit
	}
	stored, err := t.List(ctx, list[0].ProjectID, slices.Compact(units))
	return slices.DeleteFunc(stored, func(v store.Verdict) bool {
		entry, ok := wanted[[2]string{v.Unit, v.Rule}]
		return !ok || entry == v.Entry
	}), err
}

// Prune implements store.VerdictTx.
func (t verdictTable) Prune(ctx context.Context, projectID string, p store.Prune) (int64, error) {
	if p.Requested() {
		if err := t.lock(ctx, verdictsOf(projectID)); err != nil {
			return 0, err
		}
		if _, err := t.exec(ctx, "begin an epoch of verdicts",
			"INSERT INTO verdict_epochs (project_id, epoch) VALUES (?, 1) ON CONFLICT (project_id) DO UPDATE SET epoch = verdict_epochs.epoch + 1", projectID); err != nil {
			return 0, err
		}
	}
	if p.All {
		return t.exec(ctx, "prune verdicts", "DELETE FROM verdicts WHERE project_id = ?", projectID)
	}
	deleted := int64(0)
	if !p.Before.IsZero() {
		n, err := t.exec(ctx, "prune verdicts", "DELETE FROM verdicts WHERE project_id = ? AND created_at < ?", projectID, micros(p.Before))
		if err != nil {
			return 0, err
		}
		deleted = n
	}
	if len(p.Units) > 0 && len(p.Rules) > 0 {
		units, unitArg := t.d.in("unit", p.Units)
		rules, ruleArg := t.d.in("rule", p.Rules)
		n, err := t.exec(ctx, "prune verdicts", "DELETE FROM verdicts WHERE project_id = ? AND "+units+" AND "+rules, projectID, unitArg, ruleArg)
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	if p.MaxBytes <= 0 {
		return deleted, nil
	}
	n, err := t.exec(ctx, "prune verdicts", `DELETE FROM verdicts WHERE project_id = ? AND created_at <= (
			SELECT MAX(created_at) FROM (
				SELECT created_at, SUM(size) OVER (ORDER BY created_at DESC, unit, rule) AS total FROM verdicts WHERE project_id = ?
			) AS newest_first WHERE total > ?)`, projectID, projectID, p.MaxBytes)
	return deleted + n, err
}
