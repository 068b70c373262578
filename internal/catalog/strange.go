package catalog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// maxStrange bounds the notices about names that only one rule uses.
const maxStrange = 20

// usage counts the rules that use a name.
type usage map[string]int

// A sort is a sort of names in rules: scopes, facts, repositories. Validation refuses kinds of subjects that do not exist.
type sort struct {
	of       func(*rule.Rule) []string
	sentence string // with the name in it
	paths    bool   // a name above or below, as a path, uses it as well
	names    *corpus.Names
}

var sorts = []sort{
	newSort(scopeNames, "no other rule has the scope %s, one above it or one below it", true),
	newSort(func(r *rule.Rule) []string { return check.FactsNamed(r.Check) }, "no other rule reads facts.%s", false),
	newSort(repositoryNames, "no other rule and no node names the repository %s", false),
}

func newSort(of func(*rule.Rule) []string, sentence string, paths bool) sort {
	return sort{of, sentence, paths, corpus.NewNames(of)}
}

// lone is a name that one rule only uses.
type lone struct {
	rule     *rule.Rule
	name     string
	sentence string   // with the names that may be meant
	near     []string // the nearest names of others
}

// usedNames are the names of a corpus, by sort.
type usedNames [3]usage

func newUsedNames() (u usedNames) {
	for i := range u {
		u[i] = usage{}
	}
	return u
}

func (u *usedNames) add(r *rule.Rule) {
	for i := range sorts {
		for _, name := range sorts[i].of(r) {
			u[i][name]++
		}
	}
}

// lone returns the names of the rules that no other rule uses. In used are the names of all rules. had reports the sorts of which others have
// names: a name without a near one counts only there, as all names of a first rule are new.
func (u *usedNames) lone(rules iter.Seq[*rule.Rule], had [3]bool) iter.Seq[lone] {
	below := map[string]bool{} // scopes above others
	for path := range u[0] {
		for above := parent(path); above != ""; above = parent(above) {
			below[above] = true
		}
	}
	var sorted [3][]string
	return func(yield func(lone) bool) {
		for r := range rules {
			for i := range sorts {
				s := &sorts[i]
				for _, name := range s.of(r) {
					if u[i][name] > 1 || s.paths && (below[name] || u[i].hasAbove(name)) {
						continue
					}
					if sorted[i] == nil {
						sorted[i] = slices.Sorted(maps.Keys(u[i]))
					}
					found := lone{rule: r, name: name, near: text.Near(name, sorted[i], 1)}
					if len(found.near) == 0 && !had[i] {
						continue
					}
					end := text.DidYouMean(found.near)
					if end == "" {
						end = "."
					}
					found.sentence = fmt.Sprintf(s.sentence, text.Clip(name, 100, "...")) + end
					if !yield(found) {
						return
					}
				}
			}
		}
	}
}

// loneNames finds the names of written rules that no other rule uses. before is the corpus that they are written to.
func loneNames(before *corpus.View, written []rule.Rule) []lone {
	var pending [3]map[string]bool
	replaced := make(map[string]bool, len(written))
	rules := func(yield func(*rule.Rule) bool) {
		for i := range written {
			if written[i].Status != rule.Retired && !yield(&written[i]) {
				return
			}
		}
	}
	for i := range written {
		replaced[written[i].ID] = true
	}
	for r := range rules {
		for i := range sorts {
			for _, name := range sorts[i].of(r) {
				if pending[i] == nil {
					pending[i] = map[string]bool{}
				}
				pending[i][name] = true
			}
		}
	}
	alone := false
	for i, names := range pending {
		for name := range names {
			alone = alone || !sorts[i].names.Uses(before, name, replaced)
		}
	}
	if !alone {
		return nil
	}
	used := newUsedNames()
	for i := range sorts {
		if pending[i] != nil { // else of a sort that the written rules do not use
			used[i] = sorts[i].names.Used(before, replaced)
		}
	}
	if pending[2] != nil {
		for _, node := range before.Federation().Nodes() {
			for _, name := range node.Repositories {
				used[2][rule.ParseRepositoryGlob(name).Path] += 2
			}
		}
	}
	var had [3]bool
	for i := range used {
		had[i] = len(used[i]) > 0
	}
	for r := range rules {
		used.add(r)
	}
	return slices.Collect(used.lone(rules, had))
}

// strangeNames returns a sentence for each scope, fact name and repository of written rules that no other rule uses, with the nearest
// names of other rules: most of them are misspelt. before is the corpus that they are written to.
func strangeNames(before *corpus.View, written []rule.Rule) []string {
	var out []string
	for _, l := range loneNames(before, written) {
		out = append(out, l.rule.Label()+": "+l.sentence)
		if len(out) > maxStrange {
			return append(out[:maxStrange], "More names are used by one rule only.")
		}
	}
	return out
}

// Names returns a finding for each scope, fact name and repository of a rule that no other rule of its project uses, with the nearest
// names. It reads the corpus as it is; the rule may be in it.
func (c *Catalog) Names(ctx context.Context, r *rule.Rule) ([]rule.Finding, error) {
	view, err := c.views.View(ctx, r.ProjectID)
	if err != nil {
		return nil, err
	}
	var out []rule.Finding
	for _, l := range loneNames(view, []rule.Rule{*r}) {
		if out = append(out, l.finding()); len(out) == maxStrange {
			break
		}
	}
	return out, nil
}

// MisspeltNames returns, by the id of the rule, a finding for each name that one of the rules alone uses and that is near to a name of others.
func MisspeltNames(rules []rule.Rule) map[string][]rule.Finding {
	inUse := func(yield func(*rule.Rule) bool) {
		for i := range rules {
			if s := rules[i].Status; s != rule.Retired && s != rule.Superseded && !yield(&rules[i]) {
				return
			}
		}
	}
	used := newUsedNames()
	for r := range inUse {
		used.add(r)
	}
	out := map[string][]rule.Finding{}
	for l := range used.lone(inUse, [3]bool{}) {
		if used.common(l.near) && misspelt(l.name, l.near[0]) {
			out[l.rule.ID] = append(out[l.rule.ID], l.finding())
		}
	}
	return out
}

// common reports whether several rules use a name: of two near names that one rule each uses, neither is known to be wrong.
func (u *usedNames) common(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(u[:], func(used usage) bool { return used[name] > 1 })
	})
}

// misspelt reports whether a name is most likely meant to be another one: they differ by two characters at most, or one is the end of the
// other as a path. Names such as has_health_data and has_personal_data are alike on purpose.
func misspelt(name, other string) bool {
	return text.Distance(name, other) <= 2 || strings.HasSuffix(other, "/"+name) || strings.HasSuffix(name, "/"+other)
}

func (l *lone) finding() rule.Finding {
	sentence := strings.ToUpper(l.sentence[:1]) + l.sentence[1:]
	return rule.Finding{Code: lint.LoneName, Quote: l.name, Message: sentence}
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

// repositoryNames returns the repositories of a rule in their normal form without host, each once, without globs.
func repositoryNames(r *rule.Rule) []string {
	if r.AppliesTo == nil {
		return nil
	}
	var out []string
	for _, name := range r.AppliesTo.Repositories {
		if name = rule.ParseRepositoryGlob(name).Path; name != "" && !strings.ContainsAny(name, "*?[{") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
