package trail_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/find"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/trail"
	"tenet/internal/wire"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// entries records a rule that was made and revised, a key, and a waiver with a hostile reason, in project p, and an entry in project q.
func entries(t *testing.T, s store.Store) rule.Rule {
	t.Helper()
	r := rule.Rule{ID: "00000000-0000-7000-8000-000000000001", ProjectID: "p", Slug: "PAY-1", Version: 1, Statement: "Pay once.", CreatedAt: noon, UpdatedAt: noon}
	r.Normalize()
	revised := r.Clone()
	revised.Version, revised.Statement, revised.ChangeNote = 2, "Pay twice.", "the new law"
	err := s.Update(t.Context(), func(tx store.Tx) error {
		for _, project := range []string{"p", "q"} {
			if err := tx.Projects.Create(t.Context(), rule.Project{ID: project, Name: project, CreatedAt: noon, UpdatedAt: noon}); err != nil {
				return err
			}
		}
		cv, err := tx.Projects.RaiseCorpus(t.Context(), "p")
		if err != nil {
			return err
		}
		if err := tx.Rules.Insert(t.Context(), cv, []rule.Rule{r}); err != nil {
			return err
		}
		record := func(kind, actor string, after time.Duration, body map[string]any) audit.Record {
			return audit.Record{Kind: kind, Actor: actor, At: noon.Add(after), Body: audit.JSON(body)}
		}
		if err := audit.Append(t.Context(), tx, "q", record(audit.KindRule, "eve", 0, map[string]any{"action": "created", "rule": r})); err != nil {
			return err
		}
		return audit.Append(t.Context(), tx, "p",
			record(audit.KindRule, "ann", 0, map[string]any{"action": "created", "rule": r}),
			record(audit.KindKey, "ann", time.Hour, map[string]any{"action": "created", "key_id": "k1", "name": "ci"}),
			record(audit.KindRule, "bob", 2*time.Hour, map[string]any{"action": "revised", "rule": revised, "changed": rule.Diff(r, revised)}),
			record(audit.KindWaiver, "bob", 3*time.Hour, map[string]any{"action": "granted", "waiver": map[string]any{"id": "w1", "rule_id": r.ID, "rule_slug": "PAY-1", "reason": "=HYPERLINK(\"https://evil\")"}}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func each(t *testing.T, test func(t *testing.T, tr *trail.Trail, r rule.Rule)) {
	t.Helper()
	for name, open := range map[string]func() (store.Store, error){
		"SQLite": func() (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
		},
		"PostgreSQL": func() (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			index := find.New(find.Config{Store: find.Store{Updater: s, DerivedUpdater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}})
			test(t, trail.New(trail.Store{Audit: s.Audit, Projects: s.Projects, Rules: s.Rules}, index), entries(t, s))
		})
	}
}

var (
	firstPage = wire.PageQuery{Page: 1, PageSize: 10}
	boss      = func(ctx context.Context) context.Context { return auth.WithActor(ctx, auth.Local("boss")) }
)

func TestListFindsEntries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, tr *trail.Trail, r rule.Rule) {
		since, until := noon.Add(time.Hour), noon.Add(3*time.Hour)
		for name, tt := range map[string]struct {
			filter wire.AuditFilter
			want   []int64
		}{
			"all":     {wire.AuditFilter{}, []int64{4, 3, 2, 1}},
			"kind":    {wire.AuditFilter{Kind: []string{"Waiver", "key"}}, []int64{4, 2}},
			"actor":   {wire.AuditFilter{Actor: "bob"}, []int64{4, 3}},
			"action":  {wire.AuditFilter{Action: "created"}, []int64{2, 1}},
			"slug":    {wire.AuditFilter{Rule: "PAY-1"}, []int64{4, 3, 1}},
			"object":  {wire.AuditFilter{Object: "rule:" + r.ID}, []int64{3, 1}},
			"time":    {wire.AuditFilter{Since: &since, Until: &until}, []int64{3, 2}},
			"several": {wire.AuditFilter{Kind: []string{"rule"}, Actor: "ann"}, []int64{1}},
			"nobody":  {wire.AuditFilter{Actor: "eve"}, nil},
		} {
			page, err := tr.List(boss(t.Context()), "p", wire.AuditEntryQuery{AuditFilter: tt.filter, PageQuery: firstPage})
			var got []int64
			for _, e := range page.Items {
				got = append(got, e.Seq)
			}
			if err != nil || !slices.Equal(got, tt.want) || page.Total != len(tt.want) {
				t.Errorf("%s: entries %v of %d, %v; want %v", name, got, page.Total, err, tt.want)
			}
		}
		page, err := tr.List(boss(t.Context()), "p", wire.AuditEntryQuery{AuditFilter: wire.AuditFilter{Actor: "bob", Kind: []string{"rule"}}, PageQuery: firstPage})
		if err != nil || len(page.Items) != 1 || page.Items[0].Reason != "the new law" || page.Items[0].Rules[0].Slug != "PAY-1" || !strings.Contains(page.Items[0].Summary, "revised") {
			t.Errorf("%+v, %v", page.Items, err)
		}
	})
}

func TestListRefusesWhatNothingCanHave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, tr *trail.Trail, _ rule.Rule) {
		until := noon
		_, err := tr.List(boss(t.Context()), "p", wire.AuditEntryQuery{PageQuery: firstPage, AuditFilter: wire.AuditFilter{
			Kind: []string{"song"}, Verdict: "MAYBE", Rule: "NO-SUCH", Evaluation: "x", Object: "rule", Since: &noon, Until: &until,
		}})
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Fatal(err)
		}
		for _, field := range []string{"kind", "verdict", "rule", "evaluation", "object", "until"} {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("the error does not name %s: %v", field, err)
			}
		}
		if _, err := tr.List(boss(t.Context()), "nowhere", wire.AuditEntryQuery{PageQuery: firstPage}); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("a project that is not there: %v", err)
		}
	})
}

// TestEntry shows what an entry has changed, and hides the details of keys from all but administrators.
func TestEntry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, tr *trail.Trail, _ rule.Rule) {
		e, err := tr.Entry(boss(t.Context()), "p", 3, firstPage)
		if err != nil || !slices.ContainsFunc(e.Changes, func(c rule.FieldChange) bool {
			return c.Field == "statement" && string(c.Before) == `"Pay once."` && string(c.After) == `"Pay twice."`
		}) {
			t.Errorf("changes %s, %v", e.Changes, err)
		}
		if e.PrevHash == "" || e.BodyHash == "" || !json.Valid(e.Record) {
			t.Errorf("%+v", e)
		}
		if e, err = tr.Entry(boss(t.Context()), "p", 2, firstPage); err != nil || e.Withheld || len(e.Record) == 0 {
			t.Errorf("a key, to an administrator: %+v, %v", e, err)
		}
		if e, err = tr.Entry(t.Context(), "p", 2, firstPage); err != nil || !e.Withheld || len(e.Record) != 0 || len(e.Changes) != 0 {
			t.Errorf("a key, to others: %+v, %v", e, err)
		}
		for _, seq := range []int64{0, 5} {
			if _, err := tr.Entry(boss(t.Context()), "p", seq, firstPage); rule.CodeOf(err) != rule.CodeNotFound {
				t.Errorf("entry %d: %v", seq, err)
			}
		}
	})
}

// TestExport writes all entries, oldest first, as JSON lines and as a table in which no cell is a formula.
func TestExport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, tr *trail.Trail, _ rule.Rule) {
		export := func(q wire.AuditExportQuery) string {
			t.Helper()
			x, err := tr.Export(boss(t.Context()), "p", q)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := x.Write(boss(t.Context()), &b); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		var seqs []int64
		var last wire.AuditLine
		for line := range strings.Lines(export(wire.AuditExportQuery{Format: "jsonl", After: 1})) {
			last = wire.AuditLine{}
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, last.Seq)
		}
		if !slices.Equal(seqs, []int64{2, 3, 4}) || last.PrevHash == "" || last.Rules[0].Slug != "PAY-1" {
			t.Errorf("lines %v, the last %+v", seqs, last)
		}
		table, err := csv.NewReader(strings.NewReader(export(wire.AuditExportQuery{Format: "csv"}))).ReadAll()
		if err != nil || len(table) != 5 || table[0][0] != "seq" || table[4][0] != "4" {
			t.Fatalf("%q, %v", table, err)
		}
		hostile := false
		for _, row := range table[1:] {
			for _, cell := range row {
				hostile = hostile || strings.Contains(cell, "HYPERLINK")
				if strings.HasPrefix(cell, "=") {
					t.Errorf("a spreadsheet takes %q for a formula", cell)
				}
			}
		}
		if !hostile {
			t.Error("the reason is not in the table")
		}
		if got := export(wire.AuditExportQuery{Format: "jsonl", AuditFilter: wire.AuditFilter{Actor: "eve"}}); got != "" {
			t.Errorf("an entry of another project: %s", got)
		}
	})
}
