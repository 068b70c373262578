package health

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// grouped collects the counts of groups, their parts and repositories.
type grouped struct {
	// team returns the owner of a rule; nil makes all rules those of nobody.
	team         func(ruleID string) string
	groups       map[groupKey]*store.GroupCount
	parts        map[partKey]int64
	repositories map[string]*store.RepositoryCount
}

type groupKey struct {
	dimension store.Dimension
	day       store.Day
	name      string
}

type partKey struct {
	groupKey
	part string
}

func newGrouped() grouped {
	return grouped{groups: map[groupKey]*store.GroupCount{}, parts: map[partKey]int64{}, repositories: map[string]*store.RepositoryCount{}}
}

// Bounds of names in counts. Longer ones are cut, so that nobody fills the tables with a few requests.
const (
	maxName = 256  // bytes of an owner, node or action
	maxPath = 1024 // bytes of a repository
)

func (g *grouped) add(d store.Dimension, day store.Day, name string, v rule.Verdict) {
	k := groupKey{d, day, name}
	c := g.groups[k]
	if c == nil {
		c = &store.GroupCount{Day: day, Dimension: d, Name: name}
		g.groups[k] = c
	}
	count(v, &c.Allowed, &c.Denied, &c.Unsure)
}

func (g *grouped) part(d store.Dimension, day store.Day, name, part string, n int64) {
	if n > 0 {
		g.parts[partKey{groupKey{d, day, name}, part}] += n
	}
}

// group counts an evaluation by its node and repository, its verdicts by the teams of their rules, and what is undecided by reason.
func (g *grouped) group(e *store.AuditEntry, rec *recorded) {
	day, node := store.DayOf(e.At), cut(rec.Evaluation.NodeID, maxName)
	g.add(store.OfNode, day, node, storedVerdict(e.Verdict))
	for _, reason := range rec.Evaluation.Undecided() {
		g.part(store.OfProject, day, "", string(reason), 1)
		g.part(store.OfNode, day, node, string(reason), 1)
	}
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		team := ""
		if g.team != nil {
			team = cut(g.team(v.RuleID), maxName)
		}
		g.add(store.OfTeam, day, team, v.Verdict)
		if reason := v.Undecided(); reason != "" {
			g.part(store.OfTeam, day, team, string(reason), 1)
		}
		if v.Verdict == rule.Deny {
			g.part(store.OfNodeRule, day, node, cut(v.RuleID, maxName), 1)
		}
	}
	if id := rec.Evaluation.Identity; id != nil {
		g.actors(store.OfAgent, store.OfAgentRule, e, rec, id.Agents())
		g.actors(store.OfPerson, store.OfPersonRule, e, rec, []string{id.Person})
	}
	if name := cut(rule.CleanRepository(rec.Subject.Repository), maxPath); name != "" {
		g.repository(e, name, node)
	}
}

// actors counts an evaluation by the names of its agents, or of the person for whom they acted.
func (g *grouped) actors(of, ofRule store.Dimension, e *store.AuditEntry, rec *recorded, names []string) {
	day, counted := store.DayOf(e.At), map[string]bool{}
	for _, name := range names {
		name = cut(rule.FoldName(name), maxName)
		if name == "" || counted[name] {
			continue
		}
		counted[name] = true
		g.add(of, day, name, storedVerdict(e.Verdict))
		for _, reason := range rec.Evaluation.Undecided() {
			g.part(of, day, name, string(reason), 1)
		}
		for i := range rec.Evaluation.RuleVerdicts {
			if v := &rec.Evaluation.RuleVerdicts[i]; v.Verdict == rule.Deny {
				g.part(ofRule, day, name, cut(v.RuleID, maxName), 1)
			}
		}
	}
}

// onlyActors leaves the counts of agents and people.
func onlyActors(c *store.Counts) {
	actors := func(d store.Dimension) bool {
		return d == store.OfAgent || d == store.OfPerson || d == store.OfAgentRule || d == store.OfPersonRule
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(n store.GroupCount) bool { return !actors(n.Dimension) })
	c.Parts = slices.DeleteFunc(c.Parts, func(n store.PartCount) bool { return !actors(n.Dimension) })
	c.Repositories = nil
}

func (g *grouped) repository(e *store.AuditEntry, name, node string) {
	r := g.repositories[name]
	if r == nil {
		r = &store.RepositoryCount{Repository: name, FirstAt: e.At}
		g.repositories[name] = r
	}
	count(storedVerdict(e.Verdict), &r.Allowed, &r.Denied, &r.Unsure)
	if e.At.Before(r.FirstAt) {
		r.FirstAt = e.At
	}
	if !e.At.Before(r.LastAt) {
		r.LastAt, r.LastID, r.LastVerdict, r.NodeID = e.At, e.ID, e.Verdict, node
	}
}

// change counts an entry that is no evaluation by its kind and action. An import counts its rules.
func (g *grouped) change(e *store.AuditEntry) error {
	if len(e.Body) == 0 {
		return nil
	}
	body, err := audit.Body(*e)
	if err != nil {
		return err
	}
	var b struct {
		Action  string `json:"action"`
		Created int64  `json:"created"`
		Updated int64  `json:"updated"`
		Retired int64  `json:"retired"`
	}
	day, kind := store.DayOf(e.At), cut(e.Kind, maxName)
	if err := json.Unmarshal(body, &b); err != nil || e.Kind != audit.KindImport {
		g.part(store.OfChange, day, kind, cut(b.Action, maxName), 1) // a body of another shape is counted by its kind
		return nil
	}
	g.part(store.OfChange, day, kind, "created", b.Created)
	g.part(store.OfChange, day, kind, "updated", b.Updated)
	g.part(store.OfChange, day, kind, "retired", b.Retired)
	return nil
}

// into puts the counts in a fixed order, in which all nodes touch rows.
func (g *grouped) into(c *store.Counts) {
	for _, n := range g.groups {
		c.Groups = append(c.Groups, *n)
	}
	slices.SortFunc(c.Groups, func(a, b store.GroupCount) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Name, b.Name))
	})
	for k, n := range g.parts {
		c.Parts = append(c.Parts, store.PartCount{Day: k.day, Dimension: k.dimension, Name: k.name, Part: k.part, Count: n})
	}
	slices.SortFunc(c.Parts, func(a, b store.PartCount) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
	})
	for _, r := range g.repositories {
		c.Repositories = append(c.Repositories, *r)
	}
	slices.SortFunc(c.Repositories, func(a, b store.RepositoryCount) int { return cmp.Compare(a.Repository, b.Repository) })
}

// cut makes a text fit to be a name: valid, without NUL, and not longer than so many bytes.
func cut(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
