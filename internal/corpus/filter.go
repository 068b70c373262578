package corpus

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Filter selects rules of a list or a search. Empty fields select everything.
type Filter struct {
	Modality    rule.Modality
	Severity    rule.Severity
	Scope       string   // finds this scope path and those below it; see [rule.ScopeFinds]
	Tags        []string // all of them, in any letter case
	Status      rule.Status
	Statuses    []rule.Status // one of them
	Enforcement rule.Enforcement
	Owner       string
	Text        string // stands in the statement, the rationale or the slug, in any letter case
	Checked     *bool  // whether the rule has a check
	// Where is one more condition. It is called only for rules that all else selects, possibly from several goroutines.
	Where func(*rule.Rule) bool
}

// Matches reports whether a rule is selected.
func (f *Filter) Matches(r *rule.Rule) bool {
	if (f.Modality != "" && r.Modality != f.Modality) || (f.Severity != "" && r.Severity != f.Severity) ||
		(f.Status != "" && r.Status != f.Status) || (len(f.Statuses) > 0 && !slices.Contains(f.Statuses, r.Status)) ||
		(f.Enforcement != "" && r.Enforcement != f.Enforcement) || (f.Checked != nil && *f.Checked != (r.Check != nil)) ||
		(f.Owner != "" && r.Owner != f.Owner) || !rule.ScopeFinds(r.Scope, f.Scope) {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.ContainsFunc(r.Tags, func(have string) bool { return strings.EqualFold(have, tag) }) {
			return false
		}
	}
	return f.matchesText(r) && (f.Where == nil || f.Where(r))
}

func (f *Filter) matchesText(r *rule.Rule) bool {
	if f.Text == "" {
		return true
	}
	q := strings.ToLower(f.Text)
	return strings.Contains(strings.ToLower(r.Statement), q) || strings.Contains(strings.ToLower(r.Rationale), q) ||
		strings.Contains(strings.ToLower(r.Slug), q)
}

// restrict unmarks the documents of a segment that f does not select.
func (f *Filter) restrict(s *segment, docs bitset) {
	docs.each(func(doc int32) {
		if !f.Matches(s.entries[doc].Rule) {
			docs[doc>>6] &^= 1 << (doc & 63)
		}
	})
}
