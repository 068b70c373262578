package cli

import (
	"slices"
	"testing"

	"tenet/internal/rule"
)

// An edge, whose answers name their bundle, has no console.
func TestAnEvaluationOfAnEdgeHasNoPage(t *testing.T) {
	t.Parallel()
	e := rule.Evaluation{ProjectID: "pay", EvaluationID: "1"}
	if project, page := pageOf(e); project != "pay" || !slices.Equal(page, []string{"evaluations", "1"}) {
		t.Errorf("of a server: %q, %q", project, page)
	}
	e.Bundle = "abc"
	if _, page := pageOf(&e); len(page) > 0 {
		t.Errorf("of an edge: %q", page)
	}
}
