package sqlstore

import (
	"cmp"
	"context"
	"slices"
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

// grouped is the condition of the counts of a dimension and, if it is not nil, of a name, with days as in [days].
func grouped(projectID string, from, until store.Day, d store.Dimension, name *string) (where string, args []any) {
	where, args = days(projectID, from, until)
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

// Top implements store.CountReader.
func (t countTable) Top(ctx context.Context, f store.TopFilter) ([]store.RuleCount, error) {
	kind, value := packedDenied, func(sum *[3]int64) float64 { return float64(sum[0]) }
	if f.Called {
		kind, value = packedCalled, func(sum *[3]int64) float64 {
			if sum[0] == 0 {
				return 0
			}
			return 1 + float64(sum[1])/float64(sum[0]) // above zero even if all calls took no time
		}
	}
	packs := packTable(t)
	sums, err := packs.sums(ctx, f.ProjectID, kind, f.From, f.Until)
	if err != nil {
		return nil, err
	}
	var list []place
	if n := max(f.Limit, 0); f.Team == nil {
		list = highest(sums, n, value, nil)
	} else if list, err = packs.highestOf(ctx, f.ProjectID, *f.Team, sums, n, value); err != nil {
		return nil, err
	}
	names, err := packs.named(ctx, f.ProjectID, kind.noun, list)
	top := make([]store.RuleCount, len(list))
	for i, r := range list {
		sum := sums[r.number]
		if top[i] = (store.RuleCount{RuleID: names[r.number], Denied: sum[0]}); f.Called {
			top[i] = store.RuleCount{RuleID: names[r.number], Calls: sum[0], CallMS: sum[1], Tokens: sum[2]}
		}
	}
	slices.SortStableFunc(top, func(a, b store.RuleCount) int {
		if f.Called {
			return cmp.Or(cmp.Compare(float64(b.CallMS)/float64(b.Calls), float64(a.CallMS)/float64(a.Calls)), cmp.Compare(a.RuleID, b.RuleID))
		}
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.RuleID, b.RuleID))
	})
	return top, err
}

// topGroups lists the groups with the most evaluations.
func (t countTable) topGroups(ctx context.Context, f store.GroupFilter, kind packKind) ([]store.GroupCount, error) {
	packs := packTable(t)
	sums, err := packs.sums(ctx, f.ProjectID, kind, f.From, f.Until)
	if err != nil {
		return nil, err
	}
	list := highest(sums, f.Limit, func(sum *[3]int64) float64 { return float64(sum[0] + sum[1] + sum[2]) }, nil)
	names, err := packs.named(ctx, f.ProjectID, kind.noun, list)
	top := make([]store.GroupCount, len(list))
	for i, r := range list {
		sum := sums[r.number]
		top[i] = store.GroupCount{Dimension: f.Dimension, Name: names[r.number], Allowed: sum[0], Denied: sum[1], Unsure: sum[2]}
	}
	slices.SortStableFunc(top, func(a, b store.GroupCount) int {
		return cmp.Or(cmp.Compare(b.Allowed+b.Denied+b.Unsure, a.Allowed+a.Denied+a.Unsure), cmp.Compare(a.Name, b.Name))
	})
	return top, err
}

const groupSums = "SUM(allowed), SUM(denied), SUM(unsure) FROM group_counts WHERE "

// dailyQuery sums up groups by day.
func dailyQuery(where string) string {
	return "SELECT day, " + groupSums + where + " GROUP BY day ORDER BY day"
}

// partsQuery sums up parts.
func partsQuery(where string) string {
	return "SELECT name, part, SUM(n) FROM part_counts WHERE " + where + " GROUP BY name, part ORDER BY SUM(n) DESC, name, part"
}

// Groups implements store.CountReader.
func (t countTable) Groups(ctx context.Context, f store.GroupFilter) ([]store.GroupCount, error) {
	if kind, ok := packedGroups[f.Dimension]; ok && f.Name == nil && !f.Daily && f.Limit > 0 {
		return t.topGroups(ctx, f, kind)
	}
	where, args := grouped(f.ProjectID, f.From, f.Until, f.Dimension, f.Name)
	if f.Daily {
		return many(ctx, t.session, countsOf(f.ProjectID), "group counts", dailyQuery(where), args, func(c *store.GroupCount) []any {
			c.Dimension = f.Dimension
			return []any{&c.Day, &c.Allowed, &c.Denied, &c.Unsure}
		})
	}
	query, args := first("SELECT name, "+groupSums+where+" GROUP BY name ORDER BY SUM(allowed + denied + unsure) DESC, name", args, f.Limit)
	return many(ctx, t.session, countsOf(f.ProjectID), "group counts", query, args, func(c *store.GroupCount) []any {
		c.Dimension = f.Dimension
		return []any{&c.Name, &c.Allowed, &c.Denied, &c.Unsure}
	})
}

// Parts implements store.CountReader.
func (t countTable) Parts(ctx context.Context, f store.PartFilter) ([]store.PartCount, error) {
	where, args := grouped(f.ProjectID, f.From, f.Until, f.Dimension, f.Name)
	query, args := first(partsQuery(where), args, f.Limit)
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
