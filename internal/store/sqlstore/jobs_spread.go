package sqlstore

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/store"
)

// Where the rows of projects are on several servers, no statement can lock jobs of several projects: those that are looked for are found first, and
// then locked project by project.

// byProject calls fn for each project of some jobs, with their ids, in the order of the first of each, until fn has returned as many jobs as are wanted.
func (t jobTable) byProject(names []jobName, wanted int, fn func(project string, ids []int64, wanted int) ([]store.Job, error)) ([]store.Job, error) {
	var projects []string
	ids := map[string][]int64{}
	for _, n := range names {
		if ids[n.project] == nil {
			projects = append(projects, n.project)
		}
		ids[n.project] = append(ids[n.project], n.id)
	}
	var list []store.Job
	for _, project := range projects {
		if len(list) >= wanted {
			break
		}
		some, err := fn(project, ids[project], wanted-len(list))
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

// runSpread has jobs run that are still due. A statement that locks names the project of each table.
func (t jobTable) runSpread(ctx context.Context, known string, args, run []any, names []jobName) ([]store.Job, error) {
	const claim = `UPDATE jobs SET state = 'running', attempt = attempt + 1, done = 0, total = 0, owner = ?, lease_until = ?, started_at = ?
		WHERE project_id = ? AND id`
	lock := "SELECT id FROM " + dueJobs + known + strings.Replace(noTwinRuns, "WHERE ", "WHERE other.project_id = ? AND ", 1) +
		" AND project_id = ? AND id" + t.d.oneOfNumbers + t.d.skipLocked
	return t.byProject(names, len(names), func(project string, ids []int64, _ int) ([]store.Job, error) {
		locked, err := many(ctx, t.session, unlocked, "lock jobs", lock, slices.Concat(args, []any{project, project, t.d.numbers(ids)}),
			func(id *int64) []any { return []any{id} })
		if err != nil || len(locked) == 0 {
			return nil, err
		}
		return t.jobList(ctx, claim+t.d.oneOfNumbers+" RETURNING "+jobColumns, slices.Concat(run, []any{project, t.d.numbers(locked)})...)
	})
}

// expiredSpread locks jobs whose lease has ended.
func (t jobTable) expiredSpread(ctx context.Context, expired string, now int64, limit int) ([]store.Job, error) {
	query := "SELECT " + jobColumns + " FROM " + expired + " AND project_id = ? AND id" + t.d.oneOfNumbers + " ORDER BY lease_until LIMIT ?" + t.d.skipLocked
	names, err := many(ctx, t.session, unlocked, "look for jobs", "SELECT project_id, id, lease_until FROM "+expired+" ORDER BY lease_until LIMIT ?", []any{now, spare * limit}, jobNameFields)
	if err != nil {
		return nil, err
	}
	return t.byProject(names, limit, func(project string, ids []int64, wanted int) ([]store.Job, error) {
		return t.jobList(ctx, query, now, project, t.d.numbers(ids), wanted)
	})
}
