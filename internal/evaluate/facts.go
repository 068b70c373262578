package evaluate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"tenet/internal/check"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Bounds of the list of facts.
const (
	maxFacts      = 500
	maxFactValues = 10
	maxFactRules  = 5
	maxFactValue  = 200 // bytes of an example
	maxUses       = 100_000
)

// useCache holds the uses of facts by the text of checks, which take 12 µs each to read. It forgets everything when it has maxUses
// entries. The zero value is ready to use.
type useCache struct {
	mu   sync.Mutex
	uses map[string][]check.FactUse
}

// get returns the uses of a check. The caller must not change them.
func (c *useCache) get(of *rule.Check) []check.FactUse {
	if of == nil || of.When == "" && of.CEL == "" {
		return nil
	}
	key := of.When + "\n" + of.CEL
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.uses[key]
	if ok {
		return found
	}
	if c.uses == nil || len(c.uses) >= maxUses {
		c.uses = map[string][]check.FactUse{}
	}
	found = check.FactUses(of)
	c.uses[key] = found
	return found
}

// Facts returns the facts that the checks of the rules that apply read. Rules that others override count: which ones do depends on the
// facts. The types are guesses from the text of the checks.
func (a *Applying) Facts(ctx context.Context, q ApplicableQuery) (wire.FactList, error) {
	_, matches, err := a.applicable(ctx, q, false)
	if err != nil {
		return wire.FactList{}, err
	}
	out := wire.FactList{Facts: []wire.ReadFact{}, RulesTotal: len(matches)}
	at := map[string]int{}
	for _, m := range matches {
		for _, use := range a.uses.get(m.Rule.Check) {
			name := use.Name()
			i, ok := at[name]
			if !ok {
				i = len(out.Facts)
				at[name] = i
				out.Facts = append(out.Facts, wire.ReadFact{Name: name, Path: use.Path, Type: string(check.UnknownFact), Values: []string{}, Rules: []string{}})
			}
			f := &out.Facts[i]
			if f.Type == string(check.UnknownFact) {
				f.Type = string(use.Type)
			}
			for _, v := range use.Values {
				if len(f.Values) < maxFactValues && len(v) <= maxFactValue && !slices.Contains(f.Values, v) {
					f.Values = append(f.Values, v)
				}
			}
			if f.RulesTotal++; len(f.Rules) < maxFactRules {
				f.Rules = append(f.Rules, m.Rule.Label())
			}
		}
	}
	slices.SortFunc(out.Facts, func(x, y wire.ReadFact) int {
		return cmp.Or(cmp.Compare(y.RulesTotal, x.RulesTotal), strings.Compare(x.Name, y.Name))
	})
	if len(out.Facts) > maxFacts {
		out.Omitted = len(out.Facts) - maxFacts
		out.Facts = out.Facts[:maxFacts:maxFacts]
	}
	return out, nil
}
