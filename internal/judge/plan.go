package judge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// plan holds the settings that a decision follows from. Every call records it, so that a replay follows them too.
type plan struct {
	profile                     Profile
	bytes, parts, batch, tokens int
	model, confirm              string
}

func (c *Config) plan() plan {
	p := plan{profile: c.Profile, bytes: c.MaxSubjectBytes, parts: c.MaxParts, batch: c.BatchSize, tokens: c.MaxTokens, model: c.Model.ID()}
	if p.small() {
		p.batch = 1
	}
	if p.confirm = p.model; c.Confirm != nil {
		p.confirm = c.Confirm.ID()
	}
	return p
}

// small reports whether one rule is asked about at a time.
func (p *plan) small() bool { return p.profile == Small }

// callsEach is how many calls a batch takes at most, without repairs and second looks.
func (p *plan) callsEach() int {
	if p.small() {
		return smallShare
	}
	return 1
}

// firstModel returns the first model of a chain, whose id has commas between; the others are its fallbacks.
func firstModel(id string) string {
	first, _, _ := strings.Cut(id, ",")
	return first
}

// String writes a plan as it is recorded.
func (p plan) String() string {
	return fmt.Sprintf("%s bytes=%d parts=%d batch=%d tokens=%d model=%q confirm=%q", PromptVersionOf(p.profile), p.bytes, p.parts, p.batch, p.tokens, p.model, p.confirm)
}

// parsePlan reads a recorded plan. It fails for one of another prompt version.
func parsePlan(s string) (p plan, ok bool) {
	version, rest, _ := strings.Cut(s, " ")
	switch version {
	case PromptVersion:
	case SmallPromptVersion:
		p.profile = Small
	default:
		return p, false
	}
	n, err := fmt.Sscanf(rest, "bytes=%d parts=%d batch=%d tokens=%d model=%q confirm=%q", &p.bytes, &p.parts, &p.batch, &p.tokens, &p.model, &p.confirm)
	return p, err == nil && n == 6 && p.bytes > 0 && p.parts > 0 && p.batch > 0
}

// seedOf returns the hash of a request: all that the model is shown except fence and control. It does not depend on ids or
// on the order of the rules as given.
func seedOf(plan string, l *layout, contents []string) (seed [32]byte) {
	sum := sha256.New()
	field := func(s string) {
		sum.Write([]byte(s))
		sum.Write([]byte{0})
	}
	field(plan)
	for _, s := range slices.Sorted(slices.Values(contents)) {
		field(s)
	}
	field(l.lead)
	for i := range l.units {
		field(l.units[i].head)
		field(l.units[i].text)
	}
	sum.Sum(seed[:0])
	return seed
}

// shuffle returns the order in which rules are asked about. Models favour the first; an order that follows from the content
// alone spreads that without making equal requests differ.
func shuffle(seed [32]byte, contents []string) []int {
	keys := make([][32]byte, len(contents))
	for i := range contents {
		keys[i] = sha256.Sum256(append(seed[:], contents[i]...))
	}
	order := indices(len(contents))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(bytes.Compare(keys[a][:], keys[b][:]), a-b) })
	return order
}

// indices returns 0 to n-1.
func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// group holds rules that are asked about the same units.
type group struct {
	rules  []int // in the order in which they are asked
	units  []int
	parts  []part
	whole  bool   // the units are those of the whole subject
	others string // names the files of units that are not shown, for the model
}

// groups sorts rules by the units that each needs: need[i] for the rule i. A rule that needs none is in no group. Groups are
// in the order of their first rules, which is that of the seed.
func (d *decision) groups(need [][]int) []*group {
	var out []*group
	byUnits := map[string]*group{}
	for _, i := range shuffle(d.seed, d.contents) {
		if len(need[i]) == 0 {
			continue
		}
		key := fmt.Sprint(need[i])
		g := byUnits[key]
		if g == nil {
			g = &group{units: need[i], whole: len(need[i]) == len(d.layout.units)}
			g.parts = d.layout.pack(g.units)
			if !g.whole {
				g.others = d.layout.others(g.units)
			}
			byUnits[key] = g
			out = append(out, g)
		}
		g.rules = append(g.rules, i)
	}
	return out
}

// newBatches plans the calls about a group: every batch of its rules on every part. Those beyond the bound on tokens are not
// asked.
func (d *decision) newBatches(g *group, purpose string) []*batch {
	var out []*batch
	for p := range g.parts {
		for _, members := range batchRules(d.rules, g.rules, d.plan.batch) {
			b := &batch{d: d, group: g, part: p, purpose: purpose, members: members, outcomes: make([]outcome, len(members))}
			first := undecided("The rule was not reached.")
			if b.withinBudget = d.spend(d.estimate(g.parts[p], members)); !b.withinBudget {
				first = undecided(fmt.Sprintf("The model was not asked: the evaluation would take more than the %d tokens that it may.", d.plan.tokens))
			}
			for n := range b.outcomes {
				b.outcomes[n] = first
			}
			out = append(out, b)
		}
	}
	return out
}

// maxBatchText bounds the rule text of one call in bytes, so that long statements do not push the subject out of a model's
// attention. A single longer rule goes alone.
const maxBatchText = 24_000

// batchRules groups rules in the given order into calls of at most size rules. CRITICAL rules go alone, so that nothing
// distracts from them and a fault in another rule's entry cannot touch them.
func batchRules(rules []*rule.Rule, order []int, size int) [][]int {
	var out [][]int
	var open []int
	text := 0
	for _, i := range order {
		r := rules[i]
		if r.Severity == rule.Critical {
			out = append(out, []int{i})
			continue
		}
		n := ruleSize(r)
		if len(open) == size || len(open) > 0 && text+n > maxBatchText {
			out, open, text = append(out, open), nil, 0
		}
		open, text = append(open, i), text+n
	}
	if len(open) > 0 {
		out = append(out, open)
	}
	return out
}

// ruleSize estimates how many bytes of a prompt a rule takes.
func ruleSize(r *rule.Rule) int {
	n := len(r.Statement) + len(r.Rationale)
	for _, e := range r.Exceptions {
		n += len(e)
	}
	for _, e := range r.Examples {
		n += len(e.Input) + len(e.Note)
	}
	return n
}

// estimate returns about how many tokens a call sends: four bytes are one.
func (d *decision) estimate(p part, members []int) int {
	n := len(systemText) + len(d.layout.lead) + 600
	if d.plan.small() {
		n += len(smallSystem) - len(systemText)
	}
	for _, i := range p.units {
		n += len(d.layout.units[i].head) + len(d.layout.units[i].text)
	}
	for _, i := range members {
		n += ruleSize(d.rules[i]) + 60
	}
	return n / 4 * d.plan.callsEach()
}

// spend takes tokens from the budget of the decision and reports whether it had enough.
func (d *decision) spend(tokens int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plan.tokens > 0 && d.spent+tokens > d.plan.tokens {
		return false
	}
	d.spent += tokens
	return true
}

// others names the files of all units but those given, which are in ascending order; at most some of them.
func (l *layout) others(shown []int) string {
	const most = 20
	var names []string
	count, more := map[string]int{}, 0
	for i := range l.units {
		if _, ok := slices.BinarySearch(shown, i); ok {
			continue
		}
		switch label := visible(l.units[i].label); {
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
			names[i] = fmt.Sprintf("%d hunks of %s", n, text.Clip(name, 200, ""))
		} else {
			names[i] = text.Clip(name, 200, "")
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
