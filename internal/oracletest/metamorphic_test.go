package oracletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
	"tenet/packs"
)

// example is a subject with the rules that it is judged by.
type example struct {
	name  string
	in    subject.Input
	rules []rule.Rule
}

// inputOf reads a subject as a request has it, with the numbers of JSON.
func inputOf(t testing.TB, in any) (out subject.Input) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ruleOf makes a rule of its input in a file. Both have the same names in JSON.
func ruleOf(t testing.TB, in wire.RuleInput) rule.Rule {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var r rule.Rule
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// packExamples returns the test cases of the starter packs, each with the rules of its pack.
func packExamples(t testing.TB) (list []example) {
	t.Helper()
	all, err := packs.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		file, err := catalog.ParseYAML(p.Rules)
		if err != nil {
			t.Fatal(err)
		}
		if file, err = catalog.Join([]*wire.RuleFile{file}); err != nil {
			t.Fatal(err)
		}
		var rules []rule.Rule
		for _, in := range file.Rules {
			rules = append(rules, ruleOf(t, in))
		}
		cases, err := catalog.ParseYAML(p.Cases)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases.Cases {
			in := subject.Input{Diff: c.Diff, Facts: c.Facts, Action: c.Action}
			for _, f := range c.Files {
				in.Files = append(in.Files, subject.InputFile{Path: f.Path, Content: &f.Content})
			}
			list = append(list, example{p.Name + "/" + c.Rule + "/" + c.Name, inputOf(t, in), rules})
		}
	}
	return list
}

// caseExamples returns the subjects of the verdict cases.
func caseExamples(t testing.TB) (list []example) {
	t.Helper()
	paths, err := filepath.Glob("../../cases/*.yaml")
	if err != nil || len(paths) < 8 {
		t.Fatalf("found %d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Rules   []wire.RuleInput `yaml:"rules"`
			Request map[string]any   `yaml:"request"`
		}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		e := example{name: "cases/" + filepath.Base(path), in: inputOf(t, c.Request)}
		for _, in := range c.Rules {
			in.Relationships = nil
			e.rules = append(e.rules, ruleOf(t, in))
		}
		list = append(list, e)
	}
	return list
}

// verdictsOf returns the verdicts of an evaluation by rule.
func verdictsOf(e *rule.Evaluation) map[string]*rule.RuleVerdict {
	verdicts := map[string]*rule.RuleVerdict{}
	for i := range e.RuleVerdicts {
		verdicts[e.RuleVerdicts[i].RuleSlug] = &e.RuleVerdicts[i]
	}
	return verdicts
}

// isDecidedAgainst reports whether a check or a model found that a rule is broken, whatever its modality makes of that.
func isDecidedAgainst(v rule.RuleVerdict) bool {
	return v.Verdict != rule.Allow && (v.DecidedBy == rule.ByCheck || v.DecidedBy == rule.ByModel)
}

// TestHidingNeverAllows: whatever is hidden of a subject that breaks a rule, the rule is not ALLOW.
func TestHidingNeverAllows(t *testing.T) {
	t.Parallel()
	lines := map[string]*pipeline{}
	hidden := 0
	for _, e := range append(caseExamples(t), packExamples(t)...) {
		key := e.rules[0].Slug
		if lines[key] == nil {
			lines[key] = newPipeline(t, honest(), e.rules...)
		}
		p := lines[key]
		base, err := p.judge(e.in)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if !slices.ContainsFunc(base.RuleVerdicts, isDecidedAgainst) {
			continue
		}
		for how, in := range hiddenInputs(e.in) {
			after, err := p.judge(in)
			if err != nil {
				continue
			}
			hidden++
			verdicts := verdictsOf(after)
			for _, was := range base.RuleVerdicts {
				if !isDecidedAgainst(was) {
					continue
				}
				now := verdicts[was.RuleSlug]
				switch {
				case now == nil:
					t.Errorf("%s, %s: %s does not apply any more\n%s", e.name, how, was.RuleSlug, in.Diff)
				case now.Verdict == rule.Allow:
					t.Errorf("%s, %s: %s becomes ALLOW: %s\n%s", e.name, how, was.RuleSlug, now.Reasoning, in.Diff)
				}
			}
		}
	}
	if hidden < 1000 {
		t.Errorf("only %d subjects were hidden and not refused", hidden)
	}
}
