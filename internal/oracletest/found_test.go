package oracletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// TestFoundDiffs judges the diffs that the oracle has once found to be ALLOW for rules that they break. Each names the rules in its first
// line.
func TestFoundDiffs(t *testing.T) {
	paths, err := filepath.Glob("testdata/found/*.diff")
	if err != nil || len(paths) < 20 {
		t.Fatalf("found %d diffs, %v", len(paths), err)
	}
	o := newOracle(t)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".diff"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			first, text, _ := strings.Cut(string(data), "\n")
			slugs, ok := strings.CutPrefix(first, "rules: ")
			if !ok {
				t.Fatal("the first line names no rules")
			}
			e, err := o.judge(subject.Input{Diff: text})
			if err != nil {
				return // refused
			}
			if e.OverallVerdict == rule.Allow {
				t.Error("overall ALLOW")
			}
			verdicts := verdictsOf(e)
			for slug := range strings.FieldsSeq(slugs) {
				switch v := verdicts[slug]; {
				case v == nil:
					t.Errorf("%s does not apply", slug)
				case v.Verdict == rule.Allow:
					t.Errorf("%s is ALLOW: %s", slug, v.Reasoning)
				}
			}
		})
	}
}
