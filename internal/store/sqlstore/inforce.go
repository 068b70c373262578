package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// forceTable says how the rows of a kind are hashed.
type forceTable struct {
	table, id, columns string
	// by is the column of the ids that select rows; empty for id.
	by string
	// where is a further condition of rows that are in force.
	where string
}

var forceTables = map[string]forceTable{
	store.RuleInForce:         {table: "rules", id: "id", columns: "version, body"},
	store.RelationshipInForce: {table: "relationships", id: "id", columns: "from_id, to_id, kind, reason, allow_weakening, created_by", by: "from_id"},
	store.NodeInForce:         {table: "nodes", id: "id", columns: "parent_id, body", where: " AND NOT removed"},
	store.AttachmentInForce: {
		table: "node_rules", id: "node_id || '/' || rule_id", columns: "override_id, allow_weakening, reason, created_by, approved_by", by: "node_id", where: " AND NOT removed",
	},
	store.WaiverInForce: {
		table: "waivers", id: "id",
		columns: "rule_id, severity, fingerprint, repository, reason, approver, expires_at, created_by, approved_at, approved_by, revoked_at, revoked_by",
	},
	store.ProjectInForce:    {table: "projects", id: "project_id", columns: "two_person, tests_required, policy"},
	store.KeyInForce:        {table: "api_keys", id: "id", columns: "project_id, name, role, hash, expires_at, revoked_at, owner, agent, limits, rotated_from, rotated_to"},
	store.SuspensionInForce: {table: "suspensions", id: "id", columns: "project_id, agent, person, agent_key, person_key, reason, suspended_at, suspended_by, lifted_at, lifted_by"},
	store.SnapshotInForce:   {table: "snapshots", id: "id", columns: "rule_count, content_hash, corpus_version, created_at, created_by, manifest"},
	store.DeploymentInForce: {table: "deployments", id: "environment || '/' || seq", columns: "action, snapshot_id, at, actor", by: "environment"},
	store.GatesInForce:      {table: "release_gates", id: "environment", columns: "body"},
	store.ApprovalInForce:   {table: "approvals", id: "id", columns: "revision, link_key, body, state, requester, subject_hash"},
	store.RetentionInForce:  {table: "retention", id: "project_id", columns: "body"},
}

// chainOfRow returns the project whose chain records the rows of a project.
func chainOfRow(projectID string) string {
	if projectID == store.AllProjects {
		return rule.DefaultProject
	}
	return projectID
}

// Rows implements store.InForceReader.
func (t inForceTable) Rows(ctx context.Context, projectID, kind string, ids []string) ([]store.RowInForce, error) {
	return t.read(ctx, projectID, kind, ids, "")
}

// read is Rows by a query that ends with after.
func (t inForceTable) read(ctx context.Context, projectID, kind string, ids []string, after string) ([]store.RowInForce, error) {
	f, ok := forceTables[kind]
	if !ok {
		return nil, fmt.Errorf("sqlstore: %q is no kind of what is in force", kind)
	}
	query := "SELECT " + f.id + ", " + f.columns + " FROM " + f.table + " WHERE project_id = ?" + f.where
	args := []any{projectID}
	if (kind == store.KeyInForce || kind == store.SuspensionInForce) && projectID == rule.DefaultProject {
		query, args = strings.Replace(query, "project_id = ?", "project_id IN (?, ?)", 1), append(args, store.AllProjects)
	}
	if ids == nil {
		return t.hashed(ctx, kind, f, query+after, args)
	}
	by := f.by
	if by == "" {
		by = f.id
	}
	var out []store.RowInForce
	for part := range slices.Chunk(ids, pageSize) {
		in, list := t.d.in(by, part)
		rows, err := t.hashed(ctx, kind, f, query+" AND "+in+after, append(slices.Clip(args), list))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (t inForceTable) hashed(ctx context.Context, kind string, f forceTable, query string, args []any) (out []store.RowInForce, err error) {
	values := make([]any, 1+strings.Count(f.columns, ",")+1)
	fields := make([]any, len(values))
	for i := range values {
		fields[i] = &values[i]
	}
	err = t.each(ctx, "rows in force", query, args, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		row := store.RowInForce{Kind: kind, ID: string(bytesOf(values[0]))}
		values := values
		if kind == store.AttachmentInForce && values[len(values)-1] == nil { // as it was hashed before the column was there
			values = values[:len(values)-1]
		}
		if kind == store.RuleInForce {
			version, _ := values[1].(int64)
			row.Hash = ruleHash(row.ID, version, bytesOf(values[2]))
		} else {
			row.Hash = hashOfRow(kind, values)
		}
		out = append(out, row)
		return nil
	})
	return out, err
}

// hashOfRow hashes the values of a row, each after its length. The two databases have the same hash of a row.
func hashOfRow(kind string, values []any) (out store.RowHash) {
	h := sha256.New()
	part := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:]) // a hash never fails to write
		h.Write(b)
	}
	part([]byte("tenet in force 1 " + kind))
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			part([]byte("null"))
		case int64:
			part(strconv.AppendInt([]byte("n"), v, 10))
		case bool:
			n := int64(0) // as SQLite has it
			if v {
				n = 1
			}
			part(strconv.AppendInt([]byte("n"), n, 10))
		default:
			part(append([]byte("t"), bytesOf(v)...))
		}
	}
	h.Sum(out[:0])
	return out
}

// AllRows implements store.InForceReader.
func (t inForceTable) AllRows(ctx context.Context, kind string) (map[string][]store.RowInForce, error) {
	f, ok := forceTables[kind]
	if !ok {
		return nil, fmt.Errorf("sqlstore: %q is no kind of what is in force", kind)
	}
	projects, err := many(ctx, t.session, unlocked, "projects with rows in force", "SELECT DISTINCT project_id FROM "+f.table, nil, func(id *string) []any { return []any{id} })
	if err != nil {
		return nil, err
	}
	out := map[string][]store.RowInForce{}
	for _, id := range projects {
		chain := chainOfRow(id)
		if _, done := out[chain]; done {
			continue
		}
		rows, err := t.Rows(ctx, chain, kind, nil)
		if err != nil {
			return nil, err
		}
		out[chain] = rows
	}
	return out, nil
}

// Ends implements store.InForceReader.
func (t inForceTable) Ends(ctx context.Context) (map[string]int64, error) {
	return byKey(ctx, t.session, unlocked, "ends of chains", "SELECT project_id, seq FROM audit_heads WHERE seq > 0", nil, func(id *string, seq *int64) []any { return []any{id, seq} })
}

// FirstRecorded implements store.InForceReader.
func (t inForceTable) FirstRecorded(ctx context.Context, projectIDs, kinds []string, upTo int64) (map[string][]store.AuditEntry, error) {
	in, projects := t.d.in("project_id", projectIDs)
	of, names := t.d.in("kind", kinds)
	list, err := many(ctx, t.session, unlocked, "first recorded entries",
		"SELECT "+auditColumns+" FROM audit_entries WHERE "+in+" AND +seq <= ? AND "+of+" ORDER BY project_id, seq", []any{projects, upTo, names}, auditFields)
	out := make(map[string][]store.AuditEntry, len(projectIDs))
	for i := range list {
		out[list[i].ProjectID] = append(out[list[i].ProjectID], list[i])
	}
	return out, err
}

// nearEntries is how many entries of a chain Recorded looks at one by one. Where more have been added, an index finds those of the kinds.
const nearEntries = 500

// Recorded implements store.InForceReader. Every request asks it for what has been added since the last, mostly evaluations, so it never looks at
// these twice.
func (t inForceTable) Recorded(ctx context.Context, projectID string, kinds []string, after int64, limit int) (list []store.AuditEntry, until int64, err error) {
	limit = max(limit, 1)
	in, names := t.d.in("kind", kinds)
	type entry struct {
		seq    int64
		wanted bool
	}
	near, err := many(ctx, t.session, unlocked, "added entries", "SELECT seq, "+in+" FROM audit_entries WHERE project_id = ? AND seq > ? ORDER BY seq"+t.d.limit,
		[]any{names, projectID, after, nearEntries}, func(e *entry) []any { return []any{&e.seq, &e.wanted} })
	if err != nil || len(near) == 0 {
		return nil, after, err
	}
	until = near[len(near)-1].seq
	var seqs []int64
	for _, e := range near {
		if e.wanted {
			seqs = append(seqs, e.seq)
		}
	}
	if len(near) == nearEntries {
		if until, seqs, err = t.recordedFar(ctx, projectID, kinds, after, limit); err != nil {
			return nil, after, err
		}
	}
	if len(seqs) >= limit {
		seqs = seqs[:limit]
		until = seqs[limit-1]
	}
	if len(seqs) > 0 {
		list, err = auditTable(t).withBodies(ctx, unlocked, "recorded entries", "SELECT "+auditColumns+" FROM audit_entries WHERE project_id = ? AND seq"+t.d.oneOfNumbers+" ORDER BY seq",
			[]any{projectID, t.d.numbers(seqs)})
	}
	return list, until, err
}

// recordedFar returns the last number of a chain, and the first numbers of entries of some kinds after one, in order. It asks for one kind at a time:
// asked for all at once and in order, databases walk through the whole chain.
func (t inForceTable) recordedFar(ctx context.Context, projectID string, kinds []string, after int64, limit int) (last int64, seqs []int64, err error) {
	number := func(n *int64) []any { return []any{n} }
	ends, err := many(ctx, t.session, unlocked, "the last entry", "SELECT COALESCE(MAX(seq), 0) FROM audit_entries WHERE project_id = ?", []any{projectID}, number)
	if err != nil {
		return 0, nil, err
	}
	last = ends[0]
	for _, kind := range kinds {
		found, err := many(ctx, t.session, unlocked, "recorded entries", "SELECT seq FROM audit_entries WHERE project_id = ? AND kind = ? AND seq > ? AND seq <= ? ORDER BY seq"+t.d.limit,
			[]any{projectID, kind, after, last, limit}, number)
		if err != nil {
			return 0, nil, err
		}
		seqs = append(seqs, found...)
	}
	slices.Sort(seqs)
	return last, seqs, nil
}

// forceKey names a row that a transaction has changed.
type forceKey struct{ project, kind, id string }

// changedInForce notes that the transaction has changed or removed a row.
func (s *session) changedInForce(projectID, kind, id string) {
	s.noteInForce(forceKey{projectID, kind, id}, nil)
}

func (s *session) noteInForce(k forceKey, hash *store.RowHash) {
	if s.state == nil {
		return
	}
	if s.state.inForce == nil {
		s.state.inForce = map[forceKey]*store.RowHash{}
	}
	if s.state.before == nil {
		s.state.before = map[forceKey]*store.RowHash{}
	}
	s.state.inForce[k] = hash
	if _, ok := s.state.before[k]; !ok {
		s.state.before[k] = nil // the transaction has made it
	}
}

// beforeChange notes a row as it is before the transaction changes or makes it, and keeps everybody else from changing it until the transaction ends.
func (s *session) beforeChange(ctx context.Context, projectID, kind, id string) error {
	rows, err := inForceTable{s}.read(ctx, projectID, kind, []string{id}, s.d.keepRows)
	if err == nil && len(rows) == 0 {
		rows = []store.RowInForce{{Kind: kind, ID: id}}
	}
	inForceTable{s}.noteBefore(projectID, rows)
	return err
}

// noteBefore notes rows as they are before the transaction changes them, unless it has made or changed them already.
func (t inForceTable) noteBefore(projectID string, rows []store.RowInForce) {
	for _, r := range rows {
		k := forceKey{projectID, r.Kind, r.ID}
		if _, ok := t.state.before[k]; ok {
			continue
		}
		if t.state.before == nil {
			t.state.before = map[forceKey]*store.RowHash{}
		}
		t.state.before[k] = &r.Hash
	}
}

// Before implements store.InForceTx.
func (t inForceTable) Before() map[string][]store.RowInForce {
	out := map[string][]store.RowInForce{}
	for k, hash := range t.state.before {
		if _, whole := t.state.before[forceKey{project: chainOfRow(k.project)}]; hash != nil && !whole {
			out[chainOfRow(k.project)] = append(out[chainOfRow(k.project)], store.RowInForce{Kind: k.kind, ID: k.id, Hash: *hash})
		}
	}
	return out
}

// ChangeAll implements store.InForceTx.
func (t inForceTable) ChangeAll(projectID string) {
	t.noteInForce(forceKey{project: projectID}, nil)
}

// Changed implements store.InForceTx.
func (t inForceTable) Changed(ctx context.Context, projectID string) (rows []store.RowInForce, whole bool, err error) {
	ids := map[string][]string{} // of rows to read, by kind
	found := map[[2]string]store.RowHash{}
	for k, hash := range t.state.inForce {
		if chainOfRow(k.project) != projectID {
			continue
		}
		delete(t.state.inForce, k)
		if k.kind == "" {
			whole = true
			continue
		}
		name := [2]string{k.kind, k.id}
		found[name] = store.RowHash{}
		if hash != nil {
			found[name] = *hash
			continue
		}
		ids[k.kind] = append(ids[k.kind], k.id)
	}
	if whole {
		found = map[[2]string]store.RowHash{}
	}
	for _, kind := range store.KindsInForce {
		list := ids[kind]
		if !whole && len(list) == 0 {
			continue
		}
		if whole {
			list = nil
		}
		current, err := t.rowsNow(ctx, projectID, kind, list)
		if err != nil {
			return nil, false, err
		}
		for _, r := range current {
			name := [2]string{kind, r.ID}
			if _, asked := found[name]; asked || whole {
				found[name] = r.Hash
			}
		}
	}
	for name, hash := range found {
		rows = append(rows, store.RowInForce{Kind: name[0], ID: name[1], Hash: hash})
	}
	slices.SortFunc(rows, func(a, b store.RowInForce) int {
		if a.Kind != b.Kind {
			return strings.Compare(a.Kind, b.Kind)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return rows, whole, nil
}

// rowsNow is Rows by the ids of the rows; all rows if ids is nil.
func (t inForceTable) rowsNow(ctx context.Context, projectID, kind string, ids []string) ([]store.RowInForce, error) {
	f := forceTables[kind]
	if f.by == "" || ids == nil {
		return t.Rows(ctx, projectID, kind, ids)
	}
	in, list := t.d.in(f.id, ids)
	where, args := " WHERE project_id = ?"+f.where+" AND "+in, []any{projectID, list}
	if kind == store.AttachmentInForce { // by the key of the table
		nodes := make([]string, len(ids))
		for i, id := range ids {
			nodes[i], _, _ = strings.Cut(id, "/")
		}
		slices.Sort(nodes)
		in, list = t.d.in("node_id", slices.Compact(nodes))
		where, args = where+" AND "+in, append(args, list)
	}
	return t.hashed(ctx, kind, f, "SELECT "+f.id+", "+f.columns+" FROM "+f.table+where, args)
}
