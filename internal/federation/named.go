package federation

import "strings"

// Named returns the nodes of a tree that have a path such as acme/payments, or else those that have a name. Letter case does not count.
func Named(t *Tree, name string) []*Node {
	var byPath, byName []*Node
	for _, n := range t.Nodes() {
		if len(name) < len(n.Name) || !strings.EqualFold(name[len(name)-len(n.Name):], n.Name) {
			continue
		}
		if len(name) == len(n.Name) {
			byName = append(byName, n)
		}
		if strings.EqualFold(name, t.Path(n.ID)) {
			byPath = append(byPath, n)
		}
	}
	if len(byPath) > 0 {
		return byPath
	}
	return byName
}
