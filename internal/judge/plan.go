package judge

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// plan holds the settings that a hearing follows from. It is recorded with every call, so that a replay follows them too.
type plan struct {
	bytes, parts, batch, tokens int
	model, confirm              string
}

func (c *Config) plan() plan {
	p := plan{bytes: c.MaxSubjectBytes, parts: c.MaxParts, batch: c.BatchSize, tokens: c.MaxTokens, model: c.Model.ID()}
	if p.confirm = p.model; c.Confirm != nil {
		p.confirm = c.Confirm.ID()
	}
	return p
}

// leading is the first model of a chain, whose id has commas between; others answer where it cannot.
func leading(id string) string {
	first, _, _ := strings.Cut(id, ",")
	return first
}

// String writes a plan as it is recorded.
func (p plan) String() string {
	return fmt.Sprintf("%s bytes=%d parts=%d batch=%d tokens=%d model=%q confirm=%q", PromptVersion, p.bytes, p.parts, p.batch, p.tokens, p.model, p.confirm)
}

// parsePlan reads a recorded plan. It fails for one of another prompt version.
func parsePlan(s string) (p plan, ok bool) {
	rest, ok := strings.CutPrefix(s, PromptVersion+" ")
	if !ok {
		return p, false
	}
	n, err := fmt.Sscanf(rest, "bytes=%d parts=%d batch=%d tokens=%d model=%q confirm=%q", &p.bytes, &p.parts, &p.batch, &p.tokens, &p.model, &p.confirm)
	return p, err == nil && n == 6 && p.bytes > 0 && p.parts > 0 && p.batch > 0
}

// open prepares a hearing: it does all that needs neither model nor kept verdicts.
func (j *Judge) open(s *subject.Subject, rules []*rule.Rule, p plan, redacted int) *hearing {
	h := &hearing{
		j: j, source: j, subject: s, rules: rules, plan: p, redacted: redacted, docket: cutUp(s, p.bytes, p.parts),
		contents: make([]string, len(rules)), matters: make([]matter, len(rules)),
	}
	for i, r := range rules {
		h.contents[i] = r.ContentHash()
	}
	h.suspicion = sync.OnceValue(func() string { return suspect(s) })
	h.orders = sync.OnceValue(func() string { return orders(s) })
	h.seed = seedOf(p, &h.docket, h.contents)
	h.nonce = j.nonceOf(h.seed)
	return h
}

// group is rules that are asked about the same units.
type group struct {
	rules  []int // in the order in which they are asked
	units  []int
	parts  []part
	whole  bool   // the units are all there are
	others string // names the files of units that are not shown, for the model
}

// groups sorts rules by the units that are asked for each: those at need[i] for the rule i. A rule that needs none is in no
// group. Groups come in the order of their first rules, which is that of the seed.
func (h *hearing) groups(need [][]int) []*group {
	var out []*group
	byUnits := map[string]*group{}
	for _, i := range shuffle(h.seed, h.contents) {
		if len(need[i]) == 0 {
			continue
		}
		key := fmt.Sprint(need[i])
		g := byUnits[key]
		if g == nil {
			g = &group{units: need[i], whole: len(need[i]) == len(h.docket.units)}
			g.parts = h.docket.pack(g.units)
			if !g.whole {
				g.others = h.docket.others(g.units)
			}
			byUnits[key] = g
			out = append(out, g)
		}
		g.rules = append(g.rules, i)
	}
	return out
}

// others names the files of all units but those given, which are in ascending order; at most some of them.
func (d *docket) others(shown []int) string {
	const most = 20
	var names []string
	count, more := map[string]int{}, 0
	for i := range d.units {
		if _, ok := slices.BinarySearch(shown, i); ok {
			continue
		}
		switch label := visible(d.units[i].label); {
		case count[label] > 0:
			count[label]++
		case len(names) == most:
			more++
		default:
			count[label] = 1
			names = append(names, label)
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%d hunks of %s", n, cut(name, 200))
		} else {
			names[i] = cut(name, 200)
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// sessions plans the calls about a group: every batch of its rules on every part. Those beyond the bound on tokens are
// closed from the start.
func (h *hearing) sessions(g *group, purpose string) []*session {
	var out []*session
	for p := range g.parts {
		for _, members := range batch(h.rules, g.rules, h.plan.batch) {
			s := &session{h: h, group: g, part: p, purpose: purpose, members: members, outcomes: make([]outcome, len(members))}
			s.admitted = h.spend(h.estimate(g.parts[p], members))
			for n := range s.outcomes {
				s.outcomes[n] = nothing("The rule was not reached.")
				if !s.admitted {
					s.outcomes[n] = nothing(fmt.Sprintf("The model was not asked: the evaluation would take more than the %d tokens that it may.", h.plan.tokens))
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// estimate is how many tokens a call sends, about: four bytes are one.
func (h *hearing) estimate(p part, members []int) int {
	n := len(systemText) + len(h.docket.lead) + 600
	for _, i := range p.units {
		n += len(h.docket.units[i].head) + len(h.docket.units[i].text)
	}
	for _, i := range members {
		n += ruleSize(h.rules[i]) + 60
	}
	return n / 4
}

// spend takes tokens from what the hearing may use and reports whether there were enough.
func (h *hearing) spend(tokens int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.plan.tokens > 0 && h.spent+tokens > h.plan.tokens {
		return false
	}
	h.spent += tokens
	return true
}
