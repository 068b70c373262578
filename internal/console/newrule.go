package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Kinds of check that the form offers.
const (
	checkCEL     = "cel"
	checkPattern = "pattern"
)

// newRule is the view of the screen.
type newRule struct {
	form entry
	// drafted says where the fields come from, after a draft.
	drafted string
	// compared is set once the rule was compared with the others as it is typed now.
	compared *wire.SimilarRules
	trials   []trial
	seen     string // names what was compared
}

// trial is the verdict of the rule on an example.
type trial struct {
	name           string
	want, got      rule.Verdict
	reason         string
	asWanted, fine bool
}

// outcome is the result of a trial in a sentence.
func (t *trial) outcome() string {
	switch {
	case !t.fine:
		return t.name + ": not decided. "
	case t.asWanted:
		return t.name + ": " + words(string(t.got)) + ", as it must be. "
	}
	return t.name + ": " + words(string(t.got)) + ", and it must be " + words(string(t.want)) + ". "
}

// newRulePage shows the empty form.
func newRulePage(p *page) error {
	v := &newRule{form: entry{values: url.Values{"severity": {string(rule.Medium)}, "modality": {string(rule.Must)}, "status": {string(rule.Draft)}, "sample_type": {"code"}}}}
	return v.show(p)
}

func (v *newRule) show(p *page) error {
	return p.showAs(v.form.code(), head{Title: "New rule", Nav: "rules"}, newRuleView(p, v))
}

// makeRule drafts, compares or creates a rule, as the button of the form says.
func makeRule(p *page) error {
	v := &newRule{form: entry{values: p.r.PostForm}}
	var err error
	switch v.form.get("do") {
	case "draft":
		err = v.draft(p)
	case "create":
		if v.form.get("seen") != fingerprint(p.r.PostForm) {
			if err = v.compare(p); v.compared != nil {
				v.drafted = "The rule was not compared with the others as it is now. Look at what this shows, then create it."
			}
			break
		}
		made, errMake := v.create(p)
		if errMake == nil {
			return p.redirect(p.at("rules", made))
		}
		err = errMake
	default:
		err = v.compare(p)
	}
	if err != nil {
		if err := v.form.refuse(err, v.field); err != nil {
			return err
		}
	}
	return v.show(p)
}

// fingerprint names what a form says about a rule.
func fingerprint(form url.Values) string {
	values := url.Values{}
	for name, list := range form {
		if name != "do" && name != "seen" && name != "wish" {
			values[name] = list
		}
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return hex.EncodeToString(sum[:])
}

// draft fills the form from a sentence. The author agent writes with a model where there is one, and else reads what the words say.
func (v *newRule) draft(p *page) error {
	wish := strings.TrimSpace(v.form.get("wish"))
	if wish == "" {
		v.form.bad("wish", "Say what the rule is to demand or to forbid.")
		return nil
	}
	answer, err := p.api.Author(p.ctx, client.AgentRequest{Intent: wish, Scope: firstOf(splitList(v.form.get("scope"), true))})
	if err != nil {
		return err
	}
	if answer.Result == nil {
		v.form.bad("wish", answer.Reasoning)
		return nil
	}
	d := answer.Result.Rule
	set := func(name, value string) { v.form.values.Set(name, value) }
	set("statement", d.Statement)
	set("modality", string(d.Modality))
	set("severity", string(d.Severity))
	set("scope", strings.Join(d.Scope, ", "))
	set("tags", strings.Join(d.Tags, ", "))
	set("rationale", d.Rationale)
	set("exceptions", strings.Join(d.Exceptions, "\n"))
	v.takeSamples(answer.Result.TestCases)
	v.drafted = "A model wrote this draft. Read every word: it may demand more or less than you meant."
	if answer.Result.WrittenBy != "model" {
		v.drafted = "No model is configured, so these are your words, with what follows from them."
	}
	return nil
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// takeSamples puts the first sample that breaks the draft and the first of its type that keeps it into the form.
func (v *newRule) takeSamples(cases []wire.RuleDraftCase) {
	for _, bad := range cases {
		if bad.Expected != rule.Deny {
			continue
		}
		v.form.values.Set("sample_type", bad.Type)
		v.form.values.Set("bad", bad.Sample)
		v.form.values.Set("good", "")
		for _, good := range cases {
			if good.Expected == rule.Allow && good.Type == bad.Type {
				v.form.values.Set("good", good.Sample)
				return
			}
		}
		return
	}
}

// input is the rule of the form.
func (v *newRule) input() wire.RuleInput {
	f := &v.form
	in := wire.RuleInput{
		Statement: f.get("statement"), Modality: rule.Modality(f.get("modality")), Severity: rule.Severity(f.get("severity")), Status: rule.Status(f.get("status")),
		Scope: splitList(f.get("scope"), true), Tags: splitList(f.get("tags"), true), Exceptions: splitList(f.get("exceptions"), false),
		Check: v.check(),
	}
	for name, field := range map[string]**string{"slug": &in.Slug, "owner": &in.Owner, "rationale": &in.Rationale} {
		if text := strings.TrimSpace(f.get(name)); text != "" {
			*field = &text
		}
	}
	to := rule.AppliesTo{
		Kinds: f.values["kinds"], Paths: splitList(f.get("paths"), false), ExcludePaths: splitList(f.get("exclude_paths"), false),
		Repositories: splitList(f.get("repositories"), false), Tools: splitList(f.get("tools"), false),
	}
	if !to.Empty() {
		in.AppliesTo = &to
	}
	return in
}

// oneCheck notes fields of a check that would be lost: a rule has one check, of the chosen kind.
func (v *newRule) oneCheck() {
	f := &v.form
	typed := func(names ...string) bool {
		for _, name := range names {
			if strings.TrimSpace(f.get(name)) != "" {
				return true
			}
		}
		return false
	}
	switch kind := f.get("check"); {
	case kind == "" && typed("cel", "when", "regex", "unless"):
		f.bad("check", "Fields of a check are filled in. Choose its kind, or empty them.")
	case kind == checkCEL && typed("regex", "unless"), kind == checkPattern && typed("cel"):
		f.bad("check", "A rule has one check. Empty the fields of the other kind.")
	}
}

// check is the check of the form; nil without one.
func (v *newRule) check() *rule.Check {
	f := &v.form
	c := &rule.Check{When: strings.TrimSpace(f.get("when")), Message: f.get("message"), Fix: f.get("fix")}
	switch f.get("check") {
	case checkCEL:
		c.CEL = strings.TrimSpace(f.get("cel"))
	case checkPattern:
		c.Pattern = &rule.Pattern{Regex: f.get("regex"), Unless: f.get("unless")}
	default:
		return nil
	}
	return c
}

// compare shows what the rule is like, what it contradicts, and what its check says about the examples. It stores nothing.
func (v *newRule) compare(p *page) error {
	if v.oneCheck(); v.form.fails() {
		return nil
	}
	in, cases := v.input(), v.cases()
	found, err := client.Call(p.ctx, p.api, op.SimilarRules, wire.SimilarRequest{Rule: in, Cases: cases})
	if err != nil {
		return err
	}
	v.compared, v.seen = &found, fingerprint(p.r.PostForm)
	if in.Check == nil {
		return nil
	}
	for _, c := range cases {
		v.trials = append(v.trials, tryExample(p, &found.Rule, c))
	}
	return nil
}

// tryExample has an example judged by the rule. A failure is a trial that is not fine.
func tryExample(p *page, r *rule.Rule, c wire.CreateTestCase) trial {
	out := trial{name: c.Name, want: c.ExpectedVerdict}
	ask := wire.PlaygroundRequest{
		RuleStatement: r.Statement, RuleModality: r.Modality, RuleSeverity: r.Severity, Check: wire.Some(*r.Check),
	}
	if c.InputType == "code" {
		ask.SampleCode = c.SampleInput
	} else if err := json.Unmarshal([]byte(c.SampleInput), &ask.SampleFacts); err != nil {
		ask.SampleFacts = map[string]any{"narrative": c.SampleInput}
	}
	got, err := client.Call(p.ctx, p.api, op.PlaygroundEvaluate, ask)
	if err != nil {
		out.reason = err.Error()
		return out
	}
	out.got, out.reason, out.fine = got.Verdict, got.Reasoning, true
	out.asWanted = got.Verdict == c.ExpectedVerdict
	return out
}

// create stores the rule, then its examples, and returns its id.
func (v *newRule) create(p *page) (string, error) {
	made, err := client.Call(p.ctx, p.api, op.CreateRule, wire.CreateRule{RuleInput: v.input()})
	if err != nil {
		return "", err
	}
	cases := v.cases()
	for i, c := range cases {
		if _, err := client.Call(p.ctx, p.api, op.CreateTestCase.At(made.ID), c); err != nil {
			p.warn(clipText(fmt.Sprintf("The rule is created with %d of %d examples. %s: %s", i, len(cases), c.Name, err.Error()), maxSaid))
			return made.ID, nil
		}
	}
	p.say("The rule is created with the status " + string(made.Status) + ".")
	return made.ID, nil
}

// ruleFields are the fields of the form for those of a rule, by how their names begin.
var ruleFields = []struct{ prefix, field string }{
	{"applies_to.paths", "paths"},
	{"applies_to.exclude_paths", "exclude_paths"},
	{"applies_to.repositories", "repositories"},
	{"applies_to.kinds", "kinds"},
	{"applies_to.tools", "tools"},
	{"check.cel", "cel"},
	{"check.when", "when"},
	{"check.pattern.unless", "unless"},
	{"check.pattern", "regex"},
	{"check.message", "message"},
	{"check.fix", "fix"},
	{"statement", "statement"},
	{"modality", "modality"},
	{"severity", "severity"},
	{"status", "status"},
	{"slug", "slug"},
	{"owner", "owner"},
	{"scope", "scope"},
	{"tags", "tags"},
	{"rationale", "rationale"},
	{"exceptions", "exceptions"},
	{"intent", "wish"},
}

// field is the field of the form that a field of a request is in, or empty.
func (v *newRule) field(name string) string {
	name = strings.TrimPrefix(name, "rule.")
	for _, f := range ruleFields {
		if name == f.prefix || strings.HasPrefix(name, f.prefix+".") || strings.HasPrefix(name, f.prefix+"[") {
			return f.field
		}
	}
	if name == "check" {
		if v.form.get("check") == checkPattern {
			return "regex"
		}
		return "cel"
	}
	return ""
}
