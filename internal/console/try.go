package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// tryKinds are the kinds of subject that the form offers. Changes and documents are uploaded.
var tryKinds = []option{
	{string(wire.Transaction), "Payment or other transaction"},
	{string(wire.BusinessEvent), "Business event"},
	{string(wire.Communication), "Message"},
	{string(wire.DecisionRequest), "Decision to be taken"},
	{string(wire.ToolCall), "Call of a tool"},
	{string(wire.Facts), "Facts alone"},
	{string(wire.Action), "Action, in plain words"},
}

// maxTryFields bounds the facts that the form has a field for. The others can be given by their names.
const maxTryFields = 60

// maxHinted bounds the examples that a field shows before somebody types.
const maxHinted = 3

// Names of fields of the forms.
const (
	factPrefix  = "f:" // the rest is the name of the fact, escaped
	otherField  = "other"
	intentField = "intent"
	actionField = "action"
)

// tryFact is a fact that the form asks for.
type tryFact struct {
	wire.ReadFact

	label string
	area  bool // a text of several lines
	own   bool // every subject of the kind has it, whether or not a rule reads it
}

// ownFacts are the facts that each kind has, whichever rules apply.
var ownFacts = map[wire.SubjectKind][]tryFact{
	wire.Transaction: {ownFact("transaction_type", "Type", "text", "payment"), ownFact("amount", "Amount", "number"), ownFact("currency", "Currency", "text", "EUR")},
	wire.BusinessEvent: {
		ownFact("event_type", "Type", "text", "customer.data_exported"), ownFact("actor", "Who acts", "text"), ownFact("occurred_at", "When", "text"),
	},
	wire.Communication: {
		ownFact("channel", "Channel", "text", "email"), ownFact("sender", "From", "text"), ownFact("recipients", "To", "list"), ownFact("content", "Text", "area"),
	},
	wire.DecisionRequest: {
		ownFact("decision_type", "Type", "text", "vendor_selection"), ownFact("question", "Question", "area"), ownFact("context", "What is known", "area"),
		ownFact("options", "Choices", "list"),
	},
	wire.ToolCall: {ownFact("server", "Server", "text", "filesystem"), ownFact("tool", "Tool", "text", "write_file")},
}

func ownFact(name, label, kind string, values ...string) tryFact {
	f := tryFact{ReadFact: wire.ReadFact{Name: name, Path: []string{name}, Type: kind, Values: values}, label: label, own: true}
	if kind == "area" {
		f.Type, f.area = "text", true
	}
	return f
}

// try is the view of the screen.
type try struct {
	kind      wire.SubjectKind
	facts     []tryFact
	more      []string // names of facts that rules read and that have no field
	rules     int      // that apply
	form      entry
	upload    entry
	documents bool // the person may have a document kept
}

// tryPage shows the forms.
func tryPage(p *page) error {
	v := &try{form: entry{values: p.r.URL.Query()}, upload: entry{prefix: "u-"}}
	return v.show(p)
}

// show answers with the screen. What is wrong with the place that the form names, it shows in the form.
func (v *try) show(p *page) error {
	if err := v.load(p); err != nil {
		if err := v.form.refuse(err, func(name string) string { return tryField(name, v) }); err != nil {
			return err
		}
	}
	return v.again(p)
}

// load reads the kind from the form, and the facts that rules read of it.
func (v *try) load(p *page) error {
	v.documents = p.may(auth.Reviewer)
	v.kind = wire.SubjectKind(v.form.get("kind"))
	if !slices.ContainsFunc(tryKinds, func(o option) bool { return o.Value == string(v.kind) }) {
		v.kind = wire.Transaction
	}
	return v.loadFacts(p)
}

// loadFacts reads the facts that rules read of the kind.
func (v *try) loadFacts(p *page) error {
	v.facts = append(v.facts, ownFacts[v.kind]...)
	list, err := client.Get(p.ctx, p.api, op.ListFacts.Where(wire.FactQuery{
		Scope: v.form.get("scope"), Repository: v.form.get("repository"), NodeID: v.form.get("node_id"), SubjectKind: string(v.kind),
	}))
	if err != nil {
		return err
	}
	v.rules = list.RulesTotal
	if v.kind == wire.Action {
		return nil
	}
	for _, f := range list.Facts {
		v.take(f)
	}
	return nil
}

// take adds a fact that rules read to those that the form asks for.
func (v *try) take(f wire.ReadFact) {
	if i := slices.IndexFunc(v.facts, func(o tryFact) bool { return o.Name == f.Name }); i >= 0 {
		own := &v.facts[i]
		own.Values, own.Rules, own.RulesTotal = append(slices.Clone(f.Values), own.Values...), f.Rules, f.RulesTotal
		return
	}
	switch {
	case !v.holds(f.Path[0]):
	case len(v.facts) >= maxTryFields:
		v.more = append(v.more, f.Name)
	default:
		v.facts = append(v.facts, tryFact{ReadFact: f, label: f.Name})
	}
}

// topFacts are the only facts that subjects of some kinds have at their top level, and inFact is the one that holds all others.
var (
	topFacts = map[wire.SubjectKind][]string{
		wire.DecisionRequest: {"decision_type", "question", "context", "options"},
		wire.ToolCall:        {"server", "tool", "method", "arguments", "result"},
	}
	inFact = map[wire.SubjectKind]string{wire.DecisionRequest: "context", wire.ToolCall: "arguments"}
)

// holds reports whether subjects of the kind have a fact at their top level.
func (v *try) holds(fact string) bool {
	top, bounded := topFacts[v.kind]
	return !bounded || slices.Contains(top, fact)
}

// field is the name of the field of a fact. It is ASCII, whatever the fact is called.
func (f *tryFact) field() string { return factPrefix + url.PathEscape(f.Name) }

// asked describes the field of a fact.
func (f *tryFact) asked() asked {
	a := asked{name: f.field(), label: f.label, kind: f.Type, examples: f.Values, max: 100_000}
	if f.area {
		a.kind = "area"
	}
	var hints []string
	if shown := a.shownExamples(); len(shown) > 0 {
		hints = append(hints, "Such as "+strings.Join(shown[:min(len(shown), maxHinted)], ", ")+".")
	}
	switch f.Type {
	case "boolean":
		a.choices = []option{{"", "Not known"}, {"true", "Yes"}, {"false", "No"}}
	case "list":
		hints = append(hints, "Several, separated by commas.")
	}
	if f.RulesTotal > 0 {
		by := strings.Join(f.Rules, ", ")
		if f.RulesTotal > len(f.Rules) {
			by += " and more"
		}
		hints = append(hints, "Read by "+by+".")
	}
	a.hint = strings.Join(hints, " ")
	return a
}

// tryDecision evaluates what a person has filled in, and leads to the evaluation.
func tryDecision(p *page) error {
	v := &try{form: entry{values: p.r.PostForm}, upload: entry{prefix: "u-"}}
	if err := v.load(p); err != nil {
		if err := v.form.refuse(err, func(name string) string { return tryField(name, v) }); err != nil {
			return err
		}
		return v.again(p)
	}
	facts := v.read()
	if len(facts) == 0 && v.kind != wire.Action && !v.form.fails() && strings.TrimSpace(v.form.get(intentField)) == "" {
		v.form.problem = "Nothing is filled in. Give at least one fact."
		v.form.status = statuses[rule.CodeInvalid]
	}
	if v.form.fails() {
		return v.again(p)
	}
	id, err := v.evaluate(p, facts)
	if err != nil {
		if err := v.form.refuse(err, func(name string) string { return tryField(name, v) }); err != nil {
			return err
		}
		return v.again(p)
	}
	return p.redirect(p.at("evaluations", id))
}

// again shows the screen with what was typed.
func (v *try) again(p *page) error {
	return p.showAs(max(v.form.code(), v.upload.code()), head{Title: "Try a decision", Nav: "try"}, tryView(p, v))
}

// evaluate submits the subject and returns the id of the evaluation.
func (v *try) evaluate(p *page, facts map[string]any) (string, error) {
	options := wire.EvaluateOptions{NodeID: strings.TrimSpace(v.form.get("node_id"))}
	scope := v.form.get("scope")
	switch v.kind {
	case wire.Action:
		e, err := client.Call(p.ctx, p.api, op.EvaluateQuick, wire.QuickRequest{Action: v.form.get(actionField), Scope: scope, NodeID: options.NodeID})
		return e.EvaluationID, err
	case wire.Facts:
		e, err := client.Call(p.ctx, p.api, op.Evaluate, any(wire.EvaluateRequest{
			Facts: facts, Intent: v.form.get(intentField), Scope: scope, Repository: v.form.get("repository"), EvaluateOptions: options,
		}))
		return e.EvaluationID, err
	case wire.CodeChange, wire.BusinessEvent, wire.DocumentKind, wire.Transaction, wire.Communication, wire.DecisionRequest, wire.ToolCall:
	}
	subject := map[string]any{"kind": v.kind}
	if _, bounded := topFacts[v.kind]; bounded {
		maps.Copy(subject, facts)
	} else {
		subject["facts"] = facts
	}
	e, err := client.Call(p.ctx, p.api, op.Submit, any(submission{subject, scope, options}))
	return e.EvaluationID, err
}

// submission is the body of a submission whose numbers keep their digits.
type submission struct {
	Subject any    `json:"subject"`
	Scope   string `json:"scope,omitempty"`
	wire.EvaluateOptions
}

// tryField is the field of the form that a field of a request is in, or empty.
func tryField(name string, v *try) string {
	switch name {
	case "scope", "repository", "node_id", actionField, intentField:
		return name
	}
	for _, prefix := range []string{"subject.facts.", "facts.", "subject."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			for i := range v.facts {
				if v.facts[i].Name == rest {
					return v.facts[i].field()
				}
			}
			return otherField
		}
	}
	return ""
}

// read makes the facts of what was typed, and notes what cannot be read. Empty fields are left out.
func (v *try) read() map[string]any {
	facts := map[string]any{}
	if v.kind == wire.Action {
		if strings.TrimSpace(v.form.get(actionField)) == "" {
			v.form.bad(actionField, "Say what is to be done.")
		}
		return facts
	}
	types := map[string]string{}
	for i := range v.facts {
		f := &v.facts[i]
		types[f.Name] = f.Type
		text := v.form.get(f.field())
		if strings.TrimSpace(text) == "" {
			continue
		}
		value, err := parseFact(text, f.Type)
		if err == nil {
			err = putFact(facts, f.Path, value)
		}
		if err != nil {
			v.form.bad(f.field(), err.Error())
		}
	}
	if err := v.readOthers(facts, types); err != nil {
		v.form.bad(otherField, err.Error())
	}
	return facts
}
