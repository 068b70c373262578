package catalog

import (
	"slices"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Join makes one file of several, in their order, each rule with the defaults of its own file; nodes of one name are one node. An error names the place in
// the joined file.
func Join(files []*wire.RuleFile) (*wire.RuleFile, error) {
	joined := &wire.RuleFile{}
	var p rule.Problems
	for _, f := range files {
		if !isGeneral(f.Defaults) {
			p.Add("defaults", "must not have id, slug, statement or relationships: they belong to one rule")
		}
		rules := slices.Clone(f.Rules)
		for i := range rules {
			rules[i] = withDefaults(f, rules[i])
		}
		joined.Rules = appendKnown(joined.Rules, rules)
		joined.Cases = append(joined.Cases, f.Cases...)
		joined.Federation = appendKnown(joined.Federation, f.Federation)
	}
	return joined, p.Err("the rule file is invalid")
}

// isGeneral reports whether defaults hold only what several rules can share.
func isGeneral(in *wire.RuleInput) bool {
	return in == nil || (in.ID == "" && in.Slug == nil && in.Statement == "" && in.Relationships == nil)
}

// appendKnown appends lists of which nil says nothing and an empty one says none.
func appendKnown[T any](list, more []T) []T {
	if more == nil {
		return list
	}
	return append(append(make([]T, 0, len(list)+len(more)), list...), more...)
}
