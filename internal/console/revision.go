package console

import (
	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// proposal is a revision of a rule that waits for a second person.
type proposal struct {
	rule.Revision

	changes []fieldChange
	own     bool // the person has proposed it
}

// proposalsOf lists the revisions of a rule that wait.
func proposalsOf(p *page, id string) ([]proposal, error) {
	found, err := client.Get(p.ctx, p.api, op.ListRuleRevisions.At(id).Where(wire.PageQuery{Page: 1, PageSize: listSize}))
	if err != nil {
		return nil, err
	}
	var list []proposal
	for _, d := range found.Items {
		one := proposal{Revision: d.Revision, own: d.Author == p.who.Name}
		for _, c := range d.Changes {
			one.changes = append(one.changes, fieldChange{name: words(c.Field), pieces: wordmark.Compare(readable(c.Before), readable(c.After))})
		}
		list = append(list, one)
	}
	return list, nil
}

// decideRevision approves, rejects or withdraws a revision.
func decideRevision(p *page) error {
	id, n := p.r.PathValue("id"), p.r.PathValue("n")
	body := wire.DecideRevision{Note: p.r.PostForm.Get("note")}
	var err error
	said := ""
	switch p.r.PostForm.Get("decision") {
	case "approve":
		_, err = client.Call(p.ctx, p.api, op.ApproveRevision.At(id, n), body)
		said = "The revision is approved. The rule says so from now on."
	case "reject":
		_, err = client.Call(p.ctx, p.api, op.RejectRevision.At(id, n), body)
		said = "The revision is rejected. The rule stays as it is."
	case "withdraw":
		_, err = client.Call(p.ctx, p.api, op.WithdrawRevision.At(id, n), body)
		said = "The revision is withdrawn. The rule stays as it is."
	default:
		err = rule.Errorf(rule.CodeInvalid, "the form has no decision; press one of its buttons")
	}
	if err != nil {
		return err
	}
	p.say(said)
	return p.redirect(p.at("rules", id))
}
