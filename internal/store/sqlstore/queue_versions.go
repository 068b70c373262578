package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"tenet/internal/store"
)

// queueList names a list of the queue whose version is stored: those of revisions, candidates and conflicts, and the marks. The list of rules
// has the corpus version.
type queueList struct{ projectID, kind string }

// queueChanged notes that the transaction may have changed a list of the queue.
func (s *session) queueChanged(projectID, kind string) {
	if s.state == nil {
		return
	}
	if s.state.queue == nil {
		s.state.queue = map[queueList]bool{}
	}
	s.state.queue[queueList{projectID, kind}] = true
}

// raiseQueue raises the versions of the lists that the transaction may have changed. It runs at the end of the transaction and in one order of the
// lists, so that no two transactions wait for each other.
func (s *session) raiseQueue(ctx context.Context) error {
	if len(s.state.queue) == 0 {
		return nil
	}
	lists := slices.SortedFunc(maps.Keys(s.state.queue), func(a, b queueList) int {
		return cmp.Or(cmp.Compare(a.projectID, b.projectID), cmp.Compare(a.kind, b.kind))
	})
	for _, l := range lists {
		_, err := s.exec(ctx, "raise a version of the queue", `INSERT INTO queue_versions (project_id, kind, version) VALUES (?, ?, 1)
			ON CONFLICT (project_id, kind) DO UPDATE SET version = queue_versions.version + 1`, l.projectID, l.kind)
		if err != nil {
			return err
		}
	}
	return nil
}

// Versions implements store.QueueReader. All numbers only grow, so that a sum of some changes whenever one of them does.
func (t queueTable) Versions(ctx context.Context, projectID string) (map[string]int64, error) {
	query, args := "SELECT kind, version FROM queue_versions WHERE project_id = ? UNION ALL SELECT ?, corpus_version FROM projects WHERE project_id = ?",
		[]any{projectID, store.WaitingRule, projectID}
	if projectID == store.AllProjects {
		query = "SELECT kind, CAST(SUM(version) AS BIGINT) FROM queue_versions GROUP BY kind UNION ALL SELECT ?, CAST(COALESCE(SUM(corpus_version), 0) AS BIGINT) FROM projects"
		args = []any{store.WaitingRule}
	}
	versions := map[string]int64{}
	err := t.each(ctx, "versions of the queue", query, args, func(rows *sql.Rows) error {
		var kind string
		var version int64
		err := rows.Scan(&kind, &version)
		versions[kind] = version
		return err
	})
	for _, kind := range []string{store.WaitingRevision, store.WaitingConflict} { // which show rules
		versions[kind] += versions[store.WaitingRule]
	}
	return versions, err
}
