package evaluate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Facts rank rules by their names and values however deep they are; beside files by their names alone.
func TestTermsOfFacts(t *testing.T) {
	facts := map[string]any{
		"spec":  map[string]any{"containers": []any{map[string]any{"image": "registry/app", "privileged": true}, map[string]any{"image": "proxy"}}},
		"owner": "billing",
		"count": 3.0,
	}
	got := termsOf(&subject.Subject{Action: "apply", Facts: facts})
	want := []string{"apply", "count", "owner", "billing", "spec", "containers", "image", "registry/app", "privileged", "true", "image", "proxy"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	files := []diff.File{{Path: "a.go", Hunks: []diff.Hunk{{Lines: []diff.Line{{Op: diff.OpAdd, Text: "x := 1"}, {Op: diff.OpDelete, Text: "y := 2"}}}}}}
	if got = termsOf(&subject.Subject{Files: files, Facts: facts}); slices.Contains(got, "billing") || !slices.Contains(got, "privileged") || !slices.Contains(got, "x := 1") || slices.Contains(got, "y := 2") {
		t.Errorf("beside files: %q", got)
	}

	var deep any = "bottom"
	for range 100 {
		deep = map[string]any{"in": deep}
	}
	if got = termsOf(&subject.Subject{Facts: map[string]any{"a": deep}}); len(got) != maxFactDepth+1 {
		t.Errorf("%d terms of facts within facts", len(got))
	}
	long := map[string]any{}
	for _, name := range strings.Fields("a b c d e f g h") {
		long[name] = strings.Repeat("word ", 1000)
	}
	if got = termsOf(&subject.Subject{Facts: long}); len(got) > 10 {
		t.Errorf("%d terms of long facts", len(got))
	}

	view, err := corpus.New(1, []store.RuleState{
		{Rule: rule.Rule{ID: "r1", ProjectID: "default", Version: 1, Status: rule.Effective, Severity: rule.Medium, Modality: rule.Must, Statement: "Invoices must name a cost centre."}},
		{Rule: rule.Rule{ID: "r2", ProjectID: "default", Version: 1, Status: rule.Effective, Severity: rule.Medium, Modality: rule.MustNot, Statement: "Containers must not be privileged."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	matches := view.Applicable(&corpus.Query{Now: time.Now(), AnyKind: true, Terms: termsOf(&subject.Subject{Facts: facts})})
	if len(matches) != 2 || matches[0].Rule.ID != "r2" {
		t.Errorf("the rule about containers is not first: %+v", matches)
	}
}
