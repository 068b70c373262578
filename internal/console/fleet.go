package console

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// readFleet reads a page of the edges of the project.
func readFleet(ctx context.Context, p *page) (wire.Fleet, error) {
	return client.Get(ctx, p.api, op.ListFleet.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
}

// fleetPage shows the edges of the project, and how far the newest bundles have come.
func fleetPage(p *page) error {
	fleet, err := readFleet(p.ctx, p)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Edges", Nav: "fleet"}, fleetView(p, &fleet))
}

// fleetAddress is the address of the stream of a page of edges.
func fleetAddress(p *page) string {
	address := p.at("fleet", "live")
	if query := p.r.URL.RawQuery; query != "" {
		address += "?" + query
	}
	return address
}

// fleetHere is the address of the page of edges, whether the page or its stream asks.
func fleetHere(p *page) string {
	address := p.at("fleet")
	if n := p.r.URL.Query().Get("page"); n != "" {
		address += "?" + queryOf("page", n)
	}
	return address
}

// liveFleet streams the edges to a page that shows them.
func liveFleet(p *page) error {
	return stream(p, func(ctx context.Context) (templ.Component, error) {
		fleet, err := readFleet(ctx, p)
		return fleetState(p, &fleet), err
	})
}

// orderEdge changes the orders of an edge.
func orderEdge(p *page) error {
	form := p.r.PostForm
	name, back := form.Get("edge"), localPath(form.Get("next"))
	var change wire.ChangeEdge
	var done string
	switch form.Get("do") {
	case "pin":
		change.Pinned, done = new(true), "stays at its bundle"
	case "unpin":
		change.Pinned, done = new(false), "takes newer bundles"
	case "pause":
		change.Paused, done = new(true), "answers no evaluations"
	case "resume":
		change.Paused, done = new(false), "answers again"
	case "reread":
		change.Reread, done = true, "reads its place of bundles again"
	case "forget":
		if err := client.Run(p.ctx, p.api, op.ForgetEdge.At(name)); err != nil {
			return err
		}
		p.say("The edge " + visible(name) + " is forgotten. Its records stay.")
		return p.redirect(back)
	default:
		return rule.Errorf(rule.CodeInvalid, "the form has no order; press one of its buttons")
	}
	if _, err := client.Call(p.ctx, p.api, op.ChangeEdge.At(name), change); err != nil {
		return err
	}
	p.say("The edge " + visible(name) + " " + done + ", from its next report on.")
	return p.redirect(back)
}

// seconds writes a number of seconds for people.
func seconds(n int64) string { return (time.Duration(n) * time.Second).String() }

// edgeProblems are the problems of edges for people.
var edgeProblems = map[string]string{wire.EdgeSilent: "silent", wire.EdgeStale: "stale rules", wire.SpoolGrowing: "records wait"}
