package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// fleetCommands are `tenet fleet ...`.
type fleetCommands struct {
	List   fleetListCommand   `cmd:"" help:"List edges with their bundles, records and problems."`
	Pin    fleetPinCommand    `cmd:"" help:"Keep an edge at the bundle that it has."`
	Unpin  fleetUnpinCommand  `cmd:"" help:"Let an edge take newer bundles again."`
	Pause  fleetPauseCommand  `cmd:"" help:"Have an edge answer no evaluations."`
	Resume fleetResumeCommand `cmd:"" help:"Let an edge answer again."`
	Reread fleetRereadCommand `cmd:"" help:"Have an edge read its place of bundles again."`
	Forget fleetForgetCommand `cmd:"" help:"Forget an edge that is gone for good."`
}

type fleetListCommand struct {
	limit
	output
}

func (fleetListCommand) Help() string {
	return `Edges report every ten seconds. Problems: edge_silent (no report for 30 seconds), edge_stale (its bundle is older than --max-age), spool_growing (records
wait for the server for more than a minute).

    tenet fleet list --json | jq '.items[] | select(.problems != []) | .name'`
}

func (k *fleetListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	fleet, err := client.Get(ctx, c, op.ListFleet.Where(wire.PageQuery{PageSize: k.Limit}))
	return show(s, k.output, fleet, err, printFleet)
}

func printFleet(s *session, f wire.Fleet) error {
	err := list(s, "no edge has reported", "EDGE\tENVIRONMENT\tBUNDLE\tAGE\tWAITING\tEVALUATIONS\tERRORS\tVERSION\tSEEN\tPROBLEMS", f.Items, func(e *wire.FleetEdge) []any {
		r := &e.Report
		bundle := fmt.Sprint(r.BundleSeq)
		if e.Current {
			bundle += " (newest)"
		}
		state := strings.Join(e.Problems, " ")
		if e.Orders.Pinned {
			state = strings.TrimSpace("pinned " + state)
		}
		if e.Orders.Paused {
			state = strings.TrimSpace("paused " + state)
		}
		return []any{line(e.Name), line(string(r.Environment)), bundle, time.Duration(r.BundleAge) * time.Second, r.Spool, r.Evaluations, r.Errors, line(r.Version), e.SeenAt.Format(time.DateTime), state}
	})
	if err != nil {
		return err
	}
	for _, r := range f.Rollout {
		verb := "have"
		if r.Current == 1 {
			verb = "has"
		}
		s.note("%s: %d of %d edges %s bundle %d", r.Environment, r.Current, r.Edges, verb, r.BundleSeq)
	}
	return nil
}

// edgeRef names an edge on the command line.
type edgeRef struct {
	Edge string `arg:"" type:"filled" help:"Name of the edge."`
	output
}

// order changes the orders of an edge.
func (k edgeRef) order(ctx context.Context, s *session, c *client.Client, change wire.ChangeEdge, done string) error {
	edge, err := client.Call(ctx, c, op.ChangeEdge.At(k.Edge), change)
	return noted(s, k.output, edge, err, func(wire.FleetEdge) string { return fmt.Sprintf("%s %s, from its next report on", k.Edge, done) })
}

type fleetPinCommand struct{ edgeRef }

func (k *fleetPinCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.order(ctx, s, c, wire.ChangeEdge{Pinned: new(true)}, "stays at its bundle")
}

type fleetUnpinCommand struct{ edgeRef }

func (k *fleetUnpinCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.order(ctx, s, c, wire.ChangeEdge{Pinned: new(false)}, "takes newer bundles")
}

type fleetPauseCommand struct{ edgeRef }

func (k *fleetPauseCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.order(ctx, s, c, wire.ChangeEdge{Paused: new(true)}, "answers no evaluations")
}

type fleetResumeCommand struct{ edgeRef }

func (k *fleetResumeCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.order(ctx, s, c, wire.ChangeEdge{Paused: new(false)}, "answers again")
}

type fleetRereadCommand struct{ edgeRef }

func (k *fleetRereadCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.order(ctx, s, c, wire.ChangeEdge{Reread: true}, "reads its place of bundles again")
}

type fleetForgetCommand struct {
	edgeRef

	Yes bool `help:"Forget it although records wait there; they will not be taken."`
}

func (fleetForgetCommand) Help() string {
	return `Its records stay, and the audit log has the end of its chain. Its name and its key for signing are refused from then on: an edge that takes its place needs
a new name. If it had an API key of its own, revoke that, too.

    tenet fleet forget till-7
    tenet keys revoke till-7`
}

func (k *fleetForgetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	e, err := client.Get(ctx, c, op.GetEdge.At(k.Edge))
	if err != nil {
		return err
	}
	if e.Report.Spool > 0 && !k.Yes {
		text := fmt.Sprintf("%s waited at %s when it last reported, %s; after this the server would not take them", amount(e.Report.Spool, "record"), line(e.Name), e.SeenAt.Format(time.DateTime))
		switch {
		case !isTerminal(s.stdin):
			return errors.New(text + "; wait for them, or give --yes")
		case !confirm(s, text+". Forget it?"):
			return errors.New("nothing was changed")
		}
	}
	err = client.Run(ctx, c, op.ForgetEdge.At(k.Edge))
	return noted(s, k.output, e, err, func(e wire.FleetEdge) string {
		return fmt.Sprintf("%s is forgotten; its chain of %d entries stays", line(e.Name), e.Orders.Received.Seq)
	})
}
