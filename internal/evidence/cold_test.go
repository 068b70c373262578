package evidence_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// A project that no sweep has looked at, or that was forgotten since, is compared before its first evaluation.
func TestAProjectIsComparedBeforeItsFirstEvaluation(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.Projects.Create(t.Context(), rule.Project{ID: "q", Name: "q", CreatedAt: time.Now(), UpdatedAt: time.Now()}); err != nil {
				return err
			}
			return audit.Append(t.Context(), tx, "q", audit.Record{Kind: audit.KindProject, At: time.Now(), Actor: "ann", Body: []byte(`{}`)})
		})
		if err != nil {
			t.Fatal(err)
		}
		f := evidence.NewInForce(s.InForce, slog.New(slog.DiscardHandler))
		f.Strict()
		if err := f.Refusal(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		s.tamper(t, "UPDATE projects SET two_person = NOT two_person WHERE project_id = 'q'")
		if err := f.Refusal(t.Context(), "q"); err != nil {
			t.Errorf("a project that was compared is left to the next sweep: %v", err)
		}
		f.Forget("q")
		if err := f.Refusal(t.Context(), "q"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a project that was forgotten: %v", err)
		}
		s.tamper(t, "UPDATE projects SET two_person = NOT two_person WHERE project_id = 'q'")
		f.Forget("q")
		if err := f.Refusal(t.Context(), "q"); err != nil {
			t.Errorf("a project that was mended: %v", err)
		}
		if err := f.Refusal(t.Context(), "nowhere"); err != nil {
			t.Errorf("a project that does not exist: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Forget("q")
		if err := f.Refusal(ctx, "q"); err == nil {
			t.Error("a project that cannot be read is evaluated")
		}
	})
}

// counting counts the reads of single logs.
type counting struct {
	store.LogReader

	ends int
}

func (c *counting) End(ctx context.Context, projectID string) (store.AuditEnd, error) {
	c.ends++
	return c.LogReader.End(ctx, projectID)
}

// A round of checkpoints reads only the logs that have changed since the last one.
func TestLogsWithoutChangesAreNotReadAgain(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d, logs := newDesk(t), &counting{LogReader: s.Logs}
		b := evidence.NewBook(evidence.Config{
			Log: evidence.NewLog(logs), DB: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Every: time.Hour, Client: http.DefaultClient,
		})
		if err := b.Open(t.Context(), evidence.Signing{Signer: d.keys, Origin: "example.com/tenet", Folder: filepath.Join(d.folder, "of")}); err != nil {
			t.Fatal(err)
		}
		round := func(want bool) {
			t.Helper()
			before := logs.ends
			b.SealAll(t.Context())
			if read := logs.ends > before; read != want {
				t.Errorf("a round has read the log: %v, want %v", read, want)
			}
		}
		s.append(t, "p", 3)
		round(true)
		if c := s.newest(t); c.Size != 3 {
			t.Errorf("the checkpoint is of %d entries", c.Size)
		}
		round(false)
		s.append(t, "p", 1)
		round(true)
		if c := s.newest(t); c.Size != 4 {
			t.Errorf("the checkpoint is of %d entries", c.Size)
		}
		round(false)
		// A log that was cut is found.
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p' AND seq = 4", "UPDATE audit_heads SET seq = 3 WHERE project_id = 'p'")
		round(true)
		if b.Problem("p") == nil {
			t.Error("a log that was cut is not refused")
		}
	})
}

// CheckKeys finds keys that were removed from the database, of chains that it has read and of those that have grown since.
func TestKeysOfAllProjectsAreExplained(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		f := evidence.NewInForce(s.InForce, slog.New(slog.DiscardHandler))
		check := func(want bool) {
			t.Helper()
			if err := f.CheckKeys(t.Context(), []string{"p"}); (err == nil) != want || err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("the keys are explained: %v", err)
			}
		}
		addKey := func(id string) {
			t.Helper()
			err := s.Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Keys.Insert(t.Context(), store.Key{ID: id, ProjectID: "p", Name: id, Role: "viewer", Hash: id, CreatedAt: time.Now()}); err != nil {
					return err
				}
				return audit.Append(t.Context(), tx, "p", audit.Record{Kind: audit.KindKey, At: time.Now(), Actor: "ann", Body: []byte(`{}`)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		err := s.Update(t.Context(), func(tx store.Tx) error {
			tx.InForce.ChangeAll("p")
			return audit.Append(t.Context(), tx, "p", audit.Record{Kind: audit.KindCorpus, At: time.Now(), Actor: "ann", Body: []byte(`{}`)})
		})
		if err != nil {
			t.Fatal(err)
		}
		check(true)
		addKey("k1")
		check(true)
		addKey("k2")
		s.tamper(t, "DELETE FROM api_keys WHERE id = 'k1'")
		check(false)
		check(false)
		f = evidence.NewInForce(s.InForce, slog.New(slog.DiscardHandler))
		check(false) // also by one that has read nothing yet
	})
}
