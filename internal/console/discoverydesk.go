package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// desk is the view of one candidate that is decided on.
type desk struct {
	wire.CandidateDetail

	scan    wire.Scan
	edit    ruleEdit          // the inputs of the rule that it would be
	similar wire.SimilarRules // rules as they are now; empty if it could be no rule
	invalid string            // why it could be none
	target  string            // what is typed to merge into
	never   string            // folder that is chosen to leave out
	reason  string
	undo    int
	status  int // of the page
}

// decides reports whether the page offers decisions.
func (v *desk) decides(p *page) bool {
	return v.Status == wire.CandidateUndecided && p.may(auth.Reviewer)
}

// deskPage shows a candidate: the source beside the statement, and the rules that say the same or the contrary.
func deskPage(p *page) error {
	v := desk{reason: p.console.sessions.GetString(p.ctx, triageReasonValue)}
	if err := v.read(p); err != nil {
		return err
	}
	base := candidateRule(&v.Candidate)
	v.edit.form = editFormOf(&base)
	return v.show(p, &base)
}

// read gets the candidate with its scan.
func (v *desk) read(p *page) (err error) {
	q, _ := triageQuery(p)
	v.CandidateDetail, err = client.Get(p.ctx, p.api, op.GetCandidate.At(p.r.PathValue("id")).Where(wire.NeighbourQuery{Path: q.Path, MinConfidence: q.MinConfidence}))
	if err != nil {
		return err
	}
	v.scan, err = client.Get(p.ctx, p.api, op.GetScan.At(v.ScanID))
	return err
}

// show answers with the page; would is the rule that the inputs make.
func (v *desk) show(p *page, would *rule.Rule) error {
	if v.Status == wire.CandidateUndecided {
		if err := v.compare(p, would); err != nil {
			return err
		}
	}
	if kept, ok := p.console.sessions.Get(p.ctx, triageUndoValue).(triageUndo); ok && kept.Project == p.project.ID {
		v.undo = kept.count()
	}
	if v.status == 0 {
		v.status = http.StatusOK
	}
	return p.showAs(v.status, head{Title: clipText(v.Statement, 80), Nav: discoveryName}, deskView(p, v))
}

// maxLike bounds the rules that are offered to merge into.
const maxLike = 5

// compare reads the rules that say the same or the contrary.
func (v *desk) compare(p *page, would *rule.Rule) error {
	in := wire.RuleInput{}
	would.WriteTo(&in)
	in.SourceRefs = nil
	var err error
	v.similar, err = client.Call(p.ctx, p.api, op.SimilarRules, wire.SimilarRequest{Rule: in})
	v.similar.Similar = v.similar.Similar[:min(len(v.similar.Similar), maxLike)]
	if rule.CodeOf(err) == rule.CodeInvalid {
		if v.status == 0 {
			v.invalid = err.Error()
		}
		return nil
	}
	return err
}

// candidateRule is the rule that a candidate suggests.
func candidateRule(c *wire.Candidate) rule.Rule {
	m := &c.SuggestedMetadata
	r := rule.Rule{
		Statement: c.Statement, Modality: m.Modality, Severity: rule.Severity(strings.ToUpper(m.Severity)), Tags: m.Tags, Exceptions: m.Exceptions,
		AppliesTo: m.AppliesTo, Check: m.Check, Rationale: m.Rationale,
	}
	for s := range strings.SplitSeq(m.Scope, ",") {
		if s = strings.TrimSpace(s); s != "" {
			r.Scope = append(r.Scope, s)
		}
	}
	r.Normalize()
	return r
}

// approval is the approval of a candidate with the inputs of the form.
func approval(form editForm, r *rule.Rule) wire.CandidateApproval {
	check, applies := r.Check, r.AppliesTo
	if check == nil {
		check = &rule.Check{}
	}
	if applies == nil {
		applies = &rule.AppliesTo{}
	}
	list := func(of []string) []string { return append([]string{}, of...) } // what is empty replaces what was suggested, too
	return wire.CandidateApproval{Statement: &r.Statement, Overrides: &wire.Overrides{
		Scope: list(r.Scope), Modality: r.Modality, Severity: r.Severity, Tags: list(r.Tags), Exceptions: list(r.Exceptions), AppliesTo: applies, Check: check,
		Slug: r.Slug, Owner: r.Owner, Status: rule.Status(form.get("status")),
	}}
}

// decideCandidate carries out what the person has chosen for a candidate, and leads to the next one.
func decideCandidate(p *page) error {
	v := desk{}
	if err := v.read(p); err != nil {
		return err
	}
	base := candidateRule(&v.Candidate)
	v.edit.form = editForm{p.r.PostForm}
	v.reason, v.never = strings.TrimSpace(v.edit.form.get("reason")), v.edit.form.get("never")
	p.console.sessions.Put(p.ctx, triageReasonValue, v.reason)
	would, problems := v.edit.form.rule(&base)
	err := v.decide(p, &would, problems)
	if err == nil {
		return v.next(p)
	}
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || !refused[e.Code] {
		return err
	}
	v.status = statuses[e.Code]
	if len(problems) > 0 {
		v.edit.problems = problems
	}
	if len(e.Fields) == 0 && len(problems) == 0 {
		v.edit.refusal = e.Message
	}
	for _, f := range e.Fields {
		v.edit.problems = append(v.edit.problems, v.edit.form.problem(rule.FieldError{Field: strings.TrimPrefix(f.Field, "metadata_overrides."), Message: f.Message}))
	}
	return v.show(p, &would)
}

// decide carries out the decision of the form.
func (v *desk) decide(p *page, would *rule.Rule, problems []editProblem) error {
	undo := triageUndo{Project: p.project.ID, Candidates: []string{v.ID}}
	form := v.edit.form
	do, into, _ := strings.Cut(form.get("do"), " ")
	var said string
	var err error
	switch do {
	case "approve":
		if len(problems) > 0 {
			return rule.Errorf(rule.CodeInvalid, "some fields need another look")
		}
		_, err = client.Call(p.ctx, p.api, op.ApproveCandidate.At(v.ID), approval(form, would))
		said = "Approved."
	case "dismiss":
		_, err = client.Call(p.ctx, p.api, op.DismissCandidate.At(v.ID), wire.DismissCandidate{Reason: v.reason})
		said = "Dismissed."
	case "merge":
		if into == "" {
			v.target = strings.TrimSpace(form.get("into"))
			into = v.target
		}
		said, err = v.merge(p, into)
	case "never":
		var made wire.ExclusionMade
		made, err = client.Call(p.ctx, p.api, op.CreateExclusion, wire.CreateExclusion{Repository: v.scan.Repository, Path: v.never, Reason: v.reason})
		said, undo = sayExcluded(made), triageUndo{Project: p.project.ID, Exclusion: made.ID}
	case "reopen":
		_, err = client.Get(p.ctx, p.api, op.ReopenCandidate.At(v.ID))
		said, undo = "It waits for a decision again.", triageUndo{}
	default:
		err = rule.Errorf(rule.CodeInvalid, "the form asks for %q, which is no decision", clipText(do, briefText))
	}
	if err != nil {
		return err
	}
	if undo.count() > 0 {
		p.console.sessions.Put(p.ctx, triageUndoValue, undo)
	}
	p.say(said)
	return nil
}

// merge merges the candidate into another, or into a rule.
func (v *desk) merge(p *page, into string) (said string, err error) {
	body := wire.MergeCandidate{RuleID: into}
	if slices.ContainsFunc(v.Alike, func(a wire.Alike) bool { return a.CandidateID == into }) {
		body = wire.MergeCandidate{CandidateID: into}
	}
	if into == "" {
		return "", rule.Errorf(rule.CodeInvalid, "name the rule to merge into: its short name, or its id")
	}
	done, err := client.Call(p.ctx, p.api, op.MergeCandidate.At(v.ID), body)
	if err != nil || body.CandidateID != "" || p.project.TwoPerson {
		return "Merged.", err
	}
	return "Merged into " + labelOf("", done.RuleID) + ".", nil
}

// next leads to the next candidate that waits, or to the scan if none is left.
func (v *desk) next(p *page) error {
	if strings.HasPrefix(v.edit.form.get("do"), "reopen") {
		return p.redirect(deskAddress(p, v.ID))
	}
	if v.edit.form.get("do") == "never" { // others may be decided too
		return startTriageOf(p, v.ScanID)
	}
	switch {
	case v.Next != "":
		return p.redirect(deskAddress(p, v.Next))
	case v.Previous != "":
		return startTriageOf(p, v.ScanID)
	}
	return p.redirect(scanAddress(p, v.ScanID))
}

// excerptRow is a line of the source of a candidate.
type excerptRow struct {
	number int
	text   string
	marked bool
}

// excerptRows are the lines of the source round a candidate; those that it rests on are marked.
func excerptRows(v *desk) []excerptRow {
	list := make([]excerptRow, len(v.Excerpt.Lines))
	for i, l := range v.Excerpt.Lines {
		n := v.Excerpt.FirstLine + i
		list[i] = excerptRow{n, l, n >= v.SourceLine && n <= v.SourceEndLine}
	}
	return list
}

// mergeKey is the key that leads to what a candidate can be merged into: the first of the list has it.
func mergeKey(i int) string {
	if i == 0 {
		return "m"
	}
	return ""
}

// nearestFolder is the folder that is offered first to be left out.
func nearestFolder(file string) string {
	list := folders(file)
	return list[min(1, len(list)-1)]
}

// bornStatuses are the states that a reviewer may give the rule of a candidate.
var bornStatuses = []option{{"DRAFT", "a draft"}, {"REVIEW", "a rule in review"}, {"APPROVED", "an approved rule"}, {"EFFECTIVE", "a rule in force"}}
