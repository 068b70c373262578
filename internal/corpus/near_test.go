package corpus_test

import (
	"fmt"
	"testing"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func nearRule(n int, statement string, status rule.Status) store.RuleState {
	return store.RuleState{Rule: rule.Rule{
		ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), ProjectID: "p", Version: 1, Statement: statement, Modality: rule.Must, Status: status,
	}}
}

func TestNear(t *testing.T) {
	v, err := corpus.New(1, []store.RuleState{
		nearRule(1, `Invoices must be "paid" within 14 days.`, rule.Effective),
		nearRule(2, "Invoices must be paid in at most 30 days.", rule.Effective),
		nearRule(3, "Invoices must be paid twice.", rule.Retired),
		nearRule(4, "Containers must not run as root.", rule.Effective),
		nearRule(5, "Every commitment is settled two weeks after it was billed.", rule.Draft),
	})
	if err != nil {
		t.Fatal(err)
	}
	vector := func(x, y float32) []float32 {
		out := make([]float32, store.Dimensions)
		out[0], out[1] = x, y
		return out
	}
	e, _ := v.Get("00000000-0000-7000-8000-000000000001")
	other, _ := v.Get("00000000-0000-7000-8000-000000000005")
	root, _ := v.Get("00000000-0000-7000-8000-000000000004")
	var vectors []store.Embedding
	for entry, to := range map[*corpus.Entry][]float32{other: vector(1, .1), root: vector(-1, .1)} {
		vectors = append(vectors, store.Embedding{Model: "m", TextHash: corpus.TextHash(entry.Rule), Vector: to})
	}
	near := func(v *corpus.View, vector []float32, words, vectors int) string {
		ids := ""
		for _, n := range v.Near(e, vector, corpus.Filter{Statuses: []rule.Status{rule.Draft, rule.Effective}}, words, vectors) {
			ids += n.Rule.ID[len(n.Rule.ID)-1:]
		}
		return ids
	}
	if got := near(v, nil, 5, 5); got != "2" {
		t.Errorf("by words: %q, want the rule with the same words, and neither itself nor the retired one", got)
	}
	with := v.WithVectors("m", vectors)
	if got := near(with, vector(1, 0), 5, 1); got != "25" {
		t.Errorf("with the vector that is given: %q", got)
	}
	own := with.WithVectors("m", []store.Embedding{{Model: "m", TextHash: corpus.TextHash(e.Rule), Vector: vector(-1, 0)}})
	if got := near(own, vector(1, 0), 0, 1); got != "4" {
		t.Errorf("with its own vector: %q", got)
	}
	if own.Embedded(e) == v.Embedded(e) {
		t.Error("a rule with a vector is not told from one without")
	}
}

func TestStem(t *testing.T) {
	for word, want := range map[string]string{"logged": "log", "logging": "log", "os.environ": "os.environ", "the": "the", "14": "14"} {
		if got := corpus.Stem(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
