package corpus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// maxRemarks bounds for how many places a view keeps the remarks. The names come from outside.
const maxRemarks = 1024

// maxSuggested bounds the names that a remark suggests.
const maxSuggested = 3

// knownNames are the names that the rules in force and the nodes of a view give, collected at the first need.
type knownNames struct {
	collected    sync.Once
	scopes       []string // sorted, in their normal form
	repositories []string // globs, sorted, in their normal form
	globs        []subject.RepositoryGlobs
	kinds        []string // that rules are for, sorted
	everyKind    bool     // some rule is for all kinds

	mu      sync.Mutex
	remarks map[[2]string][]string // by scope and repository
}

// Remarks returns a sentence for each name of the query that nothing in a view knows, with the nearest known names: a scope in which,
// above which and below which no rule is, a repository that no rule and no node names, kinds that no rule is for. A project whose rules
// name none of a sort knows all of that sort.
func (q *Query) Remarks(v *View) []string {
	if q.Scope == "" && q.Repository == "" && (q.AnyKind || len(q.Kinds) == 0) {
		return nil
	}
	n := &v.names
	n.collected.Do(func() { n.collect(v) })
	key := [2]string{q.Scope, q.Repository}
	n.mu.Lock()
	list, ok := n.remarks[key]
	n.mu.Unlock()
	if !ok {
		list = n.aboutScope(nil, q.Scope)
		list = n.aboutRepository(list, v, q.Repository)
		n.mu.Lock()
		if n.remarks == nil || len(n.remarks) >= maxRemarks {
			n.remarks = map[[2]string][]string{}
		}
		n.remarks[[2]string{strings.Clone(q.Scope), strings.Clone(q.Repository)}] = list
		n.mu.Unlock()
	}
	return n.aboutKinds(slices.Clip(list), q)
}

func (n *knownNames) collect(v *View) {
	scopes, repositories, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, s := range v.index.segments {
		take := func(scope string, groups []group) {
			for _, g := range groups {
				if !slices.ContainsFunc(g.docs, func(doc int32) bool { return !v.index.deleted[i].has(doc) }) {
					continue
				}
				if scope != "" {
					scopes[scope] = true
				}
				m := s.matchers[g.matcher]
				n.everyKind = n.everyKind || m == nil || len(m.kinds) == 0
				if m == nil {
					continue
				}
				for _, k := range m.kinds {
					kinds[k] = true
				}
				if !m.repositories.Empty() {
					n.globs = append(n.globs, m.repositories)
				}
				for _, r := range m.named {
					repositories[r] = true
				}
			}
		}
		take("", s.everywhere)
		for scope, groups := range s.byScope {
			take(scope, groups)
		}
		for scope, groups := range s.wildScope {
			take(scope, groups)
		}
	}
	for _, node := range v.tree.Nodes() {
		if scope := rule.CleanScope(node.DefaultScope); scope != "" {
			scopes[scope] = true
		}
		for _, r := range node.Repositories {
			repositories[rule.CleanRepositoryGlob(r)] = true
		}
	}
	n.scopes, n.repositories, n.kinds = slices.Sorted(maps.Keys(scopes)), slices.Sorted(maps.Keys(repositories)), slices.Sorted(maps.Keys(kinds))
}

func (n *knownNames) aboutScope(list []string, scope string) []string {
	if scope == "" || len(n.scopes) == 0 {
		return list
	}
	for _, known := range n.scopes {
		if rule.ScopeApplies([]string{known}, scope) || rule.ScopeFinds([]string{known}, scope) {
			return list
		}
	}
	return append(list, "scope "+shown(scope)+": no rule is in it, above it or below it"+question(text.Near(scope, n.scopes, maxSuggested)))
}

func (n *knownNames) aboutRepository(list []string, v *View, repository string) []string {
	if repository == "" || len(n.repositories) == 0 {
		return list
	}
	if id, err := v.tree.Bound(repository); id != "" || err != nil {
		return list
	}
	name := rule.ParseRepository(repository)
	for _, g := range n.globs {
		if ok, _ := g.Match(name); ok {
			return list
		}
	}
	return append(list, "repository "+shown(name.String())+": no rule and no node names it"+question(n.nearRepositories(name)))
}

// nearRepositories returns the known names and globs nearest to a name. Of a glob, the elements of the name take the places of wildcards.
func (n *knownNames) nearRepositories(name rule.Repository) []string {
	globs := map[string]string{} // by the name to compare
	elements := strings.Split(name.Path, "/")
	for _, known := range n.repositories {
		g := rule.ParseRepositoryGlob(known)
		parts := strings.Split(g.Path, "/")
		literal := 0 // bytes that are not taken from the name
		for i, part := range parts {
			if part == "**" {
				parts = append(parts[:i:i], elements[min(i, len(elements)):]...)
				break
			}
			if strings.ContainsAny(part, "*?[{") && i < len(elements) {
				parts[i] = elements[i]
				continue
			}
			literal += len(part)
		}
		compared := strings.Join(parts, "/")
		if name.Host != "" {
			host := g.Host
			if host == "" {
				host = name.Host
			}
			compared = host + "/" + compared
		}
		if _, taken := globs[compared]; !taken && text.Distance(name.String(), compared) <= max(1, literal/3) {
			globs[compared] = known
		}
	}
	near := text.Near(name.String(), slices.Sorted(maps.Keys(globs)), maxSuggested)
	for i := range near {
		near[i] = globs[near[i]]
	}
	return near
}

func (n *knownNames) aboutKinds(list []string, q *Query) []string {
	if n.everyKind || len(n.kinds) == 0 || q.AnyKind || len(q.Kinds) == 0 {
		return list
	}
	for _, k := range q.Kinds {
		if slices.Contains(n.kinds, string(k)) {
			return list
		}
	}
	return append(list, "kind "+string(q.Kinds[0])+": no rule is for it; the rules are for "+strings.Join(n.kinds, ", ")+".")
}

// question ends a remark.
func question(near []string) string {
	if end := text.DidYouMean(near); end != "" {
		return end
	}
	return "."
}

// maxShown bounds the bytes of a name in a remark.
const maxShown = 100

// shown is a name for a sentence: quoted if it has characters that a reader would not see.
func shown(s string) string {
	s = text.Clip(s, maxShown, "...")
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}
