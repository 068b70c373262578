package export_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/parquet-go/parquet-go"

	"tenet/internal/audit"
	"tenet/internal/export"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// bed is a chain of evaluations.
type bed struct {
	t     *testing.T
	store store.Store
	n     int
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &bed{t: t, store: s}
	b.update(func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: "pay", Name: "Pay"})
	})
	return b
}

func (b *bed) update(fn func(store.Tx) error) {
	b.t.Helper()
	if err := b.store.Update(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// id is that of the n-th evaluation.
func id(n int) string { return fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", n) }

// evaluate appends evaluations of a day, every third DENY, each with an entry of another kind behind it.
func (b *bed) evaluate(count int, at time.Time) {
	b.t.Helper()
	b.update(func(tx store.Tx) error {
		for range count {
			v := rule.Evaluation{EvaluationID: id(b.n), ProjectID: "pay", OverallVerdict: rule.Allow, Mode: rule.Preflight, TotalLatencyMS: 3}
			if b.n%3 == 0 { // as an evaluator records it: without the lists that follow from the verdicts
				v.OverallVerdict, v.RuleVerdicts = rule.Deny, []rule.RuleVerdict{
					{RuleID: "r", RuleSlug: "PAY-1", Verdict: rule.Deny},
					{RuleID: "s", Verdict: rule.NeedsConfirmation},
					{RuleID: "t", RuleSlug: "PAY-3", Verdict: rule.Deny, Waiver: &rule.AppliedWaiver{}},
					{RuleID: "u", RuleSlug: "PAY-4", Verdict: rule.Allow},
				}
			}
			rec := wire.EvaluationRecord{
				Evaluation: &v, Identity: &rule.Identity{Agent: "robot"}, Subject: wire.RecordedSubject{Repository: "acme/pay"}, Kinds: []wire.SubjectKind{wire.Facts},
			}
			err := audit.Append(b.t.Context(), tx, "pay", audit.Record{ID: id(b.n), Kind: audit.KindEvaluation, At: at, Actor: "ci", Verdict: string(v.OverallVerdict), Body: audit.JSON(rec)})
			if err == nil {
				err = audit.Append(b.t.Context(), tx, "pay", audit.Record{Kind: audit.KindAlert, At: at, Actor: "ci", Body: []byte(`{}`)})
			}
			if err != nil {
				return err
			}
			b.n++
		}
		return nil
	})
}

// exporter makes an exporter to places, as a restart of the server does.
func (b *bed) exporter(env func(string) string, addresses ...string) *export.Exporter {
	b.t.Helper()
	e, err := export.New(export.Config{
		Updater: b.store, Audit: b.store.Audit, Exports: b.store.Exports, Projects: b.store.Projects, Addresses: addresses, Env: env, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(e.Close)
	return e
}

func (b *bed) run(e *export.Exporter) {
	b.t.Helper()
	if err := e.Handle(b.t.Context(), wire.Job{}, nil); err != nil {
		b.t.Fatal(err)
	}
}

func none(string) string { return "" }

// rows reads all decisions below a folder.
func rows(t *testing.T, folder string) (list []export.Decision, files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		part, err := parquet.ReadFile[export.Decision](path)
		list = append(list, part...)
		name, _ := filepath.Rel(folder, path)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, files
}

func ids(list []export.Decision) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	slices.Sort(out)
	return out
}

func want(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = id(i)
	}
	return out
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParquetFilesHoldEveryDecisionOnce(t *testing.T) {
	t.Parallel()
	b, folder := newBed(t), t.TempDir()
	b.evaluate(5, noon)
	b.evaluate(4, noon.Add(24*time.Hour))
	b.run(b.exporter(none, "file:"+folder))
	list, files := rows(t, folder)
	if !slices.Equal(ids(list), want(9)) || !slices.Equal(files, []string{"project=pay/day=2026-03-01/000000000001.parquet", "project=pay/day=2026-03-02/000000000001.parquet"}) {
		t.Errorf("%d rows in %q", len(list), files)
	}
	d := list[0]
	if d.ProjectID != "pay" || d.Verdict != "DENY" || !slices.Equal(d.Violated, []string{"PAY-1"}) || !slices.Equal(d.Undecided, []string{"s"}) || d.Agent != "robot" || d.Actor != "ci" || d.Repository != "acme/pay" || !d.At.Equal(noon) ||
		!slices.Equal(d.Kinds, []string{"facts"}) || d.LatencyMS != 3 || d.Hash == "" || d.Seq != 1 {
		t.Errorf("the first row is %+v", d)
	}
	// A restart goes on where the last run ended, and does nothing without news.
	b.run(b.exporter(none, "file:"+folder))
	if again, _ := rows(t, folder); len(again) != 9 {
		t.Errorf("%d rows after a run without news", len(again))
	}
	b.evaluate(3, noon.Add(24*time.Hour))
	e := b.exporter(none, "file:"+folder)
	if lags, err := e.Lags(t.Context()); err != nil || len(lags) != 1 || lags[0].Entries != 6 {
		t.Errorf("before the run: %+v, %v", lags, err)
	}
	b.run(e)
	if lags, err := e.Lags(t.Context()); err != nil || lags[0].Entries != 0 {
		t.Errorf("after the run: %+v, %v", lags, err)
	}
	if list, files := rows(t, folder); !slices.Equal(ids(list), want(12)) || len(files) != 3 {
		t.Errorf("%d rows in %q", len(list), files)
	}
}

// lost is a database that loses the transactions that move a position, as a server that is killed before them does.
type lost struct{ store.Updater }

func (lost) Update(context.Context, func(store.Tx) error) error { return errors.New("killed") }

func TestAKilledExportRepeatsItsWrite(t *testing.T) {
	t.Parallel()
	b, folder := newBed(t), t.TempDir()
	b.evaluate(4, noon)
	killed, err := export.New(export.Config{
		Updater: lost{}, Audit: b.store.Audit, Exports: b.store.Exports, Projects: b.store.Projects, Addresses: []string{"file:" + folder}, Env: none, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Handle(t.Context(), wire.Job{}, nil); err == nil {
		t.Fatal("the position was moved")
	}
	b.evaluate(3, noon)
	b.run(b.exporter(none, "file:"+folder))
	if list, files := rows(t, folder); !slices.Equal(ids(list), want(7)) || len(files) != 1 {
		t.Errorf("%d rows in %q; the second write takes the place of the first", len(list), files)
	}
}

func TestAPlaceThatFailsKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b, folder := newBed(t), t.TempDir()
	b.evaluate(2, noon)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := b.exporter(none, "file:"+blocked+"/below", "file:"+folder)
	if err := e.Handle(t.Context(), wire.Job{}, nil); err == nil || !strings.Contains(err.Error(), blocked) {
		t.Errorf("%v; the error names the place", err)
	}
	if list, _ := rows(t, folder); len(list) != 2 {
		t.Errorf("the other place has %d rows", len(list))
	}
	if lags, err := e.Lags(t.Context()); err != nil || lags[0].Entries != 4 || lags[1].Entries != 0 {
		t.Errorf("%+v, %v", lags, err)
	}
}

func TestBucketsGetTheSameFiles(t *testing.T) {
	t.Parallel()
	b, backend := newBed(t), s3mem.New()
	if err := backend.CreateBucket("decisions"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s.Close)
	b.evaluate(3, noon)
	b.run(b.exporter(func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
	}, "s3://decisions/tenet"))
	o, err := backend.GetObject("decisions", "tenet/project=pay/day=2026-03-01/000000000001.parquet", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = o.Contents.Close()
	if o.Size < 500 {
		t.Errorf("the file has %d bytes", o.Size)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ftp://x/y", "nats://host", "kafka://host/", "file:", "s3://bucket", "x"} {
		e, err := export.New(export.Config{Addresses: []string{address}, Env: none})
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v", address, err)
			if e != nil {
				e.Close()
			}
		}
	}
}

// The queries of the guide run in DuckDB, where Python has its package.
func TestQueriesOfTheGuideRunInDuckDB(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import duckdb").Run(); err != nil {
		t.Skip("python3 has no package duckdb")
	}
	guide, err := os.ReadFile("../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	b, folder := newBed(t), t.TempDir()
	b.evaluate(9, noon)
	b.run(b.exporter(none, "file:"+folder))
	parts := strings.Split(string(guide), "```sql\n")[1:]
	if len(parts) < 3 {
		t.Fatalf("the guide has %d queries", len(parts))
	}
	for i, part := range parts {
		query, _, _ := strings.Cut(part, "```")
		query = strings.ReplaceAll(query, "/var/lib/decisions", folder)
		script := "import duckdb, sys\nrows = duckdb.sql(sys.argv[1]).fetchall()\nprint(rows)\nassert rows"
		out, err := exec.CommandContext(t.Context(), "python3", "-c", script, query).CombinedOutput()
		if err != nil {
			t.Errorf("query %d: %v: %s", i+1, err, out)
		}
		if i == 0 && !strings.Contains(string(out), "'DENY', 3") {
			t.Errorf("query 1 answers %s", out)
		}
	}
}
