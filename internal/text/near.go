package text

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxNearName  = 128   // bytes of a name whose neighbours Near finds
	maxNearNames = 10000 // names that Near compares
)

// Distance returns how many characters must be inserted, deleted, replaced or exchanged with their neighbour to make b of a. Letter case
// does not count, nor does the difference between -, _ and a space.
func Distance(a, b string) int {
	x, y := []rune(nearForm(a)), []rune(nearForm(b))
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

var joinedNames = strings.NewReplacer("-", "_", " ", "_")

func nearForm(s string) string { return joinedNames.Replace(strings.ToLower(s)) }

// Near returns up to most of the names that somebody who wrote name may have meant, the nearest first and equals in alphabetical order. A
// name is near if a third of its characters differ at most, or if one of the two, as a path with / or ., ends with the other.
// It reads the first 10,000 names.
func Near(name string, names []string, most int) []string {
	type candidate struct {
		name string
		off  int
	}
	if len(name) > maxNearName || name == "" {
		return nil
	}
	var found []candidate
	for _, n := range names[:min(len(names), maxNearNames)] {
		if len(n) > maxNearName || n == name {
			continue
		}
		off := len(n) + len(name)
		if allowed := max(len(name), len(n)) / 3; abs(len(n)-len(name)) <= allowed {
			if d := Distance(name, n); d <= max(1, allowed) {
				off = d
			}
		}
		last := n[strings.LastIndexAny(n, "/.")+1:]
		if last != n && !strings.ContainsAny(name, "/.") && abs(len(last)-len(name)) <= len(name)/3 {
			if d := Distance(name, last); d <= len(name)/3 {
				off = min(off, d+1)
			}
		}
		if endsWith(n, name) || endsWith(name, n) {
			off = min(off, 1)
		}
		if off < len(n)+len(name) {
			found = append(found, candidate{n, off})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.off-b.off, strings.Compare(a.name, b.name)) })
	found = slices.Compact(found)
	out := make([]string, 0, most)
	for _, c := range found[:min(most, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// endsWith reports whether a path ends with another one.
func endsWith(path, end string) bool {
	return strings.HasSuffix(path, "/"+end) || strings.HasSuffix(path, "."+end)
}

// DidYouMean is the end of a sentence about a name that nothing has: it asks whether one of the near names is meant, and is empty without
// any.
func DidYouMean(near []string) string {
	switch len(near) {
	case 0:
		return ""
	case 1:
		return "; did you mean " + near[0] + "?"
	}
	return "; did you mean " + strings.Join(near[:len(near)-1], ", ") + " or " + near[len(near)-1] + "?"
}

func abs(n int) int { return max(n, -n) }
