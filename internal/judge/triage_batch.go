package judge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Bounds of triage.
const (
	// triageBatchSize is how many statements one call shows at most. Batches are halved, so they have 75 to 150 unless rules are few.
	triageBatchSize = 150
	// maxTriageText bounds the statements of one call in bytes. A single longer one goes alone.
	maxTriageText = 64_000
	// maxTriageCalls bounds the calls of one triage, repairs not counted: about 10,000 rules on a subject of one part.
	maxTriageCalls = 128
)

// triagePlan holds the settings that a triage follows from. Every call records it.
type triagePlan struct {
	bytes, parts, batch, calls, tokens int
	model                              string
}

func (c *Config) triagePlan() triagePlan {
	return triagePlan{bytes: c.MaxSubjectBytes, parts: c.MaxParts, batch: triageBatchSize, calls: maxTriageCalls, tokens: c.MaxTokens, model: c.Model.ID()}
}

// String writes a plan as it is recorded.
func (p triagePlan) String() string {
	return fmt.Sprintf("%s bytes=%d parts=%d batch=%d calls=%d tokens=%d model=%q", TriagePromptVersion, p.bytes, p.parts, p.batch, p.calls, p.tokens, p.model)
}

// parseTriagePlan reads a recorded plan. It fails for one of another prompt version.
func parseTriagePlan(s string) (p triagePlan, ok bool) {
	rest, ok := strings.CutPrefix(s, TriagePromptVersion+" ")
	if !ok {
		return p, false
	}
	n, err := fmt.Sscanf(rest, "bytes=%d parts=%d batch=%d calls=%d tokens=%d model=%q", &p.bytes, &p.parts, &p.batch, &p.calls, &p.tokens, &p.model)
	return p, err == nil && n == 6 && p.bytes > 0 && p.parts > 0 && p.batch > 0
}

// triageBatch holds the statements that calls show together. Rules with equal statements share one.
type triageBatch struct {
	t          *triage
	statements []statement
	key        string // hash of the statements

	// stored are the places of the statements that stored answers name; need are the units that no stored answer is about, in
	// ascending order, and calls those about them.
	stored []int
	need   []int
	calls  []*triageCall
	// refused says why calls are not made.
	refused string
}

// statement is the part of a rule that a model sees.
type statement struct {
	hash  [sha256.Size]byte
	rules []int // with this statement, the one with the least id first
}

// triageBatches puts rules into batches of at most size statements, which follow from the statements alone. A batch has the
// statements whose hashes begin with the same bits, as few as suffice: another rule changes one batch, or halves it, and all others
// are asked in the same words as before.
func triageBatches(rules []*rule.Rule, size int) []*triageBatch {
	byHash := map[[sha256.Size]byte]*statement{}
	for i, r := range rules {
		hash := sha256.Sum256([]byte(string(r.Modality) + "\x00" + r.Statement))
		s := byHash[hash]
		if s == nil {
			s = &statement{hash: hash}
			byHash[hash] = s
		}
		s.rules = append(s.rules, i)
	}
	all := make([]statement, 0, len(byHash))
	for _, s := range byHash {
		slices.SortFunc(s.rules, func(a, b int) int { return cmp.Or(cmp.Compare(rules[a].ID, rules[b].ID), a-b) })
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b statement) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	var out []*triageBatch
	var halve func(list []statement, bit int)
	halve = func(list []statement, bit int) {
		text := 0
		for i := range list {
			text += len(rules[list[i].rules[0]].Statement)
		}
		switch {
		case len(list) == 0:
		case len(list) == 1, len(list) <= size && text <= maxTriageText:
			out = append(out, newTriageBatch(list))
		default:
			middle := sort.Search(len(list), func(i int) bool { return list[i].hash[bit/8]>>(7-bit%8)&1 == 1 })
			halve(list[:middle], bit+1)
			halve(list[middle:], bit+1)
		}
	}
	halve(all, 0)
	return out
}

func newTriageBatch(list []statement) *triageBatch {
	hashes := make([]string, len(list))
	for i := range list {
		hashes[i] = string(list[i].hash[:])
	}
	return &triageBatch{statements: list, key: hashed(hashes...)}
}

// representatives are the first rules of all batches.
func (t *triage) representatives() []*rule.Rule {
	out := make([]*rule.Rule, len(t.batches))
	for i, b := range t.batches {
		out[i] = t.rules[b.statements[0].rules[0]]
	}
	return out
}

// plan plans the calls about the units that each batch needs. A batch is asked about wholly or not at all.
func (t *triage) plan(need func(*triageBatch) []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	groups := map[string]*group{}
	calls := 0
	for _, b := range t.batches {
		units := need(b)
		if len(units) == 0 {
			continue
		}
		key := fmt.Sprint(units)
		g := groups[key]
		if g == nil {
			g = &group{units: units, whole: len(units) == len(t.layout.units), parts: t.layout.pack(units)}
			if !g.whole {
				g.others = t.layout.others(units)
			}
			groups[key] = g
		}
		tokens := 0
		for p := range g.parts {
			tokens += t.estimate(b, &g.parts[p])
		}
		switch {
		case calls+len(g.parts) > t.settings.calls:
			b.refused = fmt.Sprintf("it would take more than %d calls", t.settings.calls)
			continue
		case !t.spend(tokens):
			b.refused = fmt.Sprintf("the evaluation would take more than the %d tokens that it may", t.settings.tokens)
			continue
		}
		calls += len(g.parts)
		for p := range g.parts {
			b.calls = append(b.calls, &triageCall{b: b, group: g, part: p, fault: triageUnasked})
		}
	}
}

// estimate returns about how many tokens a call sends: four bytes are one.
func (t *triage) estimate(b *triageBatch, p *part) int {
	n := len(triageSystem) + len(t.layout.lead) + 600
	for _, i := range p.units {
		n += len(t.layout.units[i].head) + len(t.layout.units[i].text)
	}
	for i := range b.statements {
		n += len(t.rules[b.statements[i].rules[0]].Statement) + 30
	}
	return n / 4
}

// spend takes tokens from the budget and reports whether it had enough. The caller holds the mutex.
func (t *triage) spend(tokens int) bool {
	if t.settings.tokens > 0 && t.spent+tokens > t.settings.tokens {
		return false
	}
	t.spent += tokens
	return true
}

// open returns why the batch has no answer about some unit; empty if it has all. The caller holds the mutex.
func (b *triageBatch) open() string {
	if b.refused != "" {
		return b.refused
	}
	for _, c := range b.calls {
		if c.fault != "" {
			return c.fault
		}
	}
	if len(b.calls) == 0 && (len(b.need) > 0 || b.need == nil) {
		return triageUnasked
	}
	return ""
}

// named reports for each statement whether an answer names it. The caller holds the mutex.
func (b *triageBatch) named() []bool {
	named := make([]bool, len(b.statements))
	mark(named, b.stored)
	for _, c := range b.calls {
		mark(named, c.named)
	}
	return named
}

// outcomes sets the outcomes of the rules in the batch. The caller holds the mutex.
func (b *triageBatch) outcomes(outcomes []wire.TriageOutcome) {
	open := b.open() != ""
	for at, named := range b.named() {
		for _, i := range b.statements[at].rules {
			switch {
			case named:
				outcomes[i] = wire.TriageKept
			case !open:
				outcomes[i] = wire.TriageRuledOut
			}
		}
	}
}
