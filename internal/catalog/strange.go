package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// maxStrange bounds the notices about names that only one rule uses.
const maxStrange = 20

// usage counts the rules that use a name.
type usage map[string]int

func (u usage) add(names []string) {
	for _, name := range names {
		u[name]++
	}
}

// strangeNames returns a sentence for each scope and fact name of written rules that no other rule uses, with the nearest names of other
// rules: most of them are misspelt. before is the corpus that they are written to. A name without a near one counts only where the
// corpus has names of its sort already, as all names of a first rule are new.
func strangeNames(before *corpus.View, written []rule.Rule) []string {
	replaced := make(map[string]bool, len(written))
	for i := range written {
		replaced[written[i].ID] = true
	}
	scopes, facts := usage{}, usage{}
	for e := range before.All() {
		if r := e.Rule; !replaced[r.ID] && r.Status != rule.Retired && r.Status != rule.Superseded {
			scopes.add(scopeNames(r))
			facts.add(check.FactsNamed(r.Check))
		}
	}
	hadScopes, hadFacts := len(scopes) > 0, len(facts) > 0
	for i := range written {
		if r := &written[i]; r.Status != rule.Retired {
			scopes.add(scopeNames(r))
			facts.add(check.FactsNamed(r.Check))
		}
	}
	below := map[string]bool{} // scopes above others
	for path := range scopes {
		for above := parent(path); above != ""; above = parent(above) {
			below[above] = true
		}
	}
	var out []string
	note := func(r *rule.Rule, had bool, what, name string, all usage) {
		near := text.Near(name, slices.Sorted(maps.Keys(all)), 1)
		if len(near) == 0 && !had {
			return
		}
		end := text.DidYouMean(near)
		if end == "" {
			end = "."
		}
		out = append(out, fmt.Sprintf("%s: no other rule "+what+"%s", r.Label(), text.Clip(name, 100, "..."), end))
	}
	for i := range written {
		r := &written[i]
		if r.Status == rule.Retired {
			continue
		}
		for _, path := range scopeNames(r) {
			if scopes[path] == 1 && !below[path] && !scopes.hasAbove(path) {
				note(r, hadScopes, "has the scope %s, one above it or one below it", path, scopes)
			}
		}
		for _, name := range check.FactsNamed(r.Check) {
			if facts[name] == 1 {
				note(r, hadFacts, "reads facts.%s", name, facts)
			}
		}
		if len(out) > maxStrange {
			return append(out[:maxStrange], "More names are used by one rule only.")
		}
	}
	return out
}

// hasAbove reports whether a scope above a path is used.
func (u usage) hasAbove(path string) bool {
	for above := parent(path); above != ""; above = parent(above) {
		if u[above] > 0 {
			return true
		}
	}
	return false
}

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// scopeNames returns the scope paths of a rule in their normal form, each once, without those that have a wildcard.
func scopeNames(r *rule.Rule) []string {
	var out []string
	for _, s := range r.Scope {
		if s = rule.CleanScope(s); s != "" && !strings.Contains(s, "*") && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
