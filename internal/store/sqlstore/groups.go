package sqlstore

import (
	"context"
	"strings"

	"tenet/internal/store"
)

// days is the condition that a count is of a project and of days from <= day < until; an until of 0 is no bound.
func days(projectID string, from, until store.Day) (where string, args []any) {
	where, args = "project_id = ? AND day >= ?", []any{projectID, int64(from)}
	if until != 0 {
		where, args = where+" AND day < ?", append(args, int64(until))
	}
	return where, args
}

// dimension adds to a condition those of a dimension and, if it is not nil, of a name.
func dimension(where string, args []any, d store.Dimension, name *string) (string, []any) {
	where, args = where+" AND dimension = ?", append(args, string(d))
	if name != nil {
		where, args = where+" AND name = ?", append(args, *name)
	}
	return where, args
}

// first ends a query after so many rows; 0 is no bound.
func first(query string, args []any, limit int) (string, []any) {
	if limit <= 0 {
		return query, args
	}
	return query + " LIMIT ?", append(args, limit)
}

// Top implements store.CountReader. Both orders have an index of the few rows that they sum up.
func (t countTable) Top(ctx context.Context, f store.TopFilter) ([]store.RuleCount, error) {
	where, args := days(f.ProjectID, f.From, f.Until)
	sums, higher := "SUM(denied), 0, 0, 0", "SUM(denied)"
	where += " AND denied > 0"
	if f.Called {
		where = strings.TrimSuffix(where, " AND denied > 0") + " AND calls > 0"
		sums, higher = "0, SUM(calls), SUM(call_ms), SUM(tokens)", "SUM(call_ms) * 1.0 / SUM(calls)"
	}
	if f.Team != nil {
		where += " AND EXISTS (SELECT 1 FROM rule_health AS h WHERE h.project_id = rule_counts.project_id AND h.rule_id = rule_counts.rule_id AND h.owner = ?)"
		args = append(args, *f.Team)
	}
	query := "SELECT rule_id, " + sums + " FROM rule_counts WHERE " + where + " GROUP BY rule_id ORDER BY " + higher + " DESC, rule_id LIMIT ?"
	return many(ctx, t.session, countsOf(f.ProjectID), "top rules", query, append(args, max(f.Limit, 0)), func(c *store.RuleCount) []any {
		return []any{&c.RuleID, &c.Denied, &c.Calls, &c.CallMS, &c.Tokens}
	})
}

// Groups implements store.CountReader.
func (t countTable) Groups(ctx context.Context, f store.GroupFilter) ([]store.GroupCount, error) {
	where, args := days(f.ProjectID, f.From, f.Until)
	where, args = dimension(where, args, f.Dimension, f.Name)
	const sums = "SUM(allowed), SUM(denied), SUM(unsure) FROM group_counts WHERE "
	if f.Daily {
		return many(ctx, t.session, countsOf(f.ProjectID), "group counts", "SELECT day, "+sums+where+" GROUP BY day ORDER BY day", args, func(c *store.GroupCount) []any {
			c.Dimension = f.Dimension
			return []any{&c.Day, &c.Allowed, &c.Denied, &c.Unsure}
		})
	}
	query, args := first("SELECT name, "+sums+where+" GROUP BY name ORDER BY SUM(allowed + denied + unsure) DESC, name", args, f.Limit)
	return many(ctx, t.session, countsOf(f.ProjectID), "group counts", query, args, func(c *store.GroupCount) []any {
		c.Dimension = f.Dimension
		return []any{&c.Name, &c.Allowed, &c.Denied, &c.Unsure}
	})
}

// Parts implements store.CountReader.
func (t countTable) Parts(ctx context.Context, f store.PartFilter) ([]store.PartCount, error) {
	where, args := days(f.ProjectID, f.From, f.Until)
	where, args = dimension(where, args, f.Dimension, f.Name)
	query, args := first("SELECT name, part, SUM(n) FROM part_counts WHERE "+where+" GROUP BY name, part ORDER BY SUM(n) DESC, name, part", args, f.Limit)
	return many(ctx, t.session, countsOf(f.ProjectID), "part counts", query, args, func(c *store.PartCount) []any {
		c.Dimension = f.Dimension
		return []any{&c.Name, &c.Part, &c.Count}
	})
}

var repositoryOrders = map[store.RepositoryOrder]string{
	store.RepositoriesByTime: "last_at DESC, repository", store.RepositoriesByAge: "last_at, repository",
	store.RepositoriesByDenied: "denied DESC, repository", store.RepositoriesByName: "repository",
}

// likeEscape takes their meaning from the characters that LIKE knows.
var likeEscape = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// Repositories implements store.CountReader.
func (t countTable) Repositories(ctx context.Context, f store.RepositoryFilter) ([]store.RepositoryCount, int, error) {
	from, args := "FROM repository_counts WHERE project_id = ?", []any{f.ProjectID}
	if f.Words != "" {
		from, args = from+` AND LOWER(repository) LIKE ? ESCAPE '\'`, append(args, "%"+likeEscape.Replace(strings.ToLower(f.Words))+"%")
	}
	if f.NodeID != nil {
		from, args = from+" AND node_id = ?", append(args, *f.NodeID)
	}
	if f.Before != nil {
		from, args = from+" AND last_at < ?", append(args, micros(*f.Before))
	}
	order, ok := repositoryOrders[f.Order]
	if !ok {
		order = repositoryOrders[store.RepositoriesByTime]
	}
	return page(ctx, t.session, countsOf(f.ProjectID), "repositories",
		"repository, allowed, denied, unsure, first_at, last_at, last_id, last_verdict, node_id", from, order, args, window{f.Offset, f.Limit},
		func(r *store.RepositoryCount) []any {
			return []any{&r.Repository, &r.Allowed, &r.Denied, &r.Unsure, timeColumn{&r.FirstAt}, timeColumn{&r.LastAt}, &r.LastID, &r.LastVerdict, &r.NodeID}
		})
}

func (t countTable) addGroups(ctx context.Context, c *store.Counts) error {
	args := make([]any, 0, 7*len(c.Groups))
	for i := range c.Groups {
		g := &c.Groups[i]
		args = append(args, c.ProjectID, string(g.Dimension), int64(g.Day), g.Name, g.Allowed, g.Denied, g.Unsure)
	}
	return t.execRows(ctx, "add group counts", "INSERT INTO group_counts (project_id, dimension, day, name, allowed, denied, unsure) VALUES ", 7,
		` ON CONFLICT (project_id, dimension, day, name) DO UPDATE SET allowed = group_counts.allowed + excluded.allowed,
			denied = group_counts.denied + excluded.denied, unsure = group_counts.unsure + excluded.unsure`, args)
}

func (t countTable) addParts(ctx context.Context, c *store.Counts) error {
	args := make([]any, 0, 6*len(c.Parts))
	for i := range c.Parts {
		p := &c.Parts[i]
		args = append(args, c.ProjectID, string(p.Dimension), int64(p.Day), p.Name, p.Part, p.Count)
	}
	return t.execRows(ctx, "add part counts", "INSERT INTO part_counts (project_id, dimension, day, name, part, n) VALUES ", 6,
		" ON CONFLICT (project_id, dimension, day, name, part) DO UPDATE SET n = part_counts.n + excluded.n", args)
}

// addRepositories keeps what is known of the latest evaluation, in whichever order they are counted.
func (t countTable) addRepositories(ctx context.Context, c *store.Counts) error {
	args := make([]any, 0, 10*len(c.Repositories))
	for i := range c.Repositories {
		r := &c.Repositories[i]
		args = append(args, c.ProjectID, r.Repository, r.Allowed, r.Denied, r.Unsure, micros(r.FirstAt), micros(r.LastAt), r.LastID, r.LastVerdict, r.NodeID)
	}
	latest := func(column string) string {
		return column + " = CASE WHEN excluded.last_at >= repository_counts.last_at THEN excluded." + column + " ELSE repository_counts." + column + " END"
	}
	return t.execRows(ctx, "add repositories", `INSERT INTO repository_counts
			(project_id, repository, allowed, denied, unsure, first_at, last_at, last_id, last_verdict, node_id) VALUES `, 10,
		` ON CONFLICT (project_id, repository) DO UPDATE SET allowed = repository_counts.allowed + excluded.allowed,
			denied = repository_counts.denied + excluded.denied, unsure = repository_counts.unsure + excluded.unsure, first_at =
			CASE WHEN excluded.first_at < repository_counts.first_at THEN excluded.first_at ELSE repository_counts.first_at END, `+
			strings.Join([]string{latest("last_id"), latest("last_verdict"), latest("node_id"), latest("last_at")}, ", "), args)
}
