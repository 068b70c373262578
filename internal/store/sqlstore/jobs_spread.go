package sqlstore

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/store"
)

// Where the rows of projects are on several servers, no statement can lock jobs of several projects: those that are looked for are found first, and
// then locked project by project.

// jobName names one job.
type jobName struct {
	project string
	id      int64
}

// spare is how many times as many jobs are looked up as are wanted, since other nodes may take some of them in the meantime.
const spare = 4

// eachProject calls fn for each project that has jobs among the first that a query finds, with their ids, in the order of the first of each, until fn has
// returned as many jobs as are wanted.
func (t jobTable) eachProject(ctx context.Context, from, order string, args []any, wanted int, fn func(project string, ids []int64, wanted int) ([]store.Job, error)) ([]store.Job, error) {
	names, err := many(ctx, t.session, unlocked, "look for jobs", "SELECT project_id, id FROM "+from+" ORDER BY "+order+" LIMIT ?",
		append(slices.Clone(args), spare*wanted), func(n *jobName) []any { return []any{&n.project, &n.id} })
	if err != nil {
		return nil, err
	}
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

// claimSpread has jobs run that are due. A statement that locks names the project of each table.
func (t jobTable) claimSpread(ctx context.Context, known string, args, run []any, wanted int) ([]store.Job, error) {
	const claim = `UPDATE jobs SET state = 'running', attempt = attempt + 1, done = 0, total = 0, owner = ?, lease_until = ?, started_at = ?
		WHERE project_id = ? AND id`
	lock := "SELECT id FROM " + dueJobs + known + strings.Replace(noTwinRuns, "WHERE ", "WHERE other.project_id = ? AND ", 1) +
		" AND project_id = ? AND id" + t.d.oneOfNumbers + " ORDER BY run_at, id LIMIT ?" + t.d.skipLocked
	return t.eachProject(ctx, dueJobs+known+noTwinRuns, "run_at, id", args, wanted, func(project string, ids []int64, wanted int) ([]store.Job, error) {
		locked, err := many(ctx, t.session, unlocked, "lock jobs", lock, slices.Concat(args, []any{project, project, t.d.numbers(ids), wanted}),
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
	return t.eachProject(ctx, expired, "lease_until", []any{now}, limit, func(project string, ids []int64, wanted int) ([]store.Job, error) {
		return t.jobList(ctx, query, now, project, t.d.numbers(ids), wanted)
	})
}
