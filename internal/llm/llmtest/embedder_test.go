package llmtest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
)

func likeness(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestFakeEmbedderPutsNearTextsNear(t *testing.T) {
	var f llmtest.Embedder
	got, err := f.Embed(t.Context(), []string{
		"Passwords are stored hashed.", "passwords are never stored in clear", "Invoices above 10,000 need two approvals", "Passwords are stored hashed.", "!!! ???",
	})
	if err != nil || len(got) != 5 {
		t.Fatalf("got %d vectors, %v", len(got), err)
	}
	for i, v := range got {
		if len(v) != llm.Dimensions || math.Abs(likeness(v, v)-1) > 1e-5 {
			t.Errorf("vector %d has %d numbers and the square length %v", i, len(v), likeness(v, v))
		}
	}
	if near, far := likeness(got[0], got[1]), likeness(got[0], got[2]); near < 0.3 || far > near/2 {
		t.Errorf("likeness of near texts is %v, of far ones %v", near, far)
	}
	if !slices.Equal(got[0], got[3]) {
		t.Error("the same text has two vectors")
	}
}

func TestFakeEmbedderReadsNoMoreThanItSays(t *testing.T) {
	var f llmtest.Embedder
	long := strings.Repeat("rule ", llm.MaxEmbedBytes/5)
	got, err := f.Embed(t.Context(), []string{long, long + "and more"})
	if err != nil || !slices.Equal(got[0], got[1]) {
		t.Errorf("the text beyond the limit counts: %v", err)
	}
}

func TestFakeEmbedderFailsAsTold(t *testing.T) {
	boom := errors.New("boom")
	f := llmtest.Embedder{Respond: func(_ context.Context, texts []string) error {
		if slices.Contains(texts, "bad") {
			return boom
		}
		return nil
	}}
	if _, err := f.Embed(t.Context(), []string{"good", "bad"}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Embed(t.Context(), []string{"good", " \n"}); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a blank text: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Embed(ctx, []string{"good"}); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("after the context's end: got %v", err)
	}
	if calls := f.Calls(); len(calls) != 3 || !slices.Equal(calls[0], []string{"good", "bad"}) {
		t.Errorf("recorded %v", calls)
	}
}
