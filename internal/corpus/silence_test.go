package corpus_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// A rule that demands less than another silences it only where the relationship allows that, whatever was stored before.
func TestAWeakerRuleSilencesNothingUnlessAllowed(t *testing.T) {
	critical := func(r *rule.Rule) { r.Severity = rule.Critical }
	for name, tt := range map[string]struct {
		weak, strong func(r *rule.Rule)
		want         string
	}{
		"severity":    {nil, critical, "severity MEDIUM instead of CRITICAL"},
		"modality":    {func(r *rule.Rule) { r.Modality = rule.Should }, nil, "modality SHOULD instead of MUST"},
		"enforcement": {func(r *rule.Rule) { r.Enforcement = rule.Warn }, nil, "enforcement warn instead of enforce"},
		"as strong":   {critical, critical, ""},
		"stronger":    {critical, nil, ""},
		"narrower":    {func(r *rule.Rule) { r.Tags = []string{"x"} }, func(r *rule.Rule) { r.Modality = rule.Should }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, allowed := range []bool{false, true} {
				by := overrides(newRule(2, tt.weak), 1)
				by.Relationships[0].AllowWeakening = allowed
				q := corpus.Query{Now: noon}
				matches := view(t, newRule(1, tt.strong), by).Applicable(&q)
				silencers, refused := corpus.Silencers(&q, matches, func(int) bool { return true })
				of := slices.IndexFunc(matches, func(m corpus.Match) bool { return m.Rule.Slug == "R-1" })
				var want []corpus.Refused
				if tt.want != "" && !allowed {
					want = []corpus.Refused{{By: 1 - of, Of: of, Ways: []string{tt.want}}}
				}
				if d := cmp.Diff(want, refused); d != "" {
					t.Errorf("allowed %t, refused (-want +got):\n%s", allowed, d)
				}
				if silenced := silencers[of] >= 0; silenced != (want == nil) {
					t.Errorf("allowed %t: silenced %t", allowed, silenced)
				}
			}
		})
	}
}

// To ask with a lower severity_min adds rules and takes none away: what decides with a higher one decides then too.
func TestPropertyALowerSeverityMinSilencesNoMore(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // the same corpora in every run
	remaining := func(v *corpus.View, least rule.Severity) map[string]bool {
		q := corpus.Query{Now: noon, SeverityMin: least}
		matches := v.Applicable(&q)
		silencers, _ := corpus.Silencers(&q, matches, func(int) bool { return true })
		out := map[string]bool{}
		for i, m := range matches {
			if silencers[i] < 0 {
				out[m.Rule.Slug] = true
			}
		}
		return out
	}
	silenced := 0
	for round := range 500 {
		const n = 8
		var states []store.RuleState
		for i := range n {
			s := newRule(i+1, func(r *rule.Rule) {
				r.Severity = rule.Severities[random.IntN(len(rule.Severities))]
				r.Modality = []rule.Modality{rule.Must, rule.MustNot, rule.Should}[random.IntN(3)]
				r.Enforcement = rule.Enforcements[random.IntN(len(rule.Enforcements))]
			})
			for range random.IntN(4) {
				s = overrides(s, random.IntN(n)+1)
			}
			states = append(states, s)
		}
		v := view(t, states...)
		for i := 1; i < len(rule.Severities); i++ {
			low, high := remaining(v, rule.Severities[i-1]), remaining(v, rule.Severities[i])
			for slug := range high {
				if !low[slug] {
					t.Fatalf("round %d: %s decides from %s, and not from %s", round, slug, rule.Severities[i], rule.Severities[i-1])
				}
			}
		}
		silenced += n - len(remaining(v, rule.Low))
	}
	if silenced < 500 {
		t.Errorf("only %d rules were silenced; the corpora test nothing", silenced)
	}
}
