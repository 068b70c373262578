package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleEdit is the view of the form that changes a rule.
type ruleEdit struct {
	rule rule.Rule // as it is
	form editForm
	// base is the version that the form was filled from: what differs from it is the change. version is the one that the person has
	// seen last, for If-Match.
	base, version int
	restore       int // version whose fields fill the form, or 0

	problems []editProblem
	refusal  string // an error that is about no field
	preview  *wire.RevisionPreview
	changes  []fieldChange
	verdict  *wire.PlaygroundAnswer
	asked    bool      // the verdict is that of a model too
	since    []version // versions that others have made meanwhile, newest first
	confirm  bool      // the change is weaker, which must be confirmed
}

// editBase reads the rule as it is and the version that the form starts from.
func editBase(p *page, v *ruleEdit) (rule.Rule, error) {
	var err error
	if v.rule, err = client.Get(p.ctx, p.api, op.GetRule.At(p.r.PathValue("id"))); err != nil {
		return rule.Rule{}, err
	}
	if v.base == 0 || v.base == v.rule.Version {
		v.base = v.rule.Version
		return v.rule, nil
	}
	return client.Get(p.ctx, p.api, op.GetRuleVersion.At(v.rule.ID, strconv.Itoa(v.base)))
}

// editRule shows the form, filled with the rule as it is, or as it was in the version that the query names.
func editRule(p *page) error {
	var v ruleEdit
	filled, err := editBase(p, &v)
	if err != nil {
		return err
	}
	if v.restore, err = versionNumber(p.r.URL.Query().Get("version")); err != nil {
		return err
	}
	if v.restore > 0 {
		if filled, err = client.Get(p.ctx, p.api, op.GetRuleVersion.At(v.rule.ID, strconv.Itoa(v.restore))); err != nil {
			return err
		}
	}
	v.version, v.form = v.rule.Version, editFormOf(&filled)
	if v.restore > 0 {
		v.form.set("change_note", "Restores version "+strconv.Itoa(v.restore)+".")
	}
	return p.show(v.head(), ruleEditView(p, &v))
}

func (v *ruleEdit) head() head { return head{Title: "Change " + v.rule.Label(), Nav: "rules"} }

// versionNumber reads the number of a version; 0 for none.
func versionNumber(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, rule.Errorf(rule.CodeInvalid, "%q is not the number of a version", clipText(s, 40))
	}
	return int(n), nil
}

// postRuleEdit does what the pressed button of the form says. Without a button, a script asks for the findings alone.
func postRuleEdit(p *page) error {
	v := ruleEdit{form: editForm{p.r.PostForm}}
	err := v.post(p)
	if e, ok := errors.AsType[*rule.Error](err); ok && p.partial() {
		v.refusal = e.Message // a page about the error would not fit into the one that asks
		return p.fragment(editFindings(p, &v))
	}
	return err
}

func (v *ruleEdit) post(p *page) error {
	for name, into := range map[string]*int{"base": &v.base, "version": &v.version, "restore": &v.restore} {
		var err error
		if *into, err = versionNumber(v.form.get(name)); err != nil {
			return err
		}
	}
	base, err := editBase(p, v)
	if err != nil {
		return err
	}
	from := base
	if v.restore > 0 {
		if from, err = client.Get(p.ctx, p.api, op.GetRuleVersion.At(v.rule.ID, strconv.Itoa(v.restore))); err != nil {
			return err
		}
	}
	next, problems := v.form.rule(&from)
	if v.problems = problems; len(problems) > 0 {
		return v.answer(p, http.StatusUnprocessableEntity)
	}
	change := rule.Diff(base, next)
	do := v.form.get("do")
	replay := map[string]int{"replay20": 20, "replay100": 100}[do]
	if ok, err := v.tryChange(p, change, replay); err != nil || !ok {
		return v.after(p, err)
	}
	if do == "save" {
		return v.save(p, change)
	}
	return v.after(p, v.play(p, change, do == "ask"))
}

// tryChange asks for what the change would lead to. It reports false if the change is not one that the rule can have.
func (v *ruleEdit) tryChange(p *page, change []rule.FieldChange, replay int) (bool, error) {
	body := wire.PreviewRevision{Replay: replay}
	if err := readChange(change, &body.Change); err != nil {
		return false, err
	}
	preview, err := client.Call(p.ctx, p.api, op.PreviewRevision.At(v.rule.ID), body)
	if err != nil {
		return false, v.refused(err)
	}
	v.preview = &preview
	for _, c := range preview.Changes {
		v.changes = append(v.changes, fieldChange{name: words(c.Field), pieces: wordmark.Compare(readable(c.Before), readable(c.After))})
	}
	return true, nil
}

// play tries the changed rule on the sample, if there is one.
func (v *ruleEdit) play(p *page, change []rule.FieldChange, asks bool) error {
	code, facts := v.form.text("sample_code"), v.form.text("sample_facts")
	if strings.TrimSpace(code+facts) == "" {
		if asks {
			v.problems = append(v.problems, editProblem{field: "sample_code", message: "is empty, and so are the facts; paste one of them to try the rule on"})
		}
		return nil
	}
	body := wire.PlaygroundRequest{RuleID: v.rule.ID, Revision: &wire.ReviseRule{}, ChecksOnly: !asks, SampleCode: code, SamplePath: strings.TrimSpace(v.form.text("sample_path"))}
	if err := readChange(change, body.Revision); err != nil {
		return err
	}
	var problem string
	if body.SampleFacts, problem = readSampleFacts(facts); problem != "" {
		v.problems = append(v.problems, editProblem{field: "sample_facts", message: problem})
		return nil
	}
	answer, err := client.Call(p.ctx, p.api, op.PlaygroundEvaluate, body)
	if err != nil {
		return v.refused(err)
	}
	v.verdict, v.asked = &answer, asks
	return nil
}

// save stores the change. A stale version, a weaker rule and wrong fields lead back to the form with what was typed.
func (v *ruleEdit) save(p *page, change []rule.FieldChange) error {
	note := strings.TrimSpace(v.form.text("change_note"))
	if len(change) == 0 {
		v.refusal = "Nothing has changed, so there is nothing to store."
		return v.answer(p, http.StatusUnprocessableEntity)
	}
	inForce := v.rule.Status == rule.Approved || v.rule.Status == rule.Effective
	if inForce && v.rule.Guarded() && len(v.preview.Weakens) > 0 && (v.form.get("allow_weakening") == "" || note == "") {
		v.confirm = true
		if note == "" {
			v.problems = append(v.problems, editProblem{field: "change_note", message: "is missing; say why the rule is to demand less"})
		}
		return v.answer(p, http.StatusConflict)
	}
	body := map[string]any{"change_note": note}
	if v.form.get("allow_weakening") != "" {
		body["allow_weakening"] = true
	}
	for _, c := range change {
		body[c.Field] = c.After
	}
	made, err := client.Call(p.ctx, p.api, op.ReviseRule.At(v.rule.ID).IfMatch(v.version), body)
	switch {
	case rule.CodeOf(err) == rule.CodePrecondition:
		return v.stale(p)
	case err != nil:
		return v.after(p, v.refused(err))
	case made.Pending != nil:
		p.say("The revision waits: another person must approve it. The rule stays as it is until then.")
	default:
		p.say(made.Label() + " is at version " + strconv.Itoa(made.Version) + " now.")
	}
	return p.redirect(p.at("rules", made.ID))
}

// stale shows what others have changed since the form was opened. Saving again then changes the newest version, and only in the fields that
// the person has edited.
func (v *ruleEdit) stale(p *page) error {
	const size = 20
	found, err := client.Get(p.ctx, p.api, op.ListRuleVersions.At(v.rule.ID).Where(wire.PageQuery{Page: 1, PageSize: size}))
	if err != nil {
		return err
	}
	for i, r := range found.Items {
		if r.Version <= v.version {
			break
		}
		before, err := versionBefore(p, found.Items, i)
		if err != nil {
			return err
		}
		one := version{rule: r}
		if before != nil {
			one.changes = changesOf(*before, r)
		}
		v.since = append(v.since, one)
	}
	v.version = v.rule.Version
	return v.answer(p, http.StatusPreconditionFailed)
}

// refused keeps an error about what was typed for the page, and returns all others.
func (v *ruleEdit) refused(err error) error {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code != rule.CodeInvalid && e.Code != rule.CodeConflict && e.Code != rule.CodeTooLarge && e.Code != rule.CodeUnavailable {
		return err
	}
	for _, f := range e.Fields {
		v.problems = append(v.problems, v.form.problem(f))
	}
	if len(e.Fields) == 0 {
		v.refusal = e.Message
	}
	return nil
}

// after answers with the form and what was found out, or with an error.
func (v *ruleEdit) after(p *page, err error) error {
	if err != nil {
		return err
	}
	if len(v.problems) > 0 || v.refusal != "" {
		return v.answer(p, http.StatusUnprocessableEntity)
	}
	return v.answer(p, http.StatusOK)
}

func (v *ruleEdit) answer(p *page, status int) error {
	if p.partial() {
		return p.fragment(editFindings(p, v))
	}
	return p.showAs(status, v.head(), ruleEditView(p, v))
}

// readChange writes changed fields to the body of a revision.
func readChange(change []rule.FieldChange, into *wire.ReviseRule) error {
	fields := make(map[string]json.RawMessage, len(change))
	for _, c := range change {
		fields[c.Field] = c.After
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// of lists the problems of a field.
func (v *ruleEdit) of(name string) []editProblem {
	return slices.DeleteFunc(slices.Clone(v.problems), func(one editProblem) bool { return one.input() != name })
}
