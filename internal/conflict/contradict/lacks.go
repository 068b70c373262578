package contradict

import "tenet/internal/norm"

// lacks finds a permission to act without what the other clause demands: "Invoices may be paid without approval" beside "Invoices must be approved
// before payment".
func lacks(a, b *norm.Clause) (Finding, bool) {
	for _, pair := range [][2]*norm.Clause{{a, b}, {b, a}} {
		free, demand := pair[0], pair[1]
		if len(free.Without) == 0 || free.Own.Negative || free.Waives || demand.Negative || demand.Force == norm.Permit || demand.Conditional || len(demand.Without) > 0 ||
			len(free.Quantities)+len(demand.Quantities) > 0 || len(demand.Condition) > 0 {
			continue
		}
		words := free.Words()
		demanded := demand.Words()
		if !free.Without.Within(demanded) || !within(stated(demanded), words) {
			continue
		}
		shared := false // a thing that both speak of, besides what is lacking
		for w := range demanded {
			shared = shared || words[w] && !free.Without[w] && w != free.Head
		}
		if !shared {
			continue
		}
		confidence := .7
		if demand.Force == norm.Recommend || free.Force == norm.Recommend {
			confidence *= .85
		}
		return Finding{Force, quoted(free) + " goes without what " + quoted(demand) + " demands", confidence, [2][]norm.Span{polarity(a), polarity(b)}}, true
	}
	return Finding{}, false
}

// stated returns the words of a demand without those that only say that it is one, or when.
func stated(s norm.Set) []string {
	var out []string
	for w := range s {
		switch w {
		case "requir", "need", "befor", "after", "first", "obtain":
		default:
			out = append(out, w)
		}
	}
	return out
}
