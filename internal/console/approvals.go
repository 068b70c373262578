package console

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/a-h/templ"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// approvalsName is the name of the screens of approvals.
const approvalsName = "approvals"

// approvalFilters are the names of the parameters of the list, for the API too.
var approvalFilters = []string{"state", "requester", "agent", "person", "session", "rule", "repository", "severity_min", "mine"}

// approvals is the view of the list of approvals.
type approvals struct {
	wire.ApprovalPage

	place    pager
	filtered bool
	problem  string // what is wrong with the filters
}

// approvalList shows the approvals of a project, newest first.
func approvalList(p *page) error {
	var v approvals
	o := op.ListApprovals.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	for _, name := range approvalFilters {
		if value := strings.TrimSpace(p.r.URL.Query().Get(name)); value != "" {
			o.Query.Set(name, value)
			v.filtered = v.filtered || name != "state"
		}
	}
	var err error
	v.ApprovalPage, err = client.Get(p.ctx, p.api, o)
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.place = pager{pageOf(p.r), listSize, len(v.Items), v.Total}
	return p.show(head{Title: "Approvals", Nav: approvalsName}, approvalsView(p, v))
}

// approvalShown is the view of one approval.
type approvalShown struct {
	*wire.ApprovalDetail

	problem string // why a decision was refused
	reason  string // as it was typed
	signed  bool   // the person came by a signed link
}

// approvalPage shows one approval with the complete action. The signature in the address of a signed link is checked, and gives no rights.
func approvalPage(p *page) error {
	o := op.GetApproval.At(p.r.PathValue("id"))
	query, v := p.r.URL.Query(), approvalShown{}
	for _, name := range []string{"until", "signature"} {
		if query.Has(name) {
			v.signed = true
			if o.Query == nil {
				o.Query = url.Values{}
			}
			o.Query.Set(name, query.Get(name))
		}
	}
	d, err := client.Get(p.ctx, p.api, o)
	if err != nil {
		return err
	}
	v.ApprovalDetail = &d
	return p.show(approvalHead(&d.Approval), approvalView(p, v))
}

func approvalHead(a *rule.Approval) head {
	return head{Title: titled(string(a.State)) + " approval", Nav: approvalsName}
}

// decideApproval approves, rejects or withdraws an approval. A refused decision shows the page again, with what was typed.
func decideApproval(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	body := wire.DecideApproval{Reason: strings.TrimSpace(form.Get("reason"))}
	var decide op.Op[wire.DecideApproval, rule.Approval]
	switch form.Get("do") {
	case "approve":
		decide = op.ApproveApproval.At(id)
	case "reject":
		decide = op.RejectApproval.At(id)
	case "withdraw":
		decide = op.WithdrawApproval.At(id)
	default:
		return rule.Errorf(rule.CodeInvalid, "the form has no decision; press one of its buttons")
	}
	a, err := client.Call(p.ctx, p.api, decide, body)
	if code := rule.CodeOf(err); refused[code] || code == rule.CodeForbidden {
		d, readErr := client.Get(p.ctx, p.api, op.GetApproval.At(id))
		if readErr != nil {
			return readErr
		}
		return p.showAs(statuses[code], approvalHead(&d.Approval), approvalView(p, approvalShown{ApprovalDetail: &d, problem: reasonOf(err), reason: form.Get("reason")}))
	} else if err != nil {
		return err
	}
	p.say(approvalSaid(&a, form.Get("do")))
	return p.redirect(p.at(approvalsName, id))
}

// reasonOf is the text of an error of the API, with that of its fields.
func reasonOf(err error) string {
	if text, err := refusedFilter(err); err == nil && text != "" {
		return text
	}
	return err.Error()
}

// approvalSaid says what a decision has led to.
func approvalSaid(a *rule.Approval, did string) string {
	switch {
	case did == "approve" && a.State == rule.ApprovalPending:
		return fmt.Sprintf("Your approval is recorded. %d of %s approved it.", len(a.Approvals()), counted(int64(a.Quorum), "person has", "people have"))
	case did == "approve":
		return "It is approved. The requester can go on with exactly this action."
	case did == "reject":
		return "It is rejected. The requester sees your reason."
	}
	return "It is withdrawn."
}

// liveApproval streams the state of an approval to a page that shows it, until it is decided.
func liveApproval(p *page) error {
	seen, over := p.r.URL.Query().Get("seen"), false
	o := op.GetApproval.At(p.r.PathValue("id")).Where(wire.ApprovalWait{Wait: "0s"})
	return streamUntil(p, &over, func(ctx context.Context) (templ.Component, error) {
		d, err := client.Get(ctx, p.api, o)
		if err != nil {
			return nil, err
		}
		over = d.State != rule.ApprovalPending && d.State != rule.ApprovalApproved
		return approvalNews(p.at(approvalsName, d.ID), fmt.Sprint(d.Revision) != seen || d.At(p.console.cfg.Now()) != d.State, &d.Approval), nil
	})
}

// askForApproval asks people to confirm an evaluation.
func askForApproval(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	a, err := client.Call(p.ctx, p.api, op.CreateApproval, wire.CreateApproval{
		EvaluationID: id, ApprovalTerms: wire.ApprovalTerms{Reason: strings.TrimSpace(form.Get("reason"))},
	})
	if refused[rule.CodeOf(err)] {
		p.warn(reasonOf(err))
		return p.redirect(p.at("evaluations", id))
	} else if err != nil {
		return err
	}
	p.say("People are asked. The page of the approval shows what they decide.")
	return p.redirect(p.at(approvalsName, a.ID))
}

// readApprovals reads the approvals that were asked for an evaluation, if there can be any.
func readApprovals(p *page, v *evaluation) error {
	if v.e.OverallVerdict != rule.NeedsConfirmation {
		return nil
	}
	list, err := client.Get(p.ctx, p.api, op.ListApprovals.Where(wire.ApprovalQuery{EvaluationID: v.e.EvaluationID, PageQuery: wire.PageQuery{PageSize: 5}}))
	if err != nil {
		return err
	}
	v.approvals = list.Items
	open := slices.ContainsFunc(list.Items, func(a rule.Approval) bool {
		return a.State == rule.ApprovalPending || a.State == rule.ApprovalApproved || a.State == rule.ApprovalUsed
	})
	v.mayAsk = !open && v.e.Mode != rule.Posthoc && p.may(auth.Evaluator) && !v.print
	return nil
}

// approvalTone is the class of the state of an approval.
func approvalTone(s rule.ApprovalState) string {
	switch s {
	case rule.ApprovalPending:
		return "warn"
	case rule.ApprovalApproved, rule.ApprovalUsed:
		return "good"
	case rule.ApprovalRejected, rule.ApprovalExpired:
		return "bad"
	case rule.ApprovalWithdrawn:
	}
	return "plain"
}

// textName is the name of a text of an action, for a heading.
func textName(name string) string {
	if slices.Contains([]string{"action", "facts", "diff", "intent", "repository", "scope"}, name) {
		return titled(name)
	}
	return name
}

// codePoint is a character or a byte that the API has written out since people cannot see it.
var codePoint = regexp.MustCompile(`⟨(?:U\+[0-9A-F]{4,6}|0x[0-9A-F]{2})⟩`)

// whole shows a text that the API has made visible: all of it, however long it is, with what it has written out marked. A person approves it, so
// nothing is folded or cut.
func whole(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString(`<bdi class="whole">`)
		from := 0
		for _, at := range codePoint.FindAllStringIndex(text, -1) {
			writeText(&b, text[from:at[0]])
			b.WriteString(`<span class="cp">` + html.EscapeString(strings.TrimFunc(text[at[0]:at[1]], unicode.IsPunct)) + `</span>`)
			from = at[1]
		}
		writeText(&b, text[from:])
		b.WriteString(`</bdi>`)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// actor is a name for people; a dash without one.
func actor(name string) string { return cmp.Or(name, "–") }

// marks counts the characters of the action that are written out.
func (v *approvalShown) marks() (n int) {
	for _, text := range v.Display {
		n += text.Marks
	}
	return n
}

// decisionWord says what a person has decided.
func decisionWord(a *rule.Approval, d *rule.ApprovalDecision) string {
	switch {
	case d.Approve:
		return "approved"
	case a.State == rule.ApprovalWithdrawn && a.DecidedAt != nil && d.At.Equal(*a.DecidedAt):
		return "withdrew"
	}
	return "rejected"
}

// requester is who asked for an evaluation.
func (v *evaluation) requester() string {
	if v.rec.Audit == nil || v.rec.Audit.Actor == "" {
		return "who asked for the evaluation"
	}
	return visible(v.rec.Audit.Actor)
}
