package oracletest

import (
	"os"
	"slices"
	"strings"
)

// outcomes returns what a diff does: what git apply and patch make of it, and what it was made of.
func (r *repository) outcomes(s *sample) ([]*outcome, error) {
	var list []*outcome
	add := func(by string, after tree) {
		list = append(list, newOutcome(by, s.diff, s.before, after))
	}
	if !s.lossy {
		add(origin, s.after)
	}
	if len(s.before) > 1 {
		return list, nil
	}
	tools := [][]string{{"patch", "--force", "--silent", "--no-backup-if-mismatch", "--reject-file=-", "-p1"}}
	for _, strip := range s.strips {
		tools = append(tools, []string{"git", "apply", "--whitespace=nowarn", "-p" + strip})
		if strings.Contains(s.diff, "\n@@ -") && strings.Contains(s.how, "-U0") {
			tools = append(tools, []string{"git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-p" + strip})
		}
	}
	for _, tool := range tools {
		after, err := r.apply(s.before[0], s.diff, tool)
		if err != nil {
			return nil, err
		}
		if after != nil && !slices.ContainsFunc(list, func(o *outcome) bool { return same(o.after, after) }) {
			add(strings.Join(tool, " "), after)
		}
	}
	return list, nil
}

// apply applies a diff to a tree and returns the result, or nil if the tool refuses the diff.
func (r *repository) apply(before tree, diff string, tool []string) (tree, error) {
	dir, err := r.folder()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := before.write(dir); err != nil {
		return nil, err
	}
	if _, err := r.run(dir, diff, tool[0], tool[1:]...); err != nil {
		return nil, nil //nolint:nilerr,nilnil // a tool that refuses a diff says nothing about it
	}
	after, err := readTree(dir)
	if err != nil {
		return nil, err
	}
	for path, e := range before {
		if e.mode == gitMode {
			after[path] = e
		}
	}
	return after, nil
}

func same(a, b tree) bool {
	if len(a) != len(b) {
		return false
	}
	for path, e := range a {
		if b[path] != e {
			return false
		}
	}
	return true
}
