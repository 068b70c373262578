package relay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"tenet/internal/gateway"
	"tenet/internal/gateway/pin"
	"tenet/internal/wire"
)

// Times of reports and of the look for accepted tools.
const (
	reportTime = 10 * time.Second
	lookEvery  = time.Second
)

// Bounds of a report.
const (
	maxReported = 100 // tools
	maxWhys     = 20  // reasons of one
)

// listChanged asks a client to read the list of tools again.
var listChanged = []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)

// reportHeld reports the tools of notes that are held back from now on. It does not wait for an answer.
func (g *Gateway) reportHeld(notes []pin.Note) {
	if g.cfg.Report == nil {
		return
	}
	var list []wire.ToolChange
	for _, n := range notes {
		if n.Tool != "" {
			list = append(list, ToolChange(n.Tool, n.Hash, n.Why...))
		}
	}
	if len(list) > 0 {
		g.reports.Go(func() { g.report(list) })
	}
}

// ToolChange describes a tool in the bounds of a report.
func ToolChange(name, hash string, why ...string) wire.ToolChange {
	c := wire.ToolChange{Name: label(gateway.Visible(name)), Hash: hash}
	for _, w := range why[:min(len(why), maxWhys)] {
		c.Why = append(c.Why, gateway.Visible(w))
	}
	return c
}

// report reports tools that are held back.
func (g *Gateway) report(list []wire.ToolChange) {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	for part := range slices.Chunk(list, maxReported) {
		if err := g.cfg.Report(ctx, wire.ToolReport{Server: g.cfg.Server, State: wire.ToolsHeld, Tools: part}); err != nil {
			g.cfg.Note("%s: the tools that are held back could not be reported to Tenet: %v", g.cfg.Server, err)
			return
		}
	}
}

// Close waits until all reports are sent, or their time is over.
func (g *Gateway) Close() { g.reports.Wait() }

// heldTools are the definitions that clients did not get, by the names of their tools.
type heldTools struct {
	mu   sync.Mutex
	hash map[string]string
}

// noteHeld notes what is held back now.
func (g *Gateway) noteHeld() {
	pending, err := g.cfg.Pins.Pending()
	if err != nil {
		return // the next list reports it
	}
	g.withheld.mu.Lock()
	defer g.withheld.mu.Unlock()
	if g.withheld.hash == nil {
		g.withheld.hash = map[string]string{}
	}
	maps.Copy(g.withheld.hash, pending)
}

// accepted returns those of the definitions that were held back which somebody has accepted, by the names of their tools.
func (g *Gateway) accepted() map[string]string {
	g.withheld.mu.Lock()
	held := maps.Clone(g.withheld.hash)
	g.withheld.mu.Unlock()
	names, err := g.cfg.Pins.Accepted(held)
	if err != nil {
		return nil // the next list reports it
	}
	accepted := map[string]string{}
	for _, name := range names {
		accepted[name] = held[name]
	}
	return accepted
}

// watchPins calls changed each time after somebody has accepted tools that were held back, until ctx ends.
func (g *Gateway) watchPins(ctx context.Context, changed func()) {
	if g.cfg.Pins == nil {
		return
	}
	g.noteHeld()
	seen := g.accepted()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := g.accepted()
		fresh := false
		for name, hash := range now {
			fresh = fresh || seen[name] != hash
		}
		if fresh {
			changed()
		}
		seen = now
	}
}

// declare returns the answer to initialize of a server that has tools, with the ability to say that their list has changed: the gateway says so
// where the server does not.
func (g *Gateway) declare(m *message) []byte {
	if g.cfg.Pins == nil || m.result == nil {
		return m.raw
	}
	var result, abilities, tools map[string]json.RawMessage
	if json.Unmarshal(m.result, &result) != nil || json.Unmarshal(result["capabilities"], &abilities) != nil || json.Unmarshal(abilities["tools"], &tools) != nil || tools == nil {
		return m.raw
	}
	if string(tools["listChanged"]) == "true" {
		return m.raw
	}
	tools["listChanged"] = json.RawMessage("true")
	abilities["tools"] = encode(tools)
	result["capabilities"] = encode(abilities)
	return success(m.idJSON, result)
}
