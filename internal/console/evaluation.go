package console

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/patch"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// evaluation is the view of one evaluation.
type evaluation struct {
	rec      *wire.EvaluationRecord
	e        *rule.Evaluation
	violated []verdict
	confirm  []verdict
	waived   []verdict
	kept     []verdict
	idle     []verdict // of rules that are not concerned
	facts    []fact
	feedback map[string][]wire.Feedback // by rule
	change   change
	// approvals are those that were asked for, newest first; mayAsk is true if the person may ask for one.
	approvals []rule.Approval
	mayAsk    bool
	print     bool // for paper: nothing is folded
}

// verdict is the verdict of one rule in an evaluation.
type verdict struct {
	rule.RuleVerdict

	id   string // of the element
	rows []int  // where each location is in the layout of the change; -1 if it is not there
}

// fact is one value among the facts of a subject.
type fact struct {
	name, value string
	decided     bool
}

// Bounds of a page of an evaluation.
const (
	maxFacts = 500
	diffRows = 1_000 // rows of a page of a change
)

// evaluationPage shows one evaluation: the verdict, what decided it, and all that is kept.
func evaluationPage(p *page) error {
	v, err := readEvaluation(p)
	if err != nil {
		return err
	}
	feedback, err := client.Get(p.ctx, p.api, op.ListFeedback.At(v.e.EvaluationID))
	if err != nil {
		return err
	}
	for _, f := range feedback.Items {
		v.feedback[f.RuleID] = append(v.feedback[f.RuleID], f)
	}
	if err := readApprovals(p, v); err != nil {
		return err
	}
	title := words(string(v.e.OverallVerdict)) + ", evaluation " + v.e.EvaluationID
	return p.show(head{Title: title, Nav: "evaluations", Print: v.print}, evaluationView(p, v))
}

func readEvaluation(p *page) (*evaluation, error) {
	rec, err := client.Get(p.ctx, p.api, op.GetEvaluation.At(p.r.PathValue("id")))
	if err != nil {
		return nil, err
	}
	v := &evaluation{rec: &rec, e: rec.Evaluation, feedback: map[string][]wire.Feedback{}, print: p.r.URL.Query().Get("print") != ""}
	v.change = changeOf(p, &rec)
	for i := range v.e.RuleVerdicts {
		one := verdict{RuleVerdict: v.e.RuleVerdicts[i], id: "v" + strconv.Itoa(i)}
		for k := range one.Locations {
			one.rows = append(one.rows, v.change.rowOf(i, k))
		}
		list := &v.kept
		switch {
		case one.Waiver != nil:
			list = &v.waived
		case one.Verdict == rule.Deny:
			list = &v.violated
		case one.Verdict == rule.NeedsConfirmation:
			list = &v.confirm
		case !one.Concerned:
			list = &v.idle
		}
		*list = append(*list, one)
	}
	v.facts = factsOf(&rec)
	return v, nil
}

// sealedWords are the states of personal data, in words.
var sealedWords = map[wire.SealedState]string{
	wire.SealedOpen: "encrypted in the record, and open to you", wire.SealedClosed: "encrypted, for reviewers",
	wire.SealedForgotten: "forgotten", wire.SealedUnreadable: "cannot be read",
}

// factsOf lists the facts of a subject by their paths, those first on which a verdict rests.
func factsOf(rec *wire.EvaluationRecord) []fact {
	decided := map[string]bool{}
	for _, v := range rec.Evaluation.RuleVerdicts {
		if v.Verdict == rule.Allow {
			continue
		}
		for _, e := range v.Evidence {
			if e.Kind == rule.EvidenceFact {
				decided[strings.TrimPrefix(e.Fact, "facts.")] = true
			}
		}
	}
	var list []fact
	var walk func(name string, value any)
	walk = func(name string, value any) {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			for _, key := range slices.Sorted(maps.Keys(inner)) {
				if len(list) < maxFacts {
					walk(name+"."+key, inner[key])
				}
			}
			return
		}
		text, err := plainJSON(value, "")
		if err != nil {
			text = "?"
		}
		list = append(list, fact{name: name, value: text, decided: decided[name]})
	}
	for _, key := range slices.Sorted(maps.Keys(rec.Subject.Facts)) {
		if len(list) < maxFacts {
			walk(key, rec.Subject.Facts[key])
		}
	}
	slices.SortStableFunc(list, func(a, b fact) int {
		switch {
		case a.decided == b.decided:
			return 0
		case a.decided:
			return -1
		}
		return 1
	})
	return list
}

// search is the value of the filter that finds evaluations with the fact.
func (f fact) search() string {
	var text string
	if json.Unmarshal([]byte(f.value), &text) != nil {
		text = f.value
	}
	return f.name + ":" + text
}

// change is the view of the change that an evaluation judged.
type change struct {
	address string // of the evaluation
	layout  *patch.Layout
	rows    []patch.Row
	from    int // index of the first row shown
	sides   bool
	labels  []string // of the marks: the rules that point there
	targets []string // ids of the elements about them
	marks   map[[2]int]int
}

// changeOf lays out the change of a record, on the page of rows that the address names, or else on the first with a mark.
func changeOf(p *page, rec *wire.EvaluationRecord) change {
	c := change{address: p.at("evaluations", rec.Evaluation.EvaluationID), marks: map[[2]int]int{}, sides: p.r.URL.Query().Get("view") == "sides"}
	var marks []patch.Mark
	for i, v := range rec.Evaluation.RuleVerdicts {
		if v.Verdict == rule.Allow {
			continue
		}
		for k, at := range v.Locations {
			quote := ""
			for _, e := range v.Evidence {
				if e.Kind == rule.EvidenceQuote && e.FilePath == at.FilePath && e.Line >= at.StartLine && e.Line <= at.EndLine {
					quote = e.Quote
				}
			}
			c.marks[[2]int{i, k}] = len(marks)
			marks = append(marks, patch.Mark{Path: at.FilePath, From: at.StartLine, To: at.EndLine, Quote: quote})
			label := v.RuleSlug
			if label == "" {
				label = v.RuleID
			}
			c.labels = append(c.labels, label+": "+v.Why())
			c.targets = append(c.targets, "v"+strconv.Itoa(i))
		}
	}
	var whole []patch.Whole
	for _, f := range rec.Subject.Files {
		if f.Content != nil {
			whole = append(whole, patch.Whole{Path: f.Path, Content: *f.Content})
		}
	}
	c.layout = patch.Read(rec.Subject.Diff, whole, marks)
	c.from = max(c.layout.First(), 0)
	if asked, err := strconv.Atoi(p.r.URL.Query().Get("from")); err == nil {
		c.from = asked
	}
	c.from = min(max(c.from, 0), max(c.layout.Len()-1, 0)) / diffRows * diffRows
	c.rows = c.layout.Page(c.from, diffRows)
	return c
}

// rowOf is the row of a location of a verdict, or -1.
func (c *change) rowOf(verdict, location int) int {
	mark, ok := c.marks[[2]int{verdict, location}]
	if !ok {
		return -1
	}
	return c.layout.RowOf(mark)
}

// at is the address of the page of the change that shows a row.
func (c *change) at(row int) string {
	view := ""
	if c.sides {
		view = "sides"
	}
	return c.address + "?" + queryOf("from", strconv.Itoa(row/diffRows*diffRows), "view", view)
}

// line is the address of a row, in one column.
func (c change) line(row int) string {
	c.sides = false
	return c.at(row) + "#r" + strconv.Itoa(row)
}

// part is the address of the component alone that shows a row.
func (c *change) part(row int) string { return strings.Replace(c.at(row), "?", "/diff?", 1) }

// evaluationDiff answers with a page of the change alone, for the script; without it, with the evaluation.
func evaluationDiff(p *page) error {
	if !p.partial() {
		return p.redirect(p.at("evaluations", p.r.PathValue("id")) + "?" + p.r.URL.RawQuery + "#diff")
	}
	rec, err := client.Get(p.ctx, p.api, op.GetEvaluation.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	return p.fragment(changeView(p, changeOf(p, &rec)))
}

// evaluationJSON answers with the record as the API has it.
func evaluationJSON(p *page) error {
	rec, err := client.Get(p.ctx, p.api, op.GetEvaluation.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return p.download("evaluation-"+rec.Evaluation.EvaluationID+".json", "application/json", append(body, '\n'))
}

// replayEvaluation decides the evaluation again and shows the outcome. Nothing is recorded, so the answer may be loaded again.
func replayEvaluation(p *page) error {
	id := p.r.PathValue("id")
	replay, err := client.Call(p.ctx, p.api, op.ReplayEvaluation.At(id), wire.ReplayRequest{})
	if err != nil {
		return err
	}
	return p.show(head{Title: "Replay", Nav: "evaluations"}, replayView(p, id, replay))
}

// giveFeedback records whether a verdict was right.
func giveFeedback(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	correct := form.Get("correct") == "yes"
	_, err := client.Call(p.ctx, p.api, op.GiveFeedback.At(id), wire.FeedbackRequest{RuleID: form.Get("rule"), Correct: correct, Note: form.Get("note")})
	if err != nil {
		return err
	}
	p.say("Your judgement is recorded. It counts in the quality of the rule.")
	return p.redirect(p.at("evaluations", id) + "#" + elementOf(form.Get("at")))
}

// waiveViolation makes a waiver of a violation.
func waiveViolation(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	until, err := time.Parse(time.DateOnly, form.Get("until"))
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the waiver needs the day on which it ends, such as 2026-12-31")
	}
	made, err := client.Call(p.ctx, p.api, op.CreateWaiver, wire.CreateWaiver{
		RuleID: form.Get("rule"), Fingerprint: form.Get("fingerprint"), Repository: form.Get("repository"), Reason: form.Get("reason"),
		ExpiresAt: until, Approver: form.Get("approver"),
	})
	if err != nil {
		return err
	}
	said := "The waiver is made. It covers the same violation from the next evaluation on."
	if made.Status == rule.WaiverPending {
		said = "The waiver is asked for. It covers the violation once a second person approves it."
	}
	p.say(said)
	return p.redirect(p.at("evaluations", id) + "#" + elementOf(form.Get("at")))
}

// elementOf is the id of an element that a form names, or main.
func elementOf(s string) string {
	if n, ok := strings.CutPrefix(s, "v"); ok {
		if _, err := strconv.Atoi(n); err == nil {
			return s
		}
	}
	return "main"
}

// waiverEnd is the day that the form of a waiver proposes.
func (p *page) waiverEnd() string {
	return p.console.cfg.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
}
