package corpus_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newRule makes a rule in force; edit changes it.
func newRule(n int, edit func(*rule.Rule)) store.RuleState {
	r := rule.Rule{
		ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), Slug: fmt.Sprintf("R-%d", n), Version: 1,
		Statement: fmt.Sprintf("Rule number %d holds.", n), Status: rule.Effective,
	}
	if edit != nil {
		edit(&r)
	}
	r.Normalize()
	return store.RuleState{Rule: r}
}

func view(t testing.TB, states ...store.RuleState) *corpus.View {
	t.Helper()
	v, err := corpus.New(1, states)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func slugs(matches []corpus.Match) []string {
	out := []string{}
	for _, m := range matches {
		out = append(out, m.Rule.Slug)
	}
	slices.Sort(out)
	return out
}

func TestApplicableByScope(t *testing.T) {
	v := view(t,
		newRule(1, nil),
		newRule(2, func(r *rule.Rule) { r.Scope = []string{"*"} }),
		newRule(3, func(r *rule.Rule) { r.Scope = []string{"finance"} }),
		newRule(4, func(r *rule.Rule) { r.Scope = []string{"finance/payments"} }),
		newRule(5, func(r *rule.Rule) { r.Scope = []string{"*/payments", "finance/payments"} }),
		newRule(6, func(r *rule.Rule) { r.Scope = []string{"fin"} }),
	)
	for _, tt := range []struct {
		scope string
		want  []string
	}{
		{"", []string{"R-1", "R-2", "R-3", "R-4", "R-5", "R-6"}},
		{"finance", []string{"R-1", "R-2", "R-3"}},
		{"finance/payments", []string{"R-1", "R-2", "R-3", "R-4", "R-5"}},
		{"finance/payments/eu", []string{"R-1", "R-2", "R-3", "R-4", "R-5"}},
		{"sales/payments", []string{"R-1", "R-2", "R-5"}},
		{"financed", []string{"R-1", "R-2"}},
	} {
		t.Run(tt.scope, func(t *testing.T) {
			got := v.Applicable(&corpus.Query{Now: noon, Scope: tt.scope})
			if diff := cmp.Diff(tt.want, slugs(got)); diff != "" {
				t.Errorf("rules in scope %q (-want +got):\n%s", tt.scope, diff)
			}
		})
	}
}

func TestApplicableOnlyWhatIsInForceAndBinding(t *testing.T) {
	before, after := noon.Add(-time.Hour), noon.Add(time.Hour)
	v := view(t,
		newRule(1, nil),
		newRule(2, func(r *rule.Rule) { r.Status = rule.Approved }),
		newRule(3, func(r *rule.Rule) { r.Status = rule.Draft }),
		newRule(4, func(r *rule.Rule) { r.Status = rule.Retired }),
		newRule(5, func(r *rule.Rule) { r.EffectivePeriod.From = &after }),
		newRule(6, func(r *rule.Rule) { r.EffectivePeriod.Until = &before }),
		newRule(7, func(r *rule.Rule) { r.EffectivePeriod.From = &noon }),
		newRule(8, func(r *rule.Rule) { r.EffectivePeriod.Until = &noon }),
		newRule(9, func(r *rule.Rule) { r.Severity = rule.Low }),
		newRule(10, func(r *rule.Rule) { r.Modality = rule.May }),
	)
	got := v.Applicable(&corpus.Query{Now: noon, SeverityMin: rule.Medium})
	if diff := cmp.Diff([]string{"R-1", "R-2", "R-7"}, slugs(got)); diff != "" {
		t.Errorf("judged rules (-want +got):\n%s", diff)
	}
	got = v.Applicable(&corpus.Query{Now: noon, SeverityMin: rule.Low, Context: true})
	if diff := cmp.Diff([]string{"R-1", "R-10", "R-2", "R-7", "R-9"}, slugs(got)); diff != "" {
		t.Errorf("with context (-want +got):\n%s", diff)
	}
}

func TestApplicableByAppliesTo(t *testing.T) {
	v := view(t,
		newRule(1, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"**/*.py"}} }),
		newRule(2, func(r *rule.Rule) {
			r.AppliesTo = &rule.AppliesTo{Paths: []string{"*.py"}, ExcludePaths: []string{"tests/**"}}
		}),
		newRule(3, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Kinds: []string{"facts"}} }),
		newRule(4, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Repositories: []string{"acme/*"}} }),
		newRule(5, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{ExcludePaths: []string{"docs/**"}} }),
		newRule(6, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Tools: []string{"files/write_*", "push"}} }),
	)
	calls := []subject.Kind{subject.ToolCall}
	for _, tt := range []struct {
		name  string
		query corpus.Query
		want  []string
	}{
		{"a Python file", corpus.Query{Kinds: []subject.Kind{subject.CodeChange}, Paths: []string{"a/b.py"}}, []string{"R-1", "R-2", "R-4", "R-5"}},
		{"facts beside an excluded file", corpus.Query{Kinds: []subject.Kind{subject.CodeChange, subject.Facts}, Paths: []string{"docs/x.md"}, Beside: true}, []string{"R-3", "R-4", "R-5"}},
		{"only an excluded file", corpus.Query{Kinds: []subject.Kind{subject.CodeChange}, Paths: []string{"docs/x.md"}}, []string{"R-4"}},
		{"an excluded file", corpus.Query{Kinds: []subject.Kind{subject.CodeChange}, Paths: []string{"tests/b.py"}}, []string{"R-1", "R-4", "R-5"}},
		{"facts only", corpus.Query{Kinds: []subject.Kind{subject.Facts}}, []string{"R-3", "R-4", "R-5"}},
		{"another repository", corpus.Query{Kinds: []subject.Kind{subject.CodeChange}, Paths: []string{"b.py"}, Repository: "other/x"}, []string{"R-1", "R-2", "R-5"}},
		{"nothing known", corpus.Query{AnyKind: true, AnyPath: true}, []string{"R-1", "R-2", "R-3", "R-4", "R-5", "R-6"}},
		{"a tool", corpus.Query{Kinds: calls, Beside: true, Tool: &corpus.Tool{Server: "Files", Name: "write_file"}}, []string{"R-4", "R-5", "R-6"}},
		{"a tool of any server", corpus.Query{Kinds: calls, Beside: true, Tool: &corpus.Tool{Server: "git", Name: "push"}}, []string{"R-4", "R-5", "R-6"}},
		{"another tool", corpus.Query{Kinds: calls, Beside: true, Tool: &corpus.Tool{Server: "files", Name: "read_file"}}, []string{"R-4", "R-5"}},
		{"any tool", corpus.Query{Kinds: calls, Beside: true, AnyTool: true}, []string{"R-4", "R-5", "R-6"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.Now = noon
			got := v.Applicable(&tt.query)
			if diff := cmp.Diff(tt.want, slugs(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRankPrefersWhatTheSubjectIsAbout(t *testing.T) {
	v := view(t,
		newRule(1, func(r *rule.Rule) { r.Statement = "Travel in business class needs approval." }),
		newRule(2, func(r *rule.Rule) { r.Statement = "Passwords must not be logged." }),
		newRule(3, func(r *rule.Rule) { r.Statement = "Invoices need a purchase order."; r.Severity = rule.Critical }),
	)
	got := v.Applicable(&corpus.Query{Now: noon, Terms: []string{`log.Info("user", userPassword)`}})
	if got[0].Rule.Slug != "R-2" {
		t.Errorf("first is %s, want the rule about passwords", got[0].Rule.Slug)
	}
	got = v.Applicable(&corpus.Query{Now: noon})
	if got[0].Rule.Slug != "R-3" {
		t.Errorf("without words, first is %s, want the CRITICAL rule", got[0].Rule.Slug)
	}
}

func overrides(s store.RuleState, to int) store.RuleState {
	s.Relationships = append(s.Relationships, rule.Relationship{
		FromID: s.Rule.ID, ToID: newRule(to, nil).Rule.ID, Kind: rule.Overrides,
	})
	return s
}

func TestOverriddenRulesAreSilencedAndNamed(t *testing.T) {
	v := view(t,
		newRule(1, nil),
		overrides(newRule(2, nil), 1),
		overrides(newRule(3, nil), 2),
		overrides(newRule(4, func(r *rule.Rule) { r.Enforcement = rule.Shadow }), 5),
		newRule(5, nil),
		overrides(newRule(6, nil), 7),
		overrides(newRule(7, nil), 6),
		overrides(newRule(8, func(r *rule.Rule) { r.Status = rule.Draft }), 3),
	)
	if diff := cmp.Diff(map[string]string{"R-1": "R-2", "R-2": "R-3"}, silenced(v, corpus.Query{})); diff != "" {
		t.Errorf("silenced (-want +got):\n%s", diff)
	}
}

// silenced tells by slug which rules others silence.
func silenced(v *corpus.View, q corpus.Query) map[string]string {
	q.Now = noon
	matches := v.Applicable(&q)
	out := map[string]string{}
	silencers, _ := corpus.Silencers(&q, matches, func(int) bool { return true })
	for i, by := range silencers {
		if by >= 0 {
			out[matches[i].Rule.Slug] = matches[by].Rule.Slug
		}
	}
	return out
}

func TestARuleIsSilencedOnlyWhereTheOtherSurelyApplies(t *testing.T) {
	v := view(t,
		newRule(1, nil),
		overrides(newRule(2, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Paths: []string{"tests/**"}} }), 1),
		newRule(3, nil),
		overrides(newRule(4, func(r *rule.Rule) { r.Scope = []string{"sandbox"} }), 3),
		newRule(5, nil),
		overrides(newRule(6, func(r *rule.Rule) { r.AppliesTo = &rule.AppliesTo{Repositories: []string{"acme/play"}} }), 5),
	)
	code := []subject.Kind{subject.CodeChange}
	for _, tt := range []struct {
		name  string
		query corpus.Query
		want  map[string]string
	}{
		{"every file is covered", corpus.Query{Kinds: code, Paths: []string{"tests/a.py"}}, map[string]string{"R-1": "R-2"}},
		{"a file is not covered", corpus.Query{Kinds: code, Paths: []string{"tests/a.py", "src/b.py"}}, map[string]string{}},
		{"nothing known", corpus.Query{AnyKind: true, AnyPath: true}, map[string]string{}},
		{"in the scope", corpus.Query{Kinds: code, Scope: "sandbox/x"}, map[string]string{"R-3": "R-4"}},
		{"in the repository", corpus.Query{Kinds: code, Repository: "acme/play"}, map[string]string{"R-5": "R-6"}},
	} {
		if diff := cmp.Diff(tt.want, silenced(v, tt.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRankDoesNotDependOnHistory(t *testing.T) {
	statement := func(n int) func(*rule.Rule) {
		return func(r *rule.Rule) { r.Statement = fmt.Sprintf("Payments of kind%d need approval%d.", n%3, n%7) }
	}
	v := view(t)
	var last []store.RuleState
	var err error
	for round := range 3 {
		last = nil
		for n := range 40 {
			last = append(last, newRule(n, statement(n+round)))
		}
		if v, err = v.Apply(int64(round+1), last); err != nil {
			t.Fatal(err)
		}
		if v, err = v.Apply(int64(round+1), last[:3]); err != nil {
			t.Fatal(err)
		}
	}
	q := &corpus.Query{Now: noon, Terms: []string{"kind1 approval4 kind2"}}
	want, got := view(t, last...).Applicable(q), v.Applicable(q)
	for i := range want {
		if want[i].Rule.ID != got[i].Rule.ID || want[i].Score != got[i].Score {
			t.Fatalf("place %d: %s %v, want %s %v", i, got[i].Rule.Slug, got[i].Score, want[i].Rule.Slug, want[i].Score)
		}
	}
}

// Of many candidates the postings of rare words are read, of a few their texts: the scores are the same.
func TestRankDoesNotDependOnTheNumberOfCandidates(t *testing.T) {
	var states []store.RuleState
	for n := range 60 {
		states = append(states, newRule(n, func(r *rule.Rule) {
			r.Scope = []string{"elsewhere"}
			if n%20 == 7 {
				r.Scope = []string{"here"}
			}
			r.Statement = fmt.Sprintf("Payments of kind%d need approval%d.", n%3, n%7)
			if n == 7 {
				r.Statement = "Ledger kind1 kind2 approval4 " + strings.Repeat("kind1 ", 300)
			}
		}))
	}
	v := view(t, states...)
	scores := func(scope string) map[string]float64 {
		out := map[string]float64{}
		for _, m := range v.Applicable(&corpus.Query{Now: noon, Scope: scope, Terms: []string{"kind1 approval4 kind2 ledger"}}) {
			out[m.Rule.Slug] = m.Score
		}
		return out
	}
	few, all := scores("here"), scores("")
	if len(few) != 3 || len(all) != 60 {
		t.Fatalf("%d and %d rules apply", len(few), len(all))
	}
	// Scores are scaled to the best one, and each list has another: what is compared is the place of a rule between one without any of the words and one
	// with all of them.
	place := func(of map[string]float64) float64 { return (of["R-47"] - of["R-27"]) / (of["R-7"] - of["R-27"]) }
	if a, b := place(few), place(all); a <= 0.1 || a >= 0.9 || math.Abs(a-b) > 1e-9 {
		t.Errorf("R-47 is at %v between R-27 and R-7 among few, and at %v among all", a, b)
	}
}

// TestApplyEqualsRebuild changes a view step by step and compares it with one built anew: nothing may be lost, doubled or
// stale, whatever the segments look like.
func TestApplyEqualsRebuild(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	current := map[int]store.RuleState{}
	v := view(t)
	for step := range 400 {
		var changed []store.RuleState
		for range 1 + rng.IntN(5) {
			n := rng.IntN(300)
			s := newRule(n, func(r *rule.Rule) {
				r.Version = step + 1
				r.Statement = fmt.Sprintf("Rule %d says word%d.", n, rng.IntN(20))
				r.Scope = []string{[]string{"a", "a/b", "c", "*"}[rng.IntN(4)]}
				if rng.IntN(10) == 0 {
					r.Status = rule.Retired
				}
			})
			if slices.ContainsFunc(changed, func(c store.RuleState) bool { return c.Rule.ID == s.Rule.ID }) {
				continue
			}
			current[n] = s
			changed = append(changed, s)
		}
		var err error
		if v, err = v.Apply(int64(step+2), changed); err != nil {
			t.Fatal(err)
		}
		if v.Len() != len(current) {
			t.Fatalf("step %d: the view has %d rules, want %d", step, v.Len(), len(current))
		}
	}
	var all []store.RuleState
	for _, s := range current {
		all = append(all, s)
	}
	fresh := view(t, all...)
	got, _ := v.List(corpus.Filter{}, 0, 1000)
	want, _ := fresh.List(corpus.Filter{}, 0, 1000)
	if diff := cmp.Diff(rulesOf(want), rulesOf(got)); diff != "" {
		t.Errorf("listed rules (-want +got):\n%s", diff)
	}
	query := &corpus.Query{Now: noon, Scope: "a/b"}
	a := v.Applicable(query)
	b := fresh.Applicable(query)
	if diff := cmp.Diff(slugs(b), slugs(a)); diff != "" {
		t.Errorf("applicable rules (-want +got):\n%s", diff)
	}
	for n, s := range current {
		e, ok := v.Get(s.Rule.ID)
		if !ok || e.Rule.Version != s.Rule.Version {
			t.Errorf("rule %d by id: found %v", n, ok)
		}
		if _, ok := v.Get(s.Rule.Slug); ok == (s.Rule.Status == rule.Retired) {
			t.Errorf("rule %d (%s) by slug: found %v", n, s.Rule.Status, ok)
		}
	}
}

func rulesOf(entries []*corpus.Entry) []rule.Rule {
	out := make([]rule.Rule, len(entries))
	for i, e := range entries {
		out[i] = *e.Rule
	}
	return out
}

func TestApplyLeavesTheOldViewAlone(t *testing.T) {
	old := view(t, newRule(1, nil), newRule(2, nil))
	next, err := old.Apply(2, []store.RuleState{newRule(1, func(r *rule.Rule) { r.Status = rule.Retired })})
	if err != nil {
		t.Fatal(err)
	}
	before := old.Applicable(&corpus.Query{Now: noon})
	after := next.Applicable(&corpus.Query{Now: noon})
	if len(before) != 2 || len(after) != 1 || old.Version() != 1 || next.Version() != 2 {
		t.Errorf("old view gives %d rules at %d, new one %d at %d; want 2 at 1 and 1 at 2", len(before), old.Version(), len(after), next.Version())
	}
}

func TestListFiltersAndPages(t *testing.T) {
	yes := true
	v := view(t,
		newRule(1, func(r *rule.Rule) { r.Tags = []string{"Security", "aws"}; r.Owner = "platform" }),
		newRule(2, func(r *rule.Rule) { r.Scope = []string{"finance/payments"}; r.Severity = rule.High }),
		newRule(3, func(r *rule.Rule) { r.Check = &rule.Check{CEL: "true"}; r.Status = rule.Draft }),
		newRule(4, func(r *rule.Rule) {
			r.Modality = rule.Should
			r.Enforcement = rule.Warn
			r.Rationale = "Because of Tides."
		}),
	)
	for _, tt := range []struct {
		name   string
		filter corpus.Filter
		want   string
	}{
		{"tags, all of them", corpus.Filter{Tags: []string{"security", "AWS"}}, "R-1"},
		{"owner", corpus.Filter{Owner: "platform"}, "R-1"},
		{"scope finds what lies below", corpus.Filter{Scope: "finance"}, "R-2"},
		{"scope does not find what lies above", corpus.Filter{Scope: "finance/payments/eu"}, ""},
		{"severity", corpus.Filter{Severity: rule.High}, "R-2"},
		{"status", corpus.Filter{Status: rule.Draft}, "R-3"},
		{"check", corpus.Filter{Checked: &yes}, "R-3"},
		{"modality and enforcement", corpus.Filter{Modality: rule.Should, Enforcement: rule.Warn}, "R-4"},
		{"text in any case", corpus.Filter{Text: "tIDES"}, "R-4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, total := v.List(tt.filter, 0, 10)
			names := []string{}
			for _, e := range got {
				names = append(names, e.Rule.Slug)
			}
			if s := strings.Join(names, " "); s != tt.want || total != len(got) {
				t.Errorf("found %q of %d, want %q", s, total, tt.want)
			}
		})
	}
	page, total := v.List(corpus.Filter{}, 2, 1)
	if total != 4 || len(page) != 1 || page[0].Rule.Slug != "R-3" {
		t.Errorf("the third page of one: %v of %d", page, total)
	}
}
