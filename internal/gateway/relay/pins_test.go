package relay_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/gateway/relay"
	"tenet/internal/wire"
)

// TestAcceptedToolsAreListedAgain changes what was pinned of a tool: it is held back and reported, and once a person accepts it, the client
// reads the list again.
func TestAcceptedToolsAreListedAgain(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			reported := make(chan wire.ToolReport, 10)
			b.cfg.Report = func(_ context.Context, r wire.ToolReport) error { reported <- r; return nil }
			if _, _, err := b.cfg.Pins.Check([]json.RawMessage{json.RawMessage(`{"name":"echo","description":"It was another tool."}`)}, false); err != nil {
				t.Fatal(err)
			}
			s, n := connect(t, way(t, b), "2025-11-25")
			if able := s.InitializeResult().Capabilities; able.Tools == nil || !able.Tools.ListChanged {
				t.Error("the client does not know that the list may change")
			}
			lists := func() bool {
				list, err := s.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(list.Tools, func(one *mcp.Tool) bool { return one.Name == "echo" })
			}
			if lists() {
				t.Fatal("the changed tool is listed")
			}
			r := soon(t, "the report", reported)
			if r.Server != "everything" || r.State != wire.ToolsHeld || len(r.Tools) != 1 || r.Tools[0].Name != "echo" || len(r.Tools[0].Hash) != 64 || len(r.Tools[0].Why) == 0 {
				t.Errorf("reported: %+v", r)
			}
			if _, err := b.cfg.Pins.Accept("echo"); err != nil {
				t.Fatal(err)
			}
			soon(t, "the notification", n.changed)
			if !lists() {
				t.Error("the accepted tool is not listed")
			}
			if len(reported) != 0 {
				t.Errorf("reported again: %+v", <-reported)
			}
		})
	}
}

func TestToolChangeKeepsTheBoundsOfAReport(t *testing.T) {
	why := slices.Repeat([]string{string(make([]byte, 5000))}, 50)
	c := relay.ToolChange("a\u202eb\n"+string(make([]rune, 500)), "h", why...)
	if n := len([]rune(c.Name)); n > 200 || len(c.Why) != 20 || len(c.Why[0]) > 600 {
		t.Errorf("a name of %d characters, %d reasons, the first of %d bytes", n, len(c.Why), len(c.Why[0]))
	}
}
