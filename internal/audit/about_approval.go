package audit

import "slices"

func readApproval(a *About, b fields) {
	p := b.object("approval")
	a.Object = Object{ObjectApproval, p.text("id"), p.text("title")}
	for _, r := range p.list("rules") {
		a.concern(r.text("rule_id"))
	}
	a.State = without(p, "id", "project_id", "revision", "title")
	a.Made = a.Action == "requested"
	for _, id := range []string{p.text("evaluation_id"), b.text("evaluation_id")} {
		if id != "" && !slices.Contains(a.Evaluations, id) {
			a.Evaluations = append(a.Evaluations, id)
		}
	}
	if a.Reason == "" && a.Made {
		a.Reason = p.text("reason")
	}
}

func readHold(a *About, b fields) {
	h := b.object("hold")
	a.Object = Object{ObjectHold, h.text("id"), h.text("reason")}
	a.concern(h.text("rule"))
	a.State = without(h, "id")
	a.Made = a.Action == "placed"
}
