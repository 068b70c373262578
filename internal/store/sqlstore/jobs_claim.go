package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tenet/internal/store"
)

// dueJobs begins a query for the jobs of a priority that are due, and runDue has those of the list due run.
const (
	dueJobs    = "jobs AS j WHERE state = 'queued' AND priority = ? AND run_at <= ? AND "
	noTwinRuns = ` AND (unique_key = '' OR NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.project_id = j.project_id AND other.kind = j.kind
				AND other.unique_key = j.unique_key AND other.unique_key <> '' AND other.state = 'running'))`
	runDue = `UPDATE jobs SET state = 'running', attempt = attempt + 1, done = 0, total = 0, owner = ?, lease_until = ?, started_at = ?
		WHERE id IN (SELECT id FROM due) RETURNING ` + jobColumns
)

// jobName names one job that is due.
type jobName struct {
	project string
	id      int64
	at      int64 // its start, in microseconds since the Unix epoch
}

func jobNameFields(n *jobName) []any { return []any{&n.project, &n.id, &n.at} }

// spare is how many times as many jobs are looked up as are wanted: other nodes may take some of them in the meantime, and projects take turns.
const spare = 4

// Claim implements store.JobTx.
func (t jobTable) Claim(ctx context.Context, c store.JobClaim) ([]store.Job, error) {
	var claimed []store.Job
	running := maps.Clone(c.Running)
	if running == nil {
		running = map[string]int{}
	}
	// One priority after the other, so that it skips no rows of a later time.
	for priority := 1; priority <= 3 && len(claimed) < c.Limit; priority++ {
		names, err := t.dueNames(ctx, &c, priority, c.Limit-len(claimed))
		if err != nil {
			return nil, err
		}
		var some []store.Job
		for names = byTurns(names, running, c.Share); len(names) > 0 && len(claimed)+len(some) < c.Limit; {
			part := names[:min(len(names), c.Limit-len(claimed)-len(some))]
			names = names[len(part):]
			ran, err := t.runNamed(ctx, &c, priority, part)
			if err != nil {
				return nil, err
			}
			some = append(some, ran...)
		}
		for i := range some {
			running[some[i].ProjectID]++
		}
		slices.SortFunc(some, func(a, b store.Job) int { return cmp.Or(a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID)) })
		claimed = append(claimed, some...)
	}
	return claimed, nil
}

// dueNames lists the jobs of a priority that are due: the first of all, and where that are not all of them the first of some projects too.
func (t jobTable) dueNames(ctx context.Context, c *store.JobClaim, priority, wanted int) ([]jobName, error) {
	known, kinds := t.d.in("kind", c.Kinds)
	now := micros(c.Now)
	names, err := many(ctx, t.session, unlocked, "look for jobs", "SELECT project_id, id, run_at FROM "+dueJobs+known+noTwinRuns+" ORDER BY run_at, id LIMIT ?",
		[]any{priority, now, kinds, spare * wanted}, jobNameFields)
	if err != nil || len(names) < spare*wanted {
		return names, err
	}
	// The index by priority, project and start finds each project in one step, however many jobs the others have. Where projects are on several
	// servers, each counts its own.
	query := `WITH RECURSIVE turns (project, n) AS (
			SELECT (SELECT MIN(project_id) FROM jobs WHERE state = 'queued' AND priority = ? AND project_id > ? AND run_at <= ?), 1 UNION ALL
			SELECT (SELECT MIN(project_id) FROM jobs WHERE state = 'queued' AND priority = ? AND project_id > turns.project AND run_at <= ?), turns.n + 1
			FROM turns WHERE turns.project IS NOT NULL AND turns.n < ?)
		SELECT project_id, id, run_at FROM (SELECT (SELECT j.id FROM ` + dueJobs + known + noTwinRuns + ` AND j.project_id = turns.project
			ORDER BY run_at, id LIMIT 1) AS first FROM turns WHERE project IS NOT NULL) AS firsts, jobs WHERE jobs.id = first`
	for _, after := range []string{c.After, ""} {
		args := []any{priority, after, now, priority, now, spare * wanted, priority, now, kinds}
		if t.state.spread {
			query = "SELECT project_id, MIN(id), MIN(run_at) FROM " + dueJobs + known + noTwinRuns + " AND project_id > ? GROUP BY project_id ORDER BY project_id LIMIT ?"
			args = []any{priority, now, kinds, after, spare * wanted}
		}
		firsts, err := many(ctx, t.session, unlocked, "look for jobs of projects", query, args, jobNameFields)
		if err != nil {
			return nil, err
		}
		names = append(names, firsts...)
		if after == "" || len(firsts) >= wanted {
			break
		}
	}
	slices.SortFunc(names, func(a, b jobName) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	return slices.CompactFunc(names, func(a, b jobName) bool { return a.id == b.id }), nil
}

// byTurns orders jobs, which are in the order of their starts, so that each is of the project with the fewest: those that run, and those before it in the order. It leaves out
// those beyond a project's share.
func byTurns(names []jobName, running map[string]int, share int) []jobName {
	before := maps.Clone(running)
	type placed struct {
		jobName
		turn int
	}
	list := make([]placed, 0, len(names))
	for _, n := range names {
		turn := before[n.project]
		if share > 0 && turn >= share && n.project != store.AllProjects {
			continue
		}
		before[n.project]++
		list = append(list, placed{n, turn})
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.turn, b.turn) })
	ordered := make([]jobName, len(list))
	for i := range list {
		ordered[i] = list[i].jobName
	}
	return ordered
}

// runNamed has those of some jobs run that are still due and that no other transaction has locked.
func (t jobTable) runNamed(ctx context.Context, c *store.JobClaim, priority int, names []jobName) ([]store.Job, error) {
	known, kinds := t.d.in("kind", c.Kinds)
	ids := make([]int64, len(names))
	for i := range names {
		ids[i] = names[i].id
	}
	args, run := []any{priority, micros(c.Now), kinds}, []any{c.Owner, micros(c.Lease), micros(c.Now)}
	if t.state.spread {
		return t.runSpread(ctx, known, args, run, names)
	}
	// The list is materialised: a plan may otherwise compute it repeatedly, and lock more rows each time.
	query := "WITH due AS MATERIALIZED (SELECT id FROM " + dueJobs + known + noTwinRuns + " AND id" + t.d.oneOfNumbers + t.d.skipLocked + ") " + runDue
	return t.jobList(ctx, query, append(append(args, t.d.numbers(ids)), run...)...)
}
