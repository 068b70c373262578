package search

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// attributesOf lists what the profile says, under the names that a scope may use.
func attributesOf(p wire.Profile) ([]attribute, error) {
	var out []attribute
	var problems rule.Problems
	for _, a := range []struct{ name, value string }{
		{"role", p.Role}, {"location", p.Location}, {"employment_type", p.EmploymentType}, {"department", p.Department},
	} {
		if a.value == "" {
			continue
		}
		path := segments(a.value)
		if len(path) == 0 {
			problems.Add(a.name, "names nothing; leave it out or give it a value such as manager or emea/germany")
			continue
		}
		out = append(out, attribute{segment(a.name), path})
	}
	return out, problems.Err("the profile is invalid")
}

// attribute is a value of a profile as scope segments: emea/germany has two.
type attribute struct {
	name string
	path []string
}

// How well a scope path contains a value.
const (
	byName     = 1.0
	byWildcard = 0.5
	// apart is the weight of a rule with no path that contains all values.
	apart = 0.8
)

// Profile finds the rules whose scope patterns contain every value of the profile: as a segment, as neighbouring segments,
// as role:manager or role=manager, or under a * segment. Letter case does not matter, nor whether words are joined by blanks,
// - or _. A rule without scope names nobody and is not found. Rules that name all values in one path come first.
func (s *Searcher) Profile(ctx context.Context, among Among, profile wire.Profile, p Page) (Result, error) {
	attributes, err := attributesOf(profile)
	if err != nil {
		return Result{}, err
	}
	view, among, err := s.view(ctx, among)
	if err != nil {
		return Result{}, err
	}
	known := map[string][]float64{}
	hits, total := corpus.ByScope(view, Filter{}.in(among), func(scope []string) float64 { return concerns(scope, attributes, known) }, p.Offset(), p.Size)
	out := Result{Items: make([]wire.RuleSearchItem, len(hits)), Total: total}
	for i, h := range hits {
		out.Items[i] = wire.RuleSearchItem{Rule: *h.Rule, Score: h.Score}
	}
	return out, nil
}

// concerns is how well a scope list contains all attributes; 0 if one is missing. Without attributes every rule will do. Known
// keeps how well each scope path contains each attribute: many rules share their paths.
func concerns(scope []string, attributes []attribute, known map[string][]float64) float64 {
	if len(attributes) == 0 {
		return 1
	}
	best := make([]float64, len(attributes)) // by any path
	whole := 0.0                             // by one path
	for _, path := range scope {
		contained, ok := known[path]
		if !ok {
			have := segments(path)
			for _, a := range attributes {
				contained = append(contained, a.in(have))
			}
			known[path] = contained
		}
		sum, all := 0.0, true
		for i, x := range contained {
			best[i] = max(best[i], x)
			sum, all = sum+x, all && x > 0
		}
		if all {
			whole = max(whole, sum)
		}
	}
	sum := 0.0
	for _, x := range best {
		if x == 0 {
			return 0
		}
		sum += x
	}
	return max(whole, apart*sum) / float64(len(attributes))
}

// in is how well a scope path contains the attribute.
func (a attribute) in(path []string) float64 {
	best := 0.0
	for at := 0; at+len(a.path) <= len(path); at++ {
		best = max(best, a.matches(path[at:at+len(a.path)]))
	}
	return best
}

func (a attribute) matches(run []string) float64 {
	score := byName
	for i, have := range run {
		switch {
		case have == a.path[i]:
		case len(a.path) == 1 && a.named(have):
		case have == "*":
			score = byWildcard
		default:
			return 0
		}
	}
	return score
}

// named reports whether a segment gives the attribute its name too, such as role:manager.
func (a attribute) named(have string) bool {
	name, value, ok := strings.Cut(have, ":")
	if !ok {
		name, value, ok = strings.Cut(have, "=")
	}
	return ok && strings.TrimSpace(name) == a.name && strings.TrimSpace(value) == a.path[0]
}

// segments splits a path into its segments in the form in which they are compared; empty ones are dropped.
func segments(path string) []string {
	list := strings.Split(path, "/")
	for i := range list {
		list[i] = segment(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

var joiners = strings.NewReplacer("_", " ", "-", " ")

// segment is lower case, with blanks between words.
func segment(s string) string {
	return text.OneLine(joiners.Replace(strings.ToLower(s)))
}
