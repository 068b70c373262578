package corpus

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// lossy is a store whose rows are not those that were written while lost is true.
type lossy struct {
	store.FederationReader

	lost *bool
}

func (d lossy) Follow(ctx context.Context, projectID string, after int64, rules func(store.RuleState) error, nodes func(store.NodeState) error,
	attached func(store.AttachmentState) error,
) (int64, error) {
	if *d.lost {
		return 0, rule.Errorf(rule.CodeUnavailable, "rules are missing%w", store.ErrDamaged)
	}
	return d.FederationReader.Follow(ctx, projectID, after, rules, nodes, attached)
}

// Not even the view from before the damage decides anything.
func TestADamagedCorpusHasNoView(t *testing.T) {
	s, write := database(t, "p")
	lost := false
	s.Federation = lossy{s.Federation, &lost}
	l := NewLive(Config{Store: Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler)})
	write("p", 1, 1)
	if _, err := l.View(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	lost = true
	write("p", 1, 2)
	if err := l.poll(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("following: %v", err)
	}
	if _, err := l.View(t.Context(), "p"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a view of a damaged corpus: %v", err)
	}
	lost = false
	if _, err := l.View(t.Context(), "p"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("each request would read all rules: %v", err)
	}
	// A restored database is read again, and the rules are back.
	l.follow("p").broken.Load().until = time.Now()
	if v, err := l.View(t.Context(), "p"); err != nil || v.Len() != 1 {
		t.Errorf("restored: %v", err)
	}
}
