package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	strict "github.com/go-json-experiment/json"

	"tenet/internal/llm"
	"tenet/internal/norm"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Profile is a way to ask a model. Both ways keep the laws of this package.
type Profile string

// The profiles.
const (
	// Large asks about up to ten rules a call, with the control rules among them.
	Large Profile = "large"
	// Small is for models of few billion parameters, which lose track of several questions: it asks about one rule a call, in a short
	// form, and the control rules in the same form, in calls of their own about the same text.
	Small Profile = "small"
)

// Profiles lists the profiles.
var Profiles = []Profile{Large, Small}

// SmallPromptVersion names the prompt templates of [Small], as [PromptVersion] does those of [Large].
const SmallPromptVersion = "small-v1"

// PromptVersionOf returns the version of the prompts of a profile.
func PromptVersionOf(p Profile) string {
	if p == Small {
		return SmallPromptVersion
	}
	return PromptVersion
}

// PromptOf returns the version of the prompts by which calls, or the calls that gave reused verdicts, were made.
func PromptOf(calls []wire.ModelCall, reused []wire.ReusedVerdict) string {
	small := func(version string) bool {
		return version == SmallPromptVersion || strings.HasPrefix(version, SmallPromptVersion+" ")
	}
	if slices.ContainsFunc(calls, func(c wire.ModelCall) bool { return small(c.PromptVersion) }) ||
		slices.ContainsFunc(reused, func(v wire.ReusedVerdict) bool { return small(v.Plan) }) {
		return SmallPromptVersion
	}
	return PromptVersion
}

var (
	smallSystem   = mustRead(SmallPromptVersion, "system.txt")
	smallTemplate = template.Must(template.New("small").Parse(mustRead(SmallPromptVersion, "subject.tmpl")))
)

// Limits of an answer about one rule.
const (
	smallQuote  = 160 // characters of a quote
	smallReason = 240
	smallTokens = 600
)

// smallShare is how many calls one rule takes at most: its own, and one for each control rule.
const smallShare = 3

// smallPrompt renders the question about a rule, which may be a control rule.
func smallPrompt(d *decision, q question, x *expected, ruleText string) llm.Request {
	view := struct {
		Part, Parts                              int
		Fence, Others, Mark, Subject, Rule, Seen string
	}{Part: q.part + 1, Parts: len(q.group.parts), Others: q.group.others, Subject: x.text, Mark: x.mark, Rule: ruleText, Seen: x.asked()}
	view.Fence = d.nonce.fence(q, view.Subject)
	var b strings.Builder
	render(&b, smallTemplate, view)
	tokens := d.j.cfg.MaxOutputTokens
	if tokens <= 0 {
		tokens = smallTokens
	}
	return llm.Request{System: smallSystem, Prompt: b.String(), Schema: x.smallSchema(), SchemaName: "verdict", MaxOutputTokens: tokens}
}

// smallRule writes a rule as a small model sees it: what it demands or forbids, quoted so that a statement cannot pass for more, and
// what else is known of it in a line of its own.
func smallRule(m rule.Modality, statement string, rest any) string {
	word := "REQUIRED"
	if norm.Stated(statement, m) == rule.MustNot {
		word = "FORBIDDEN"
	}
	line := word + ": " + llm.JSON(statement)
	if more := llm.JSON(rest); more != "{}" {
		line += "\n" + more
	}
	return line
}

// smallSchema returns the schema of an answer about one rule. Names of units are names of fields, so that none can be left out. What
// comes before decides which verdicts are left: with a breach or something missing there is no ALLOW, without either no DENY. Small
// models deny without saying what for, and whether they find a breach where there is one, the control rules show.
func (x *expected) smallSchema() json.RawMessage {
	var names, units []string
	for i := range x.units {
		if u := &x.units[i]; u.asked {
			names = append(names, `"`+u.name+`"`)
			units = append(units, fmt.Sprintf(`"%s":{"type":"string","maxLength":%d}`, u.name, smallQuote))
		}
	}
	seen, required := "", `"reason","breach","missing","verdict"`
	if len(names) > 0 {
		seen = `"seen":{"type":"object","properties":{` + strings.Join(units, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false},`
		required = `"seen",` + required
	}
	const none, denies = `{"type":"string","const":""}`, `["DENY","NEEDS_CONFIRMATION"]`
	some := fmt.Sprintf(`{"type":"string","minLength":1,"maxLength":%d}`, smallQuote)
	answer := func(breach, missing, verdict string) string {
		return fmt.Sprintf(`{"type":"object","properties":{%s"reason":{"type":"string","maxLength":%d},"breach":%s,"missing":%s,"verdict":{"type":"string","enum":%s}},"required":[%s],"additionalProperties":false}`,
			seen, smallReason, breach, missing, verdict, required)
	}
	return json.RawMessage(`{"anyOf":[` + answer(some, none, denies) + "," + answer(none, some, denies) + "," + answer(none, none, `["ALLOW","NEEDS_CONFIRMATION"]`) + `]}`)
}

// smallAnswer is the answer about one rule. All of it is untrusted.
type smallAnswer struct {
	Seen    map[string]string `json:"seen"`
	Breach  string            `json:"breach"`
	Missing string            `json:"missing"`
	Reason  string            `json:"reason"`
	Verdict rule.Verdict      `json:"verdict"`
}

// parseSmall reads the answer about one rule. It is as strict as [parseAnswer]: one well-formed object with nothing around it and no
// field twice.
func parseSmall(text string) (*answer, string) {
	var in smallAnswer
	switch {
	case len(text) > maxAnswer:
		return nil, fmt.Sprintf("the answer has %d bytes", len(text))
	case !utf8.ValidString(text):
		return nil, "the answer is not valid UTF-8"
	}
	if err := strict.Unmarshal([]byte(text), &in, strict.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, "the answer is not the JSON object that was asked for"
	}
	a := &answer{Ref: ref(0), Absence: in.Missing, Reasoning: in.Reason, Verdict: in.Verdict}
	for unit, quote := range in.Seen {
		a.Seen = append(a.Seen, seenUnit{unit, quote})
	}
	slices.SortFunc(a.Seen, func(a, b seenUnit) int { return strings.Compare(a.Unit, b.Unit) })
	if strings.TrimSpace(in.Breach) != "" {
		a.Evidence = []quote{{Quote: in.Breach}}
	}
	if in.Verdict != rule.Allow {
		a.Issue = in.Reason
	}
	if fault := checkEntry(a); fault != "" {
		return nil, fault
	}
	if a.Verdict == rule.Allow && (len(a.Evidence) > 0 || a.Absence != "") {
		return nil, "its entry allows and names a breach at once"
	}
	return a, ""
}

// readSmall takes the answer about the only member that was asked about. Whether the control rules are answered rightly is asked
// afterwards. Small models are not asked whether a verdict rests on several places: it counts as if, where there are several.
func (r *reply) readSmall(text string) {
	a, fault := parseSmall(text)
	if a != nil && a.Absence == "" && len(r.d.layout.units) == 1 && len(r.d.layout.unseen) == 0 {
		a.Together = new(bool)
	}
	if a != nil && a.Verdict == rule.Allow {
		if fault = r.expected.unseen(a); fault != "" {
			a = nil // no control rule need be asked
		}
	}
	r.answers, r.faults, r.passed = []*answer{a}, []string{fault}, false
}

// allows reports whether the answer is one that counts only if control rules are answered rightly.
func (r *reply) allows() bool {
	return r.err == nil && len(r.answers) == 1 && r.answers[0] != nil && r.answers[0].Verdict == rule.Allow
}

// askControls asks the control rules of a question after an ALLOW, about the same text and in the same form, until one is answered
// wrongly. base is the call that gave the ALLOW.
func (b *batch) askControls(ctx context.Context, made *madeCall, q question, base wire.ModelCall, r *reply) {
	x := r.expected
	all := x.recorded()
	r.passed = true
	for i := range x.probes {
		p := &x.probes[i].Probe
		call := base
		call.Purpose, call.Repair, call.Held, call.Control, call.Controls = CallControl, false, false, 0, all[i:i+1]
		cq := q
		cq.key = callKey(&call)
		req := smallPrompt(b.d, q, x, smallRule(p.Modality, p.Statement, ruleRest{}))
		call.PromptHash = promptHash(req)
		asked := &madeCall{}
		b.d.locked(func() { made.controls = append(made.controls, asked) })
		right := false
		if r.controlErr = b.perform(ctx, asked, cq, call, req, func(raw string) bool {
			a, _ := parseSmall(raw)
			right = passed(p, a)
			return right
		}); r.controlErr != nil || !right {
			r.passed = false
			break
		}
	}
	b.d.locked(func() { made.call.Held = r.passed })
}
