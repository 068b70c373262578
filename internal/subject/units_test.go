package subject

import (
	"testing"

	"tenet/internal/ledger"
)

// TestUnits checks the numbers of units by place, and that they add up to the size of the subject.
func TestUnits(t *testing.T) {
	content := "x = 1\ny = 2\n"
	s, err := Build(Input{
		Action: "deploy", Intent: "a small change", Facts: map[string]any{"amount": 5.0, "who": "ann"},
		Diff: "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n" +
			"diff --git a/old.go b/new.go\nsimilarity index 90%\nrename from old.go\nrename to new.go\n--- a/old.go\n+++ b/new.go\n@@ -1 +1 @@\n-f\n+g\n",
		Files: []InputFile{{Path: "whole.py", Content: &content}, {Path: "named.py"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	u := s.Units()
	if u.Size() != s.Size() {
		t.Errorf("the units have the size %+v, the subject %+v", u.Size(), s.Size())
	}
	kinds := []ledger.Kind{ledger.Action, ledger.Intent, ledger.Facts}
	for i, at := range []int{u.Action(), u.Intent(), u.Facts()} {
		if at < 0 || u.At(at).Kind != kinds[i] {
			t.Errorf("the unit of kind %d is %d", kinds[i], at)
		}
	}
	for i, want := range []struct {
		hunks  int
		unseen bool
	}{{2, false}, {1, true}, {1, false}, {0, true}} {
		name := u.At(u.Name(i))
		from, to := u.Hunks(i)
		if name.Kind != ledger.Name || name.Path != s.Files[i].Path || to-from != want.hunks || (want.hunks > 0 && u.Hunk(i, 0) != from) {
			t.Errorf("file %d: name %+v, hunks %d to %d", i, name, from, to)
		}
		for at := from; at < to; at++ {
			if u.At(at).Kind != ledger.Text {
				t.Errorf("file %d: unit %d is %+v", i, at, u.At(at))
			}
		}
		if at := u.Content(i); (at >= 0) != want.unseen || at >= 0 && u.At(at).Unseen == "" {
			t.Errorf("file %d: content %d", i, at)
		}
	}
	empty := (&Subject{}).Units()
	if empty.Len() != 0 || empty.Action() != -1 || empty.Facts() != -1 || empty.Intent() != -1 {
		t.Errorf("the units of nothing: %d", empty.Len())
	}
}
