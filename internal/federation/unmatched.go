package federation

import (
	"cmp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Unmatched lists the repository globs of all nodes that match none of some repositories, in order of their text. It takes the time of a
// search for each glob, and of a comparison with each repository that begins as the glob does.
func (t *Tree) Unmatched(repositories []string) []Glob {
	if t.Len() == 0 {
		return nil
	}
	type named struct {
		key  string // the path, or the whole name: a path may look as if it began with a host
		name rule.Repository
	}
	list := make([]named, 0, len(repositories))
	for _, repository := range repositories {
		name := rule.ParseRepository(repository)
		list = append(list, named{name.Path, name})
		if name.Host != "" {
			list = append(list, named{name.String(), name})
		}
	}
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.key, b.key) })
	var out []Glob
	for _, b := range t.shape.of(t).bound.all {
		begin := b.path
		if i := strings.IndexAny(begin, meta); i >= 0 {
			begin = begin[:i]
		}
		at, _ := slices.BinarySearchFunc(list, begin, func(n named, begin string) int { return strings.Compare(n.key, begin) })
		matches := false
		for ; !matches && at < len(list) && strings.HasPrefix(list[at].key, begin); at++ {
			matches, _ = b.glob.Match(list[at].name)
		}
		if !matches {
			out = append(out, b.asGlob())
		}
	}
	slices.SortFunc(out, func(a, b Glob) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.NodeID, b.NodeID))
	})
	return out
}

func (b *binding) asGlob() Glob { return Glob{b.node.ID, b.text, b.path, b.exact} }
