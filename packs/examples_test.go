package packs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tenet/internal/check"
	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

func TestExamplesGiveTheVerdictsTheirReadmeTells(t *testing.T) {
	_, rules := compiled(t)
	tests := []struct {
		file      string
		deny, ask []string
	}{
		{
			"change.diff",
			[]string{
				"GO-001 internal/gateway/client.go:21", "PY-011 refunds/service.py:30", "SEC-009 refunds/service.py:11",
				"SQL-007 migrations/0012_refunds.sql:5",
			},
			[]string{"INF-001 Dockerfile:1", "PY-017 refunds/service.py:46"},
		},
		{"change-fixed.diff", nil, nil},
		{"payment.json", []string{"FIN-002"}, nil},
		{"payment-ok.json", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			s := example(t, tt.file)
			in := check.Prepare(s)
			var deny, ask []string
			kept := 0
			for slug, r := range rules {
				if !applies(t, &r.rule, s) {
					continue
				}
				out := r.program.Run(context.Background(), in)
				told := slug
				for _, l := range out.Locations {
					if l.FilePath != "" {
						told += fmt.Sprintf(" %s:%d", l.FilePath, l.StartLine)
					}
				}
				switch verdict(&r.rule, out) {
				case rule.Deny:
					deny = append(deny, told)
				case rule.NeedsConfirmation:
					ask = append(ask, told)
				case rule.Allow:
					kept++
				}
			}
			slices.Sort(deny)
			slices.Sort(ask)
			if !slices.Equal(deny, tt.deny) || !slices.Equal(ask, tt.ask) {
				t.Errorf("denied by %v, confirmation for %v; want %v and %v", deny, ask, tt.deny, tt.ask)
			}
			if kept < 10 {
				t.Errorf("only %d rules apply and are kept", kept)
			}
		})
	}
}

func example(t *testing.T, name string) *subject.Subject {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	in := subject.Input{Diff: string(b)}
	if filepath.Ext(name) == ".json" {
		in = subject.Input{}
		if err := json.Unmarshal(b, &in.Facts); err != nil {
			t.Fatal(err)
		}
	}
	s, err := subject.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// applies tells whether the kinds and paths of applies_to let a rule look at a subject.
func applies(t *testing.T, r *rule.Rule, s *subject.Subject) bool {
	t.Helper()
	a := r.AppliesTo
	if a == nil {
		return true
	}
	if len(a.Kinds) > 0 && !slices.ContainsFunc(a.Kinds, func(k string) bool { return s.Is(subject.Kind(k)) }) {
		return false
	}
	paths, excluded := globs(t, a.Paths), globs(t, a.ExcludePaths)
	return paths.Empty() || slices.ContainsFunc(s.Files, func(f diff.File) bool {
		return paths.Match(f.Path) && !excluded.Match(f.Path)
	})
}

func globs(t *testing.T, list []string) subject.Globs {
	t.Helper()
	g, err := subject.CompileGlobs(list)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
