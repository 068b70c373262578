package acting

import (
	"context"
	"encoding/hex"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Bounds of a report of tools.
const (
	maxTools    = 100
	maxName     = 200 // characters
	maxWhys     = 20
	maxWhyBytes = 500
)

// ReportTools records and publishes that a gateway holds tools of an MCP server back, or that somebody has accepted them.
func (a *Agents) ReportTools(ctx context.Context, projectID, server string, accepted bool, tools []rule.ToolChange) error {
	if err := checkTools(server, tools); err != nil {
		return err
	}
	at, action, kind := rule.Instant(a.cfg.Now()), "held", rule.ToolsHeld
	if accepted {
		action, kind = "accepted", rule.ToolsAccepted
	}
	actor := auth.ActorFrom(ctx).Name
	return a.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Projects.Get(ctx, projectID); err != nil {
			return err
		}
		err := audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindTools, At: at, Actor: actor, Body: audit.JSON(map[string]any{"action": action, "server": server, "tools": tools}),
		})
		if err != nil || a.cfg.Publish == nil {
			return err
		}
		return a.cfg.Publish(ctx, tx, rule.Event{
			ID: audit.NewID(), ProjectID: projectID, Type: kind, Time: at, Severity: rule.High,
			Data: audit.JSON(map[string]any{"server": server, "tools": tools, "actor": actor}),
		})
	})
}

func checkTools(server string, tools []rule.ToolChange) error {
	var p rule.Problems
	name := func(field, s string) {
		if strings.TrimSpace(s) == "" || len([]rune(s)) > maxName {
			p.Add(field, "must have 1 to %d characters", maxName)
		}
	}
	name("server", server)
	if len(tools) == 0 || len(tools) > maxTools {
		p.Add("tools", "has %d entries; give 1 to %d", len(tools), maxTools)
	}
	for _, t := range tools[:min(len(tools), maxTools)] {
		name("tools.name", t.Name)
		if sum, err := hex.DecodeString(t.Hash); err != nil || len(sum) != 32 {
			p.Add("tools.hash", "must be 64 hexadecimal digits")
		}
		if len(t.Why) > maxWhys {
			p.Add("tools.why", "has %d entries; at most %d are allowed", len(t.Why), maxWhys)
		}
		for _, why := range t.Why {
			if len(why) > maxWhyBytes {
				p.Add("tools.why", "has a reason of %d bytes; at most %d are allowed", len(why), maxWhyBytes)
			}
		}
	}
	return p.Err("the report is invalid")
}
