package console

import (
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// actingAgents is the view of the agents that act in a project.
type actingAgents struct {
	items       []wire.ActingAgent
	place       pager
	words       string
	form        entry
	suspensions []rule.Suspension // in force
}

// maxSuspensions bounds the suspensions that a page shows.
const maxSuspensions = 50

// suspensionsOf lists the suspensions in force in the project of the page.
func suspensionsOf(p *page) ([]rule.Suspension, error) {
	list, err := client.Get(p.ctx, p.api, op.Suspensions.Where(wire.SuspensionQuery{InForce: true, PageQuery: wire.PageQuery{Page: 1, PageSize: maxSuspensions}}))
	return list.Items, err
}

// agentList shows the agents that have asked for evaluations, and those that are suspended.
func agentList(p *page) error { return showAgents(p, &actingAgents{}) }

func showAgents(p *page, v *actingAgents) error {
	v.words = p.r.URL.Query().Get("q")
	list, err := client.Get(p.ctx, p.api, op.ListActing.Where(wire.ActingQuery{
		Words: v.words, PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}))
	if err != nil {
		return err
	}
	v.items, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	if v.suspensions, err = suspensionsOf(p); err != nil {
		return err
	}
	return p.showAs(v.form.code(), head{Title: "Agents", Nav: "agents"}, agentsView(p, v))
}

// suspendAgent suspends an agent in the project of the page.
func suspendAgent(p *page) error {
	v := actingAgents{form: entry{values: p.r.PostForm}}
	body := wire.SuspendAgent{Agent: v.form.get("agent"), Person: v.form.get("person"), Reason: v.form.get("reason")}
	if _, err := client.Call(p.ctx, p.api, op.SuspendAgent, body); err != nil {
		if err := v.form.refuse(err, func(name string) string {
			return map[string]string{"agent": "agent", "person": "person", "reason": "reason"}[name]
		}); err != nil {
			return err
		}
		return showAgents(p, &v)
	}
	p.say("The agent is suspended: all that it asks for is denied.")
	return p.redirect(p.at("agents"))
}

// resumeAgent lifts a suspension.
func resumeAgent(p *page) error {
	api := p.api
	if p.r.PostForm.Get("of") == store.AllProjects {
		api = api.InProject(store.AllProjects)
	}
	_, err := client.Call(p.ctx, api, op.LiftSuspended.At(p.r.PostForm.Get("id")), wire.LiftSuspension{Reason: p.r.PostForm.Get("reason")})
	if err != nil {
		return err
	}
	p.say("The agent may act again.")
	return p.redirect(p.at("agents"))
}
