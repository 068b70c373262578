package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"tenet/internal/store"
)

// Scores implements store.HealthReader.
func (t healthTable) Scores(ctx context.Context, projectID string, ruleIDs []string) ([]store.HealthScore, error) {
	where, args := "", []any{projectID}
	if ruleIDs != nil {
		named, ids := t.d.in("rule_id", ruleIDs)
		where, args = " AND "+named, append(args, ids)
	}
	return many(ctx, t.session, countsOf(projectID), "health scores",
		"SELECT rule_id, score, score_before, day FROM rule_health WHERE project_id = ?"+where+" ORDER BY rule_id",
		args, func(h *store.HealthScore) []any {
			h.ProjectID = projectID
			return []any{&h.RuleID, &h.Score, &h.Before, &h.Day}
		})
}

// Nouns of figure_changes.
const (
	scoreFigures = "scores"
	testFigures  = "tests"
)

// FigureChanges implements store.HealthReader.
func (t healthTable) FigureChanges(ctx context.Context, projectID string) (c store.FigureChanges, err error) {
	err = t.each(ctx, "changes of figures", "SELECT noun, n FROM figure_changes WHERE project_id = ?", []any{projectID}, func(rows *sql.Rows) error {
		var noun string
		var n int64
		err := rows.Scan(&noun, &n)
		switch noun {
		case scoreFigures:
			c.Scores = n
		case testFigures:
			c.Tests = n
		}
		return err
	})
	return c, err
}

// countChange counts a change of the figures of a project.
func (s *session) countChange(ctx context.Context, projectID, noun string) error {
	_, err := s.exec(ctx, "count change of figures", `INSERT INTO figure_changes (project_id, noun, n) VALUES (?, ?, 1)
		ON CONFLICT (project_id, noun) DO UPDATE SET n = figure_changes.n + 1`, projectID, noun)
	return err
}

// allScoresQuery reads a row for each score instead of one for each rule, which takes a third of the time.
const allScoresQuery = "SELECT score, string_agg(rule_id, ',') FROM rule_health WHERE project_id = ? GROUP BY score"

// AllScores implements store.HealthReader.
func (t healthTable) AllScores(ctx context.Context, projectID string) (map[string]int, error) {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
		return nil, err
	}
	type row struct {
		score int
		ids   string
	}
	var list []row
	rules := 0
	err := t.each(ctx, "all health scores", allScoresQuery, []any{projectID}, func(rows *sql.Rows) error {
		var r row
		err := rows.Scan(&r.score, &r.ids)
		list, rules = append(list, r), rules+strings.Count(r.ids, ",")+1
		return err
	})
	scores := make(map[string]int, rules)
	for _, r := range list {
		for id := range strings.SplitSeq(r.ids, ",") {
			scores[id] = r.score
		}
	}
	return scores, err
}

// History implements store.HealthReader.
func (t healthTable) History(ctx context.Context, projectID, ruleID string, limit int) ([]store.HealthDay, error) {
	return many(ctx, t.session, countsOf(projectID), "health history",
		"SELECT day, score FROM health_history WHERE project_id = ? AND rule_id = ? ORDER BY day DESC LIMIT ?",
		[]any{projectID, ruleID, max(limit, 0)}, func(h *store.HealthDay) []any { return []any{&h.Day, &h.Score} })
}

// Standings implements store.HealthReader.
func (t healthTable) Standings(ctx context.Context, projectID string) (map[string]store.RuleStanding, error) {
	list, err := many(ctx, t.session, countsOf(projectID), "standings",
		"SELECT rule_id, owner, standing, idle_since FROM rule_health WHERE project_id = ?", []any{projectID}, standingFields)
	found := make(map[string]store.RuleStanding, len(list))
	for i := range list {
		found[list[i].RuleID] = withoutEpoch(list[i])
	}
	return found, err
}

func standingFields(s *store.RuleStanding) []any {
	return []any{&s.RuleID, &s.Team, &s.Standing, timeColumn{&s.IdleSince}}
}

// withoutEpoch makes a stored 0 the zero time.
func withoutEpoch(s store.RuleStanding) store.RuleStanding {
	if micros(s.IdleSince) == 0 {
		s.IdleSince = time.Time{}
	}
	return s
}

// Measured implements store.HealthReader.
func (t healthTable) Measured(ctx context.Context, f store.MeasuredFilter) (list []store.MeasuredRule, total int, err error) {
	from, args := "FROM rule_health WHERE project_id = ?", []any{f.ProjectID}
	if f.Team != nil {
		from, args = from+" AND owner = ?", append(args, *f.Team)
	}
	if f.ScoreMin > 0 {
		from, args = from+" AND score >= ?", append(args, f.ScoreMin)
	}
	if f.ScoreMax < 100 {
		from, args = from+" AND score <= ?", append(args, f.ScoreMax)
	}
	order, compare := measuredByScore, compareScores
	if f.Idle {
		order, compare = measuredByIdle, compareIdle
	}
	err = t.lockedSnapshot(ctx, countsOf(f.ProjectID), func(s *session) error {
		t := healthTable{s}
		if !f.NoTotal {
			some, with := standingCondition(t.d, f.Standings)
			if err := t.row(ctx, "count measured rules", "SELECT COUNT(*) "+from+some, append(slices.Clone(args), with...), &total); err != nil {
				return err
			}
		}
		var err error
		switch len(f.Standings) {
		case 0:
			list, err = t.measured(ctx, from+notEnded, order, window{f.Offset, f.Limit}, args)
			return err
		case 1:
			list, err = t.measured(ctx, from+" AND standing = ?", order, window{f.Offset, f.Limit}, append(args, int64(f.Standings[0])))
			return err
		}
		for _, s := range f.Standings { // the index is in the right order for each of them only
			some, err := t.measured(ctx, from+" AND standing = ?", order, window{0, max(f.Offset, 0) + max(f.Limit, 0)}, append(slices.Clone(args), int64(s)))
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		slices.SortFunc(list, compare)
		list = list[min(max(f.Offset, 0), len(list)):]
		list = list[:min(max(f.Limit, 0), len(list))]
		return nil
	})
	for i := range list {
		list[i].RuleStanding = withoutEpoch(list[i].RuleStanding)
	}
	return list, total, err
}

// notEnded is the condition of rules that have not ended, as no range, which would take the index by standing.
const notEnded = " AND standing <> -1"

const (
	measuredColumns = "rule_id, owner, standing, idle_since, score"
	measuredByScore = "score, rule_id"
	measuredByIdle  = "idle_since, rule_id"
)

func measuredFields(m *store.MeasuredRule) []any {
	return append(standingFields(&m.RuleStanding), &m.Score)
}

func compareScores(a, b store.MeasuredRule) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.RuleID, b.RuleID))
}

func compareIdle(a, b store.MeasuredRule) int {
	return cmp.Or(a.IdleSince.Compare(b.IdleSince), cmp.Compare(a.RuleID, b.RuleID))
}

// standingCondition is the condition of standings, with its arguments; none are all rules that have not ended.
func standingCondition(d *dialect, standings []store.Standing) (string, []any) {
	if len(standings) == 0 {
		return notEnded, nil
	}
	numbers := make([]int64, len(standings))
	for i, s := range standings {
		numbers[i] = int64(s)
	}
	return " AND standing" + d.oneOfNumbers, []any{d.numbers(numbers)}
}

func measuredQuery(from, order string) string {
	return "SELECT " + measuredColumns + " " + from + " ORDER BY " + order + " LIMIT ? OFFSET ?"
}

// measured reads a page.
func (t healthTable) measured(ctx context.Context, from, order string, w window, args []any) ([]store.MeasuredRule, error) {
	return many(ctx, t.session, unlocked, "measured rules", measuredQuery(from, order), append(args, max(w.limit, 0), max(w.offset, 0)), measuredFields)
}

const summaryColumns = "team, measured_at, corpus_version, rules, in_force, asked, never_asked, dormant, score_sum, band0, band1, band2, band3, band4"

func summaryFields(h *store.HealthSummary) []any {
	return []any{
		&h.Team,
		timeColumn{&h.MeasuredAt},
		&h.CorpusVersion, &h.Rules, &h.InForce, &h.Asked, &h.NeverAsked, &h.Dormant, &h.ScoreSum,
		&h.Bands[0], &h.Bands[1], &h.Bands[2], &h.Bands[3], &h.Bands[4],
	}
}

// Summary implements store.HealthReader.
func (t healthTable) Summary(ctx context.Context, projectID string) (*store.HealthSummary, error) {
	h, err := one(ctx, t.session, countsOf(projectID), "health summary",
		"SELECT "+summaryColumns+" FROM health_summaries WHERE project_id = ? AND whole = 1", []any{projectID}, summaryFields)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &h, err
}

// TeamSummaries implements store.HealthReader.
func (t healthTable) TeamSummaries(ctx context.Context, projectID string, team *string, limit int) ([]store.HealthSummary, error) {
	where, args := "project_id = ? AND whole = 0", []any{projectID}
	if team != nil {
		where, args = where+" AND team = ?", append(args, *team)
	}
	return many(ctx, t.session, countsOf(projectID), "team summaries",
		"SELECT "+summaryColumns+" FROM health_summaries WHERE "+where+" ORDER BY rules DESC, team LIMIT ?", append(args, max(limit, 0)), summaryFields)
}

// PutStandings implements store.HealthTx.
func (t healthTable) PutStandings(ctx context.Context, projectID string, standings []store.RuleStanding) error {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
		return err
	}
	args := make([]any, 0, 7*len(standings))
	for i := range standings {
		s := &standings[i]
		since := int64(0)
		if !s.IdleSince.IsZero() {
			since = micros(s.IdleSince)
		}
		args = append(args, projectID, s.RuleID, s.Team, int64(s.Standing), since, 0, 0) // the row exists: its score and day stay
	}
	return t.execRows(ctx, "put standings", "INSERT INTO rule_health (project_id, rule_id, owner, standing, idle_since, score, day) VALUES ", 7,
		" ON CONFLICT (project_id, rule_id) DO UPDATE SET owner = excluded.owner, standing = excluded.standing, idle_since = excluded.idle_since", args)
}

// PutSummaries implements store.HealthTx.
func (t healthTable) PutSummaries(ctx context.Context, projectID string, whole store.HealthSummary, teams []store.HealthSummary) error {
	stored, err := t.Summary(ctx, projectID)
	if err != nil || stored != nil && stored.MeasuredAt.After(whole.MeasuredAt) {
		return err
	}
	if _, err := t.exec(ctx, "drop health summaries", "DELETE FROM health_summaries WHERE project_id = ?", projectID); err != nil {
		return err
	}
	args := make([]any, 0, 16*(1+len(teams)))
	add := func(isWhole int64, h *store.HealthSummary) {
		asked := int64(0)
		if h.Asked {
			asked = 1
		}
		args = append(args, projectID, isWhole, h.Team, micros(h.MeasuredAt), h.CorpusVersion, h.Rules, h.InForce, asked, h.NeverAsked, h.Dormant, h.ScoreSum)
		for _, n := range h.Bands {
			args = append(args, n)
		}
	}
	add(1, &whole)
	for i := range teams {
		add(0, &teams[i])
	}
	return t.execRows(ctx, "put health summaries", "INSERT INTO health_summaries (project_id, whole, "+summaryColumns+") VALUES ", 16, "", args)
}

// Put implements store.HealthTx.
func (t healthTable) Put(ctx context.Context, projectID string, day store.Day, scores []store.HealthScore) error {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
		return err
	}
	latest, days := make([]any, 0, 4*len(scores)), make([]any, 0, 4*len(scores))
	for _, s := range scores {
		latest = append(latest, projectID, s.RuleID, s.Score, int64(day))
		days = append(days, projectID, s.RuleID, int64(day), s.Score)
	}
	if err := t.countChange(ctx, projectID, scoreFigures); err != nil {
		return err
	}
	err := t.execRows(ctx, "put health", "INSERT INTO rule_health (project_id, rule_id, score, day) VALUES ", 4,
		` ON CONFLICT (project_id, rule_id) DO UPDATE SET
			score_before = CASE WHEN excluded.day > rule_health.day THEN rule_health.score ELSE rule_health.score_before END,
			score = excluded.score, day = excluded.day WHERE excluded.day >= rule_health.day`, latest)
	if err != nil {
		return err
	}
	return t.execRows(ctx, "put health history", "INSERT INTO health_history (project_id, rule_id, day, score) VALUES ", 4,
		" ON CONFLICT (project_id, rule_id, day) DO UPDATE SET score = excluded.score", days)
}
