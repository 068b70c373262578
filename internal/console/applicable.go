package console

import (
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// applicableKinds are the kinds of subject that the form offers.
var applicableKinds = slices.Concat([]option{{string(wire.CodeChange), "Files of a change"}}, tryKinds, []option{{string(wire.DocumentKind), "Document"}})

// pathsField is the field of the form with the files, one a line.
const pathsField = "paths"

// applicable is the view of the rules that apply to a subject, and why.
type applicable struct {
	try // the kind and the facts of the subject

	wire.ExplainedRules

	part  wire.RulePart
	place pager
	asked bool
	given int // facts at the top level that somebody has filled in
}

// applicableRules explains which rules apply to files, a payment or another subject.
func applicableRules(p *page) error {
	v := &applicable{try: try{form: entry{values: p.r.URL.Query()}}}
	v.part = wire.RulePart(v.form.get("part"))
	if !slices.Contains(wire.RuleParts, v.part) {
		v.part = ""
	}
	v.kind = wire.SubjectKind(v.form.get("kind"))
	if !slices.ContainsFunc(applicableKinds, func(o option) bool { return o.Value == string(v.kind) }) {
		v.kind = wire.CodeChange
	}
	if err := v.load(p); err != nil {
		if err := v.form.refuse(err, v.field); err != nil {
			return err
		}
	}
	return p.showAs(v.form.code(), head{Title: "Rules that apply", Nav: "search"}, applicableView(p, v))
}

// load reads the facts that rules read of the kind, and what is explained.
func (v *applicable) load(p *page) error {
	req := wire.ExplainRequest{
		ApplicableRequest: wire.ApplicableRequest{
			Repository: strings.TrimSpace(v.form.get("repository")), Scope: v.form.get("scope"), NodeID: strings.TrimSpace(v.form.get("node_id")),
			Environment: v.form.get("environment"),
		},
		SubjectKind: v.kind, SeverityMin: rule.Severity(v.form.get("severity_min")), Part: v.part, Rule: strings.TrimSpace(v.form.get("rule")),
		Page: pageOf(p.r), PageSize: listSize,
	}
	if v.hasFacts() {
		if err := v.loadFacts(p); err != nil {
			return err
		}
		if facts := v.read(); len(facts) > 0 {
			req.Facts, v.given = facts, len(facts)
		}
		if v.form.fails() {
			return nil
		}
	} else if v.kind == wire.CodeChange {
		req.FilePaths = splitList(v.form.get(pathsField), false)
	}
	found, err := client.Call(p.ctx, p.api, op.ExplainRules, req)
	if err != nil {
		return err
	}
	v.ExplainedRules, v.place, v.asked = found, pager{pageOf(p.r), listSize, len(found.Items), found.Total}, true
	return nil
}

// hasFacts reports whether facts describe a subject of the kind.
func (v *applicable) hasFacts() bool {
	return v.kind != wire.CodeChange && v.kind != wire.DocumentKind && v.kind != wire.Action
}

// narrowed reports whether a field is filled in that the form folds otherwise.
func (v *applicable) narrowed() bool {
	return slices.ContainsFunc([]string{"repository", "node_id", "environment", "severity_min"}, func(name string) bool { return v.form.get(name) != "" })
}

// field is the field of the form that a field of the request is in, or empty.
func (v *applicable) field(name string) string {
	switch name {
	case "severity_min", "environment", "rule":
		return name
	}
	if strings.HasPrefix(name, "file_paths") || strings.HasPrefix(name, "files") {
		return pathsField
	}
	return tryField(name, &v.try)
}

// partLabels name the parts of rules for people.
var partLabels = map[wire.RulePart]string{
	wire.PartApplies: "Asked", wire.PartContext: "Context", wire.PartOverridden: "Overridden", wire.PartNotConcerned: "Not concerned", wire.PartLeftOut: "Left out",
}

// partTone is the class of a part.
func partTone(part wire.RulePart) string {
	switch part {
	case wire.PartApplies:
		return "good"
	case wire.PartOverridden:
		return "warn"
	case wire.PartContext, wire.PartNotConcerned, wire.PartLeftOut:
	}
	return "plain"
}

// all is the number of rules of every part.
func (v *applicable) all() int {
	n := 0
	for _, part := range wire.RuleParts {
		n += *v.Counts.Of(part)
	}
	return n
}

// decisive parts the reasons of a rule into those that decide its part, and the others.
func decisive(r *wire.ExplainedRule) (decide, others []wire.RuleReason) {
	for _, reason := range r.Reasons {
		is := reason.Met == wire.MetNo
		switch r.Part {
		case wire.PartApplies:
			is = reason.About != "status"
		case wire.PartContext:
			is = reason.About == "status"
		case wire.PartOverridden, wire.PartNotConcerned, wire.PartLeftOut:
		}
		if is {
			decide = append(decide, reason)
		} else {
			others = append(others, reason)
		}
	}
	return decide, others
}

// metWords say whether a condition is met.
var metWords = map[wire.ReasonMet]string{wire.MetYes: "met", wire.MetNo: "not met", wire.MetOpen: "not known"}

// metTone is the class of a condition.
func metTone(m wire.ReasonMet) string {
	switch m {
	case wire.MetYes:
		return "good-text"
	case wire.MetOpen:
		return "warn-text"
	case wire.MetNo:
	}
	return "bad-text"
}

// metSign is shown before a condition.
func metSign(m wire.ReasonMet) string {
	switch m {
	case wire.MetYes:
		return "✓"
	case wire.MetOpen:
		return "?"
	case wire.MetNo:
	}
	return "✗"
}
