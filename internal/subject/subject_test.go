package subject

import "testing"

func TestSize(t *testing.T) {
	s := mustBuild(t, Input{
		Diff:   gitHeader + "@@ -1,2 +1,2 @@\n keep\n-dropped\n+new\n@@ -9 +9 @@\n-x\n+y\n",
		Files:  []InputFile{{Path: "named"}, {Path: "whole", Content: new("abc\n")}},
		Action: "act", Facts: map[string]any{"a": 1},
	})
	// keep, new, y and abc with a line end each, act, {"a":1}
	if got, want := s.Size(), (Size{Files: 3, Hunks: 3, Bytes: 5 + 4 + 2 + 4 + 3 + 7}); got != want {
		t.Errorf("size is %+v, want %+v", got, want)
	}
	if s.Is(Transaction) || !s.Is(Facts) {
		t.Errorf("kinds are %v", s.Kinds)
	}
}
