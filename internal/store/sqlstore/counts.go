package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Mark implements store.CountReader.
func (t countTable) Mark(ctx context.Context, projectID string) (store.CountMark, error) {
	m, err := one(ctx, t.session, countsOf(projectID), "count mark", "SELECT seq, at, blind_until, filled, fill_until, fill_actors FROM count_marks WHERE project_id = ?",
		[]any{projectID}, func(m *store.CountMark) []any {
			return []any{&m.Seq, timeColumn{&m.At}, optionalTimeColumn{&m.BlindUntil}, &m.Filled, &m.FillUntil, &m.FillActors}
		})
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	return m, err
}

// Uncounted implements store.CountReader. It locks nothing: what is counted is decided when the mark moves.
func (t countTable) Uncounted(ctx context.Context) ([]store.Uncounted, error) {
	return many(ctx, t.session, unlocked, "uncounted", `SELECT h.project_id, h.seq - COALESCE(m.seq, 0) + COALESCE(m.fill_until - m.filled, 0) FROM audit_heads AS h
			LEFT JOIN count_marks AS m ON m.project_id = h.project_id WHERE h.seq > COALESCE(m.seq, 0) OR m.fill_until > m.filled ORDER BY h.project_id`,
		nil, func(u *store.Uncounted) []any { return []any{&u.ProjectID, &u.Entries} })
}

// Rules implements store.CountReader.
func (t countTable) Rules(ctx context.Context, f store.RuleCountFilter) ([]store.RuleCount, error) {
	where, args := days(f.ProjectID, f.From, f.Until)
	where, args = t.d.amongRules(where, args, f.RuleIDs)
	query := `SELECT rule_id, SUM(allowed), SUM(denied), SUM(unsure), SUM(by_check), SUM(by_model), SUM(by_cache), SUM(by_triage), SUM(by_approval), SUM(calls), SUM(call_ms), SUM(tokens)
			FROM rule_counts WHERE ` + where + " GROUP BY rule_id HAVING SUM(allowed + denied + unsure) >= ? ORDER BY rule_id"
	return many(ctx, t.session, countsOf(f.ProjectID), "rule counts", query, append(args, max(f.Min, 0)), func(c *store.RuleCount) []any {
		return []any{&c.RuleID, &c.Allowed, &c.Denied, &c.Unsure, &c.ByCheck, &c.ByModel, &c.ByCache, &c.ByTriage, &c.ByApproval, &c.Calls, &c.CallMS, &c.Tokens}
	})
}

// Days implements store.CountReader.
func (t countTable) Days(ctx context.Context, projectID string, from store.Day) ([]store.DayCount, error) {
	const query = `SELECT day, evaluations, allowed, denied, unsure, incidents, latency_ms, max_latency_ms, rules_allowed, rules_denied, rules_unsure,
			by_check, by_model, by_cache, by_triage, by_approval FROM day_counts WHERE project_id = ? AND day >= ? ORDER BY day`
	return many(ctx, t.session, countsOf(projectID), "day counts", query, []any{projectID, int64(from)}, func(c *store.DayCount) []any {
		r := &c.Rules
		return []any{
			&c.Day, &c.Evaluations, &c.Allowed, &c.Denied, &c.Unsure, &c.Incidents, &c.LatencyMS, &c.MaxLatencyMS,
			&r.Allowed, &r.Denied, &r.Unsure, &r.ByCheck, &r.ByModel, &r.ByCache, &r.ByTriage, &r.ByApproval,
		}
	})
}

// Models implements store.CountReader.
func (t countTable) Models(ctx context.Context, projectID string, from store.Day) ([]store.ModelCount, error) {
	const query = `SELECT model, SUM(calls), SUM(failed), SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens), SUM(duration_ms)
			FROM model_counts WHERE project_id = ? AND day >= ? GROUP BY model ORDER BY model`
	return many(ctx, t.session, countsOf(projectID), "model counts", query, []any{projectID, int64(from)}, func(c *store.ModelCount) []any {
		return []any{&c.Model, &c.Calls, &c.Failed, &c.InputTokens, &c.OutputTokens, &c.CachedTokens, &c.DurationMS}
	})
}

// ModelDays implements store.CountReader.
func (t countTable) ModelDays(ctx context.Context, projectID string, from store.Day) ([]store.ModelCount, error) {
	query := `SELECT day, model, SUM(calls), SUM(failed), SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens), SUM(duration_ms)
			FROM model_counts WHERE day >= ?`
	args, domain := []any{int64(from)}, unlocked
	if projectID != store.AllProjects {
		query, args, domain = query+" AND project_id = ?", append(args, projectID), countsOf(projectID)
	}
	return many(ctx, t.session, domain, "model counts", query+" GROUP BY day, model ORDER BY day, model", args, func(c *store.ModelCount) []any {
		return []any{&c.Day, &c.Model, &c.Calls, &c.Failed, &c.InputTokens, &c.OutputTokens, &c.CachedTokens, &c.DurationMS}
	})
}

// Reuse implements store.CountReader.
func (t countTable) Reuse(ctx context.Context, projectID string, from store.Day) (judged, reused int64, err error) {
	query := "SELECT COALESCE(SUM(by_model), 0), COALESCE(SUM(by_cache), 0) FROM day_counts WHERE day >= ?"
	args, domain := []any{int64(from)}, unlocked
	if projectID != store.AllProjects {
		query, args, domain = query+" AND project_id = ?", append(args, projectID), countsOf(projectID)
	}
	sums, err := one(ctx, t.session, domain, "reuse of verdicts", query, args, func(c *store.RuleCount) []any { return []any{&c.ByModel, &c.ByCache} })
	return sums.ByModel, sums.ByCache, err
}

// LastVerdicts implements store.CountReader.
func (t countTable) LastVerdicts(ctx context.Context, projectID string, ruleIDs []string) (map[string]time.Time, error) {
	where, args := t.d.amongRules("project_id = ?", []any{projectID}, ruleIDs)
	return byKey(ctx, t.session, countsOf(projectID), "rule activity", "SELECT rule_id, last_at FROM rule_activity WHERE "+where, args,
		func(id *string, at *time.Time) []any { return []any{id, timeColumn{at}} })
}

// Add implements store.CountTx. The mark moves first: it lets only one of those through who have counted the same.
func (t countTable) Add(ctx context.Context, c store.Counts) error {
	if err := t.lock(ctx, countsOf(c.ProjectID)); err != nil {
		return err
	}
	if c.From == 0 {
		_, err := t.exec(ctx, "first count mark", "INSERT INTO count_marks (project_id, seq, at) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", c.ProjectID)
		if err != nil {
			return err
		}
	}
	n, err := t.moveMark(ctx, &c)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "evaluations of project %q have been counted meanwhile; read the mark again", c.ProjectID)); err != nil {
		return err
	}
	if err := errors.Join(t.addGroups(ctx, &c), t.addParts(ctx, &c), t.addRepositories(ctx, &c), packTable(t).add(ctx, &c)); err != nil || c.Fill {
		return err
	}
	return errors.Join(t.addRules(ctx, &c), t.addDays(ctx, &c), t.addModels(ctx, &c))
}

func (t countTable) moveMark(ctx context.Context, c *store.Counts) (int64, error) {
	if c.Fill {
		return t.exec(ctx, "move filled mark", "UPDATE count_marks SET filled = ? WHERE project_id = ? AND filled = ?", c.Mark.Seq, c.ProjectID, c.From)
	}
	return t.exec(ctx, "move count mark", "UPDATE count_marks SET seq = ?, at = ?, blind_until = COALESCE(?, blind_until) WHERE project_id = ? AND seq = ?",
		c.Mark.Seq, micros(c.Mark.At), nullable(c.Mark.BlindUntil), c.ProjectID, c.From)
}

func (t countTable) addRules(ctx context.Context, c *store.Counts) error {
	counts, last := make([]any, 0, 14*len(c.Rules)), []any{}
	latest := map[string]time.Time{}
	for i := range c.Rules {
		r := &c.Rules[i]
		counts = append(counts, c.ProjectID, int64(r.Day), r.RuleID, r.Allowed, r.Denied, r.Unsure, r.ByCheck, r.ByModel, r.ByCache, r.ByTriage, r.ByApproval, r.Calls, r.CallMS, r.Tokens)
		if r.LastAt.After(latest[r.RuleID]) {
			latest[r.RuleID] = r.LastAt
		}
	}
	for i := range c.Rules {
		if at, ok := latest[c.Rules[i].RuleID]; ok {
			last = append(last, c.ProjectID, c.Rules[i].RuleID, micros(at))
			delete(latest, c.Rules[i].RuleID) // a statement cannot touch a row twice
		}
	}
	err := t.execRows(ctx, "add rule counts", `INSERT INTO rule_counts
			(project_id, day, rule_id, allowed, denied, unsure, by_check, by_model, by_cache, by_triage, by_approval, calls, call_ms, tokens) VALUES `, 14,
		` ON CONFLICT (project_id, day, rule_id) DO UPDATE SET allowed = rule_counts.allowed + excluded.allowed,
			denied = rule_counts.denied + excluded.denied, unsure = rule_counts.unsure + excluded.unsure,
			by_check = rule_counts.by_check + excluded.by_check, by_model = rule_counts.by_model + excluded.by_model,
			by_cache = rule_counts.by_cache + excluded.by_cache, by_triage = rule_counts.by_triage + excluded.by_triage,
			by_approval = rule_counts.by_approval + excluded.by_approval, calls = rule_counts.calls + excluded.calls,
			call_ms = rule_counts.call_ms + excluded.call_ms, tokens = rule_counts.tokens + excluded.tokens`, counts)
	if err != nil {
		return err
	}
	return t.execRows(ctx, "note rule activity", "INSERT INTO rule_activity (project_id, rule_id, last_at) VALUES ", 3,
		` ON CONFLICT (project_id, rule_id) DO UPDATE SET last_at =
			CASE WHEN excluded.last_at > rule_activity.last_at THEN excluded.last_at ELSE rule_activity.last_at END`, last)
}

func (t countTable) addDays(ctx context.Context, c *store.Counts) error {
	args := make([]any, 0, 17*len(c.Days))
	for i := range c.Days {
		d, r := &c.Days[i], &c.Days[i].Rules
		args = append(args, c.ProjectID, int64(d.Day), d.Evaluations, d.Allowed, d.Denied, d.Unsure, d.Incidents, d.LatencyMS, d.MaxLatencyMS,
			r.Allowed, r.Denied, r.Unsure, r.ByCheck, r.ByModel, r.ByCache, r.ByTriage, r.ByApproval)
	}
	return t.execRows(ctx, "add day counts", `INSERT INTO day_counts
			(project_id, day, evaluations, allowed, denied, unsure, incidents, latency_ms, max_latency_ms, rules_allowed, rules_denied, rules_unsure,
			by_check, by_model, by_cache, by_triage, by_approval) VALUES `, 17,
		` ON CONFLICT (project_id, day) DO UPDATE SET evaluations = day_counts.evaluations + excluded.evaluations,
			allowed = day_counts.allowed + excluded.allowed, denied = day_counts.denied + excluded.denied,
			unsure = day_counts.unsure + excluded.unsure, incidents = day_counts.incidents + excluded.incidents,
			latency_ms = day_counts.latency_ms + excluded.latency_ms, rules_allowed = day_counts.rules_allowed + excluded.rules_allowed,
			rules_denied = day_counts.rules_denied + excluded.rules_denied, rules_unsure = day_counts.rules_unsure + excluded.rules_unsure,
			by_check = day_counts.by_check + excluded.by_check, by_model = day_counts.by_model + excluded.by_model,
			by_cache = day_counts.by_cache + excluded.by_cache, by_triage = day_counts.by_triage + excluded.by_triage, by_approval = day_counts.by_approval + excluded.by_approval, max_latency_ms =
			CASE WHEN excluded.max_latency_ms > day_counts.max_latency_ms THEN excluded.max_latency_ms ELSE day_counts.max_latency_ms END`, args)
}

func (t countTable) addModels(ctx context.Context, c *store.Counts) error {
	args := make([]any, 0, 9*len(c.Models))
	for i := range c.Models {
		m := &c.Models[i]
		args = append(args, c.ProjectID, int64(m.Day), m.Model, m.Calls, m.Failed, m.InputTokens, m.OutputTokens, m.CachedTokens, m.DurationMS)
	}
	return t.execRows(ctx, "add model counts", `INSERT INTO model_counts
			(project_id, day, model, calls, failed, input_tokens, output_tokens, cached_tokens, duration_ms) VALUES `, 9,
		` ON CONFLICT (project_id, day, model) DO UPDATE SET calls = model_counts.calls + excluded.calls,
			failed = model_counts.failed + excluded.failed, input_tokens = model_counts.input_tokens + excluded.input_tokens,
			output_tokens = model_counts.output_tokens + excluded.output_tokens,
			cached_tokens = model_counts.cached_tokens + excluded.cached_tokens, duration_ms = model_counts.duration_ms + excluded.duration_ms`, args)
}

// DeleteOld implements store.CountTx.
func (t countTable) DeleteOld(ctx context.Context, projectID string, before store.Day, limit int) (int, error) {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
		return 0, err
	}
	// Packed counts repeat others, and are not counted among the dropped rows.
	if _, err := t.exec(ctx, "drop packed counts", "DELETE FROM packed_counts WHERE project_id = ? AND kind IN ('denied', 'called', 'node') AND day < ?",
		projectID, int64(before)); err != nil {
		return 0, err
	}
	total := 0
	for _, d := range []struct{ table, key, more string }{
		{"rule_counts", "day, rule_id", ""},
		{"day_counts", "day", ""},
		{"model_counts", "day, model", ""},
		{"group_counts", "dimension, day, name", ""},
		{"part_counts", "dimension, day, name, part", ""},
		{"health_history", "rule_id, day", ` AND EXISTS (SELECT 1 FROM health_history AS later WHERE later.project_id = health_history.project_id
				AND later.rule_id = health_history.rule_id AND later.day > health_history.day AND later.day <= ?)`},
	} {
		args := []any{projectID, projectID, int64(before)}
		if d.more != "" {
			args = append(args, int64(before))
		}
		n, err := t.exec(ctx, "drop counts", "DELETE FROM "+d.table+" WHERE project_id = ? AND ("+d.key+") IN (SELECT "+d.key+" FROM "+d.table+
			" WHERE project_id = ? AND day < ?"+d.more+t.d.limit+")", append(args, max(limit-total, 0))...)
		if err != nil {
			return total, err
		}
		total += int(n)
	}
	n, err := t.exec(ctx, "drop repositories", `DELETE FROM repository_counts WHERE project_id = ? AND repository IN
			(SELECT repository FROM repository_counts WHERE project_id = ? AND last_at < ? LIMIT ?)`,
		projectID, projectID, micros(before.Time()), max(limit-total, 0))
	return total + int(n), err
}
