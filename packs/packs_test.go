package packs_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tenet/internal/catalog"
	"tenet/internal/check"
	"tenet/internal/lint"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
	"tenet/packs"
)

// starter is a rule of a pack with its compiled check.
type starter struct {
	pack    string
	rule    rule.Rule
	program *check.Program
}

// load reads every pack as an import does: strictly, with its defaults joined in.
func load(t testing.TB) (all []packs.Pack, rules map[string]*starter) {
	t.Helper()
	all, err := packs.All()
	if err != nil {
		t.Fatal(err)
	}
	rules = map[string]*starter{}
	for _, p := range all {
		f, err := catalog.ParseYAML(p.Rules)
		if err != nil {
			t.Fatalf("pack %s: %v", p.Name, err)
		}
		for i := range f.Rules {
			r := joined(f, f.Rules[i])
			if rules[r.Slug] != nil {
				t.Errorf("pack %s: the slug %s is taken", p.Name, r.Slug)
			}
			rules[r.Slug] = &starter{pack: p.Name, rule: r}
		}
	}
	return all, rules
}

// joined makes a rule of an entry and the defaults of its file, normalized.
func joined(f *wire.RuleFile, in wire.RuleInput) rule.Rule {
	d := wire.RuleInput{}
	if f.Defaults != nil {
		d = *f.Defaults
	}
	r := rule.Rule{
		Statement: in.Statement, Modality: in.Modality, Severity: in.Severity, Status: in.Status, Check: in.Check,
		AppliesTo: in.AppliesTo, SourceRefs: in.SourceRefs, Tags: slices.Concat(d.Tags, in.Tags),
	}
	if in.Slug != nil {
		r.Slug = *in.Slug
	}
	if in.Rationale != nil {
		r.Rationale = *in.Rationale
	}
	if r.Modality == "" {
		r.Modality = d.Modality
	}
	if r.Status == "" {
		r.Status = d.Status
	}
	if r.AppliesTo == nil {
		r.AppliesTo = d.AppliesTo
	}
	r.Normalize()
	return r
}

func compiled(t testing.TB) ([]packs.Pack, map[string]*starter) {
	t.Helper()
	all, rules := load(t)
	for slug, s := range rules {
		if s.rule.Check == nil {
			t.Fatalf("%s has no check", slug)
		}
		var err error
		if s.program, err = check.Compile(s.rule.Check); err != nil {
			t.Errorf("%s: %v", slug, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return all, rules
}

func TestPacksHoldWhatTheyPromise(t *testing.T) {
	all, rules := load(t)
	decided := 0
	for _, s := range rules {
		if s.rule.Check != nil && s.rule.Check.Decides == rule.Both {
			decided++
		}
	}
	if len(all) < 8 || len(rules) < 80 || decided < 60 {
		t.Errorf("got %d packs, %d rules, %d of them decided by a check; want at least 8, 80, 60", len(all), len(rules), decided)
	}
	for _, p := range all {
		if p.Title == "" || p.Description == "" {
			t.Errorf("pack %s has no title or no description", p.Name)
		}
	}
}

func TestRulesAreValidAndExplained(t *testing.T) {
	_, rules := load(t)
	prefix := map[string]string{}
	for slug, s := range rules {
		r := s.rule
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", slug, err)
		}
		if r.Status != rule.Effective || !r.Judged() {
			t.Errorf("%s has status %s and modality %s; a starter rule is in force and judged", slug, r.Status, r.Modality)
		}
		if r.Rationale == "" || r.Check == nil || r.Check.Message == "" || r.Check.Fix == "" {
			t.Errorf("%s lacks a rationale, a message or a fix", slug)
		}
		own, _, _ := strings.Cut(slug, "-")
		if was, ok := prefix[own]; ok && was != s.pack {
			t.Errorf("%s: the prefix %s is used by the packs %s and %s", slug, own, was, s.pack)
		}
		prefix[own] = s.pack
		if r.AppliesTo.Empty() && r.Check.Pattern == nil {
			t.Errorf("%s: an expression without applies_to would be asked about everything", slug)
		}
		for _, kind := range kindsOf(&r) {
			if !slices.Contains(subject.Kinds, subject.Kind(kind)) || kind == string(subject.CodeChange) {
				t.Errorf("%s: the kind %s is unknown, or would bring code to a rule about facts", slug, kind)
			}
		}
	}
}

func kindsOf(r *rule.Rule) []string {
	if r.AppliesTo == nil {
		return nil
	}
	return r.AppliesTo.Kinds
}

// TestPatternsStayWithinTheirFiles keeps a pattern from matching in files of a change that its rule is not about.
func TestPatternsStayWithinTheirFiles(t *testing.T) {
	_, rules := load(t)
	for slug, s := range rules {
		p, a := s.rule.Check.Pattern, s.rule.AppliesTo
		if p == nil || a == nil || len(a.Paths) == 0 {
			continue
		}
		if len(p.Paths) == 0 {
			t.Errorf("%s applies to %v, and its pattern to every file", slug, a.Paths)
		}
		for _, glob := range a.ExcludePaths {
			if !slices.Contains(p.ExcludePaths, glob) {
				t.Errorf("%s does not apply to %s, and its pattern does", slug, glob)
			}
		}
	}
}

func TestEveryRuleHasCasesForBothSides(t *testing.T) {
	all, rules := load(t)
	kept, other := map[string]int{}, map[string]int{}
	names := map[string]bool{}
	for _, p := range all {
		for _, c := range cases(t, p) {
			if s := rules[c.Rule]; s == nil || s.pack != p.Name {
				t.Errorf("pack %s: case %q is about %s, which is no rule of the pack", p.Name, c.Name, c.Rule)
			}
			if names[c.Rule+" "+c.Name] {
				t.Errorf("%s has two cases named %q", c.Rule, c.Name)
			}
			names[c.Rule+" "+c.Name] = true
			if c.Expect == rule.Allow {
				kept[c.Rule]++
			} else {
				other[c.Rule]++
			}
		}
	}
	for slug := range rules {
		if kept[slug] == 0 || other[slug] == 0 {
			t.Errorf("%s has %d cases that keep it and %d that do not; it needs both", slug, kept[slug], other[slug])
		}
	}
}

func cases(t testing.TB, p packs.Pack) []rule.FileCase {
	t.Helper()
	f, err := catalog.ParseYAML(p.Cases)
	if err != nil {
		t.Fatalf("%s/cases.yaml: %v", p.Name, err)
	}
	return f.Cases
}

func TestCasesGiveTheirVerdicts(t *testing.T) {
	all, rules := compiled(t)
	for _, p := range all {
		for _, c := range cases(t, p) {
			t.Run(c.Rule+"/"+c.Name, func(t *testing.T) {
				s := built(t, c)
				r := rules[c.Rule]
				out := r.program.Run(context.Background(), check.Prepare(s))
				if got := verdict(&r.rule, out); got != c.Expect {
					t.Errorf("got %s (%s: %s), want %s", got, out.Result, out.Reason, c.Expect)
				}
				if got := starts(out); !slices.Equal(got, c.Lines) {
					t.Errorf("got lines %v, want %v", got, c.Lines)
				}
			})
		}
	}
}

// verdict is what a rule answers without a model.
func verdict(r *rule.Rule, out check.Outcome) rule.Verdict {
	switch out.Result {
	case check.Broken:
		return rule.Settle(rule.Deny, r.Modality, r.Enforcement)
	case check.NotConcerned:
		return rule.Allow
	case check.Kept:
		if r.Check.Decides == rule.Both {
			return rule.Allow
		}
	case check.Undecided:
	}
	return rule.NeedsConfirmation
}

func starts(out check.Outcome) []int {
	var lines []int
	for _, l := range out.Locations {
		if l.FilePath != "" {
			lines = append(lines, l.StartLine)
		}
	}
	return lines
}

func built(t testing.TB, c rule.FileCase) *subject.Subject {
	t.Helper()
	in := subject.Input{Diff: c.Diff, Facts: c.Facts, Action: c.Action}
	for _, f := range c.Files {
		in.Files = append(in.Files, subject.InputFile{Path: f.Path, Content: &f.Content})
	}
	s, err := subject.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if s.Empty() {
		t.Fatal("the case has no subject")
	}
	return s
}

// TestRulesConcernOnlyTheirKind keeps a payment from being asked about code and a change from being asked about payments.
func TestRulesConcernOnlyTheirKind(t *testing.T) {
	_, rules := load(t)
	for slug, s := range rules {
		facts := len(kindsOf(&s.rule)) > 0
		code := s.rule.AppliesTo != nil && len(s.rule.AppliesTo.Paths) > 0
		if facts == code && s.pack != "secrets" {
			t.Errorf("%s concerns code: %v, facts: %v; it must be one of them", slug, code, facts)
		}
	}
}

func TestLoadOfAnUnknownPack(t *testing.T) {
	_, err := packs.Load("cobol")
	if rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("got %v, want not_found", err)
	}
}

func BenchmarkAllChecksOverAllCases(b *testing.B) {
	all, rules := compiled(b)
	var subjects []*subject.Subject
	for _, p := range all {
		for _, c := range cases(b, p) {
			subjects = append(subjects, built(b, c))
		}
	}
	b.ReportMetric(float64(len(rules)), "rules")
	i := 0
	for b.Loop() {
		in := check.Prepare(subjects[i%len(subjects)])
		for _, s := range rules {
			_ = s.program.Run(context.Background(), in)
		}
		i++
	}
}

// The wording of the packs is an example to authors: lint finds nothing in it.
func TestWordingIsClean(t *testing.T) {
	_, rules := load(t)
	for slug, s := range rules {
		if found := lint.Statement(s.rule.Statement, s.rule.Modality); len(found) > 0 {
			t.Errorf("%s: %q as %s: %+v", slug, s.rule.Statement, s.rule.Modality, found)
		}
	}
}
