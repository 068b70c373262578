package corpus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// TestCompactDropsVectorsOfOldTexts edits every rule several times, so that most vectors are of texts that no rule has.
func TestCompactDropsVectorsOfOldTexts(t *testing.T) {
	const n, rounds = 400, 4
	v := &View{}
	for round := range rounds {
		var states []store.RuleState
		var vectors []store.Embedding
		for i := range n {
			r := rule.Rule{ID: fmt.Sprintf("%06d", i), Version: round + 1, Statement: fmt.Sprintf("Rule %d says %d.", i, round)}
			states = append(states, store.RuleState{Rule: r})
			vector := make([]float32, dimensions)
			vector[i], vector[n+i%100] = 1, float32(round)
			vectors = append(vectors, store.Embedding{Model: "m", TextHash: TextHash(&r), Vector: vector})
		}
		next, err := v.Apply(int64(round+1), states)
		if err != nil {
			t.Fatal(err)
		}
		v = next.WithVectors("m", vectors)
	}
	if v.index.vectors.rows != n*rounds || !v.index.fragmented() {
		t.Fatalf("before: %d rows, fragmented %v; want %d, and worth compacting", v.index.vectors.rows, v.index.fragmented(), n*rounds)
	}
	compact, err := v.index.compact()
	if err != nil {
		t.Fatal(err)
	}
	if compact.vectors.rows != n || compact.fragmented() || len(compact.segments) != 1 {
		t.Errorf("after: %d rows in %d segments, want %d in 1", compact.vectors.rows, len(compact.segments), n)
	}
	question := make([]float32, dimensions)
	question[7], question[n+7] = 1, rounds-1
	for about, v := range map[string]*View{"before": v, "after": v.with(v.version, compact)} {
		hits, total := v.Nearest(question, Filter{}, 0, 1)
		if total != n || len(hits) != 1 || hits[0].Rule.ID != "000007" || hits[0].Score < 0.9999 {
			t.Errorf("%s: found %v of %d, want rule 7 with a cosine of 1", about, hits, total)
		}
	}
}

// database opens a store with some projects, in which write makes a rule or a new version of it.
func database(t *testing.T, projects ...string) (s store.Store, write func(project string, n, version int)) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), t.TempDir(), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	update := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range projects {
		update(func(tx store.Tx) error { return tx.Projects.Create(t.Context(), rule.Project{ID: id, Name: id}) })
	}
	return s, func(project string, n, version int) {
		t.Helper()
		update(func(tx store.Tx) error {
			cv, err := tx.Projects.RaiseCorpus(t.Context(), project)
			if err != nil {
				return err
			}
			r := rule.Rule{
				ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), ProjectID: project, Version: version, Status: rule.Effective,
				Statement: fmt.Sprintf("Rule %d in version %d.", n, version),
			}
			r.Normalize()
			if version > 1 {
				return tx.Rules.Update(t.Context(), cv, []rule.Rule{r})
			}
			return tx.Rules.Insert(t.Context(), cv, []rule.Rule{r})
		})
	}
}

// A project that is written to all the time is compacted too, and keeps what is written meanwhile.
func TestCompactionTakesInWhatHasChangedMeanwhile(t *testing.T) {
	s, write := database(t, "p")
	l := NewLive(Config{Store: Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler)})
	for i := range 5 {
		write("p", i, 1)
	}
	old, err := l.View(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	write("p", 3, 2)
	write("p", 5, 1)
	f := l.follow("p")
	before, err := l.Refresh(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.compact(t.Context(), "p", f, old); err != nil {
		t.Fatal(err)
	}
	after, err := l.View(t.Context(), "p")
	if err != nil || after == before || after.Version() != before.Version() || after.Len() != 6 {
		t.Fatalf("version %d with %d rules, error %v; want another view of version %d with 6", after.Version(), after.Len(), err, before.Version())
	}
	if r, ok := after.Rule("00000000-0000-7000-8000-000000000003"); !ok || r.Version != 2 {
		t.Errorf("the edited rule is %+v", r)
	}
	f.view.Store(nil)
	if err := l.compact(t.Context(), "p", f, old); err != nil || f.view.Load() != nil {
		t.Errorf("a view that was dropped is back; error %v", err)
	}
}

// damaged is a store in which one project cannot be read.
type damaged struct {
	store.FederationReader

	project string
}

func (d damaged) Follow(ctx context.Context, projectID string, after int64, rules func(store.RuleState) error, nodes func(store.NodeState) error,
	attached func(store.AttachmentState) error,
) (int64, error) {
	if projectID == d.project && after > 0 {
		return 0, errors.New("damaged")
	}
	return d.FederationReader.Follow(ctx, projectID, after, rules, nodes, attached)
}

// One project that cannot be read must not leave the others behind.
func TestADamagedProjectDelaysNoOther(t *testing.T) {
	all := []string{"bad", "a", "b", "c", "d", "e", "f", "g"}
	s, write := database(t, all...)
	s.Federation = damaged{s.Federation, "bad"}
	l := NewLive(Config{Store: Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler)})
	for _, project := range all {
		write(project, 1, 1)
		if _, err := l.View(t.Context(), project); err != nil {
			t.Fatal(err)
		}
		write(project, 1, 2)
	}
	if err := l.poll(t.Context()); err == nil {
		t.Error("the damage is not told")
	}
	for _, project := range all[1:] {
		v, err := l.View(t.Context(), project)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := v.Rule("00000000-0000-7000-8000-000000000001"); !ok || r.Version != 2 {
			t.Errorf("project %s shows %+v", project, r)
		}
	}
}
