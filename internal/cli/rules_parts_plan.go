package cli

import (
	"errors"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// group holds rules of a file that relationships connect, and the cases of them, by their places in the file. Cases of rules that the file does not
// have are groups without rules.
type group struct{ rules, cases []int }

// graph finds rules of a file by their names, and the rules that their relationships name.
type graph struct {
	file  *wire.RuleFile
	byKey map[string]int
}

func newGraph(f *wire.RuleFile) *graph {
	g := &graph{file: f, byKey: map[string]int{}}
	for i := range f.Rules {
		if in := &f.Rules[i]; in.ID != "" {
			g.byKey[strings.ToLower(in.ID)] = i
		}
		if slug := f.Rules[i].Slug; slug != nil && *slug != "" {
			g.byKey[*slug] = i
		}
	}
	return g
}

func (g *graph) find(name string) (i int, ok bool) {
	if i, ok = g.byKey[name]; !ok {
		i, ok = g.byKey[strings.ToLower(name)]
	}
	return i, ok
}

// targets returns the rules of the file that the relationships of one of them name.
func (g *graph) targets(i int) []int {
	var list []int
	for _, r := range g.file.Rules[i].Relationships {
		if to, ok := g.find(r.To); ok && to != i {
			list = append(list, to)
		}
	}
	return list
}

// changed returns the place of the rule that a change is of.
func (g *graph) changed(c *rule.ImportChange) int {
	i, ok := g.byKey[c.Slug]
	if !ok {
		i, ok = g.find(c.RuleID)
	}
	if !ok {
		return -1
	}
	return i
}

// groups divides a file, in the order of its first rules.
func (g *graph) groups() []group {
	n := len(g.file.Rules)
	above := make([]int, n)
	for i := range above {
		above[i] = i
	}
	root := func(i int) int {
		for above[i] != i {
			above[i] = above[above[i]]
			i = above[i]
		}
		return i
	}
	for i := range n {
		for _, to := range g.targets(i) {
			above[root(to)] = root(i)
		}
	}
	places := map[int]int{} // of a group, by its root
	var list []group
	of := func(key int) *group {
		at, ok := places[key]
		if !ok {
			at = len(list)
			places[key], list = at, append(list, group{})
		}
		return &list[at]
	}
	for i := range n {
		to := of(root(i))
		to.rules = append(to.rules, i)
	}
	foreign := map[string]int{}
	for i := range g.file.Cases {
		name := g.file.Cases[i].Rule
		key, ok := g.find(name)
		if ok {
			key = root(key)
		} else {
			if foreign[name] == 0 {
				foreign[name] = n + len(foreign) + 1
			}
			key = foreign[name]
		}
		to := of(key)
		to.cases = append(to.cases, i)
	}
	return list
}

// split divides a group of more than a part takes: each rule is in one of the parts with its relationships and cases, and the rules that it names are
// in the same part, at most most in all.
func (g *graph) split(whole group, size, most int) []group {
	cases := map[int][]int{}
	for _, c := range whole.cases {
		if i, ok := g.find(g.file.Cases[c].Rule); ok {
			cases[i] = append(cases[i], c)
		}
	}
	var parts []group
	var part group
	with := map[int]bool{} // rules of the part, and those that they name
	for _, i := range whole.rules {
		more := 0
		for _, to := range append(g.targets(i), i) {
			if !with[to] {
				more++
			}
		}
		if len(part.rules) > 0 && (len(part.rules) == size || len(with)+more > most || len(part.cases)+len(cases[i]) > most) {
			parts, part, with = append(parts, part), group{}, map[int]bool{}
		}
		part.rules, part.cases = append(part.rules, i), append(part.cases, cases[i]...)
		for _, to := range append(g.targets(i), i) {
			with[to] = true
		}
	}
	return append(parts, part)
}

// plan makes a dry run in parts. Rules that relationships connect are planned together with their cases, so that each part says what the whole would;
// it returns how many rules are connected of which there are too many for that. Of these, a circle over several parts is not seen.
func (p *parts) plan(f *wire.RuleFile, size, most int) (divided int, err error) {
	g := newGraph(f)
	p.all = len(f.Rules) + len(f.Cases)
	var part group
	for _, next := range g.groups() {
		if len(next.rules) > most || len(next.cases) > most {
			divided += len(next.rules)
			for _, some := range g.split(next, size, most) {
				if err := p.try(g, some); err != nil {
					return divided, err
				}
			}
			continue
		}
		if len(part.rules)+len(next.rules) > size || len(part.cases)+len(next.cases) > size {
			if err := p.try(g, part); err != nil {
				return divided, err
			}
			part = group{}
		}
		part.rules, part.cases = append(part.rules, next.rules...), append(part.cases, next.cases...)
	}
	if err := p.try(g, part); err != nil {
		return divided, err
	}
	for _, list := range [][]rule.ImportChange{p.total.Changes, p.total.Waiting} {
		slices.SortStableFunc(list, func(a, b rule.ImportChange) int {
			if late := a.Action == "propose"; late != (b.Action == "propose") { // proposals come after the others
				if late {
					return 1
				}
				return -1
			}
			return g.changed(&a) - g.changed(&b)
		})
	}
	p.total.Unchanged = len(f.Rules) - len(p.total.Changes) - len(p.total.Waiting)
	return divided, nil
}

// planNodes plans the federation of a file, after its rules: the nodes may name rules that are new or differ from the stored ones, so these go with them.
// It returns how many those are if there are more than a part takes; then it plans nothing.
func (p *parts) planNodes(f *wire.RuleFile, most int) (left int, err error) {
	if f.Federation == nil {
		return 0, nil
	}
	g := newGraph(f)
	named := map[int]bool{}
	g.namedBy(f.Federation, named)
	part := wire.RuleFile{Federation: f.Federation}
	var places []int
	for i := range p.total.Changes {
		at := g.changed(&p.total.Changes[i])
		if at < 0 || !named[at] {
			continue
		}
		delete(named, at)
		in := f.Rules[at]
		in.Relationships = nil
		part.Rules, places = append(part.Rules, in), append(places, at)
	}
	if len(part.Rules) > most {
		return len(part.Rules), nil
	}
	got, err := client.ImportRules(p.ctx, p.client, &part, p.query)
	if err != nil {
		return 0, renumbered(err, "", func(i int) int { return places[i] }, nil)
	}
	p.total.Federation, p.total.Silenced = got.Federation, got.Silenced
	return 0, nil
}

// namedBy adds the places of the rules that nodes and those below them name.
func (g *graph) namedBy(nodes []wire.FileNode, places map[int]bool) {
	for i := range nodes {
		n := &nodes[i]
		names := slices.Clone(n.Rules)
		for _, o := range n.Overrides {
			names = append(names, o.Rule, o.InsteadOf)
		}
		for _, name := range names {
			if at, ok := g.find(name); ok {
				places[at] = true
			}
		}
		g.namedBy(n.Children, places)
	}
}

// try plans a part: rules with their cases, and without being counted the other rules of the file that they name.
func (p *parts) try(g *graph, part group) error {
	if len(part.rules)+len(part.cases) == 0 {
		return nil
	}
	own, named := map[int]bool{}, map[int]bool{}
	for _, i := range part.rules {
		own[i], named[i] = true, true
	}
	places := slices.Clone(part.rules)
	for _, i := range part.rules {
		for _, to := range g.targets(i) {
			if !named[to] {
				named[to], places = true, append(places, to)
			}
		}
	}
	f := &wire.RuleFile{}
	for _, i := range places {
		in := g.file.Rules[i]
		if !own[i] {
			in.Relationships = nil
		}
		f.Rules = append(f.Rules, in)
	}
	for _, i := range part.cases {
		f.Cases = append(f.Cases, g.file.Cases[i])
	}
	got, err := client.ImportRules(p.ctx, p.client, f, p.query)
	if err != nil {
		return renumbered(err, "", func(i int) int { return places[i] }, func(i int) int { return part.cases[i] })
	}
	others := func(c rule.ImportChange) bool { return !own[g.changed(&c)] }
	got.Changes, got.Waiting, got.Unchanged = slices.DeleteFunc(got.Changes, others), slices.DeleteFunc(got.Waiting, others), 0
	got.Created, got.Updated, got.Proposed = 0, 0, 0
	for i := range got.Changes {
		switch got.Changes[i].Action {
		case "create":
			got.Created++
		case "update":
			got.Updated++
		case "propose":
			got.Proposed++
		}
	}
	got.Notices = slices.DeleteFunc(got.Notices, func(notice string) bool { return slices.Contains(p.total.Notices, notice) })
	p.add(&got)
	p.sent += len(part.rules) + len(part.cases)
	p.show(min(p.sent, p.all), p.all)
	return nil
}

// renumbered returns an error with the places of rules and cases in the whole file, and more to say.
func renumbered(err error, more string, rules, cases func(int) int) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return err
	}
	moved := *e
	moved.Fields = slices.Clone(e.Fields)
	moved.Message += more
	for i := range moved.Fields {
		f := &moved.Fields[i]
		f.Field, f.Message = inWhole(f.Field, rules, cases), inWhole(f.Message, rules, cases)
	}
	return &moved
}
