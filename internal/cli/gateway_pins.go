package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/gateway/pin"
	"tenet/internal/gateway/relay"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// gatewayPins are `tenet gateway pins ...`.
type gatewayPins struct {
	List   pinsList   `cmd:"" help:"List the pinned servers, or the tools of one with what is held back."`
	Accept pinsAccept `cmd:"" help:"Accept what tools say of themselves now."`
	Forget pinsForget `cmd:"" help:"Forget the pins of a server; its next list is accepted."`
}

type pinFlags struct {
	PinDir string `name:"pins" type:"filled" placeholder:"DIR" help:"Folder of the pins. Default is tenet/pins in the user's state folder."`
}

type pinsList struct {
	Server string `arg:"" optional:"" help:"Name of the server."`
	pinFlags
	output
}

func (pinsList) Help() string {
	return `For a tool that is held back, it prints what was accepted and what the server says now.

    tenet gateway pins list
    tenet gateway pins list filesystem --format json`
}

// Run lists pins.
func (k *pinsList) Run(s *session) error {
	folder, err := pinFolder(s, k.PinDir)
	if err != nil {
		return err
	}
	if k.Server != "" {
		f, err := pin.Open(folder, k.Server).Pins()
		if err == nil && f.FirstSeen.IsZero() {
			err = fmt.Errorf("%s has no pins in %s; tenet gateway pins list shows the servers", k.Server, folder)
		}
		return show(s, k.output, f, err, printPins)
	}
	servers, err := pin.Servers(folder)
	if err != nil {
		return err
	}
	files := []pin.File{}
	for _, server := range servers {
		f, err := pin.Open(folder, server).Pins()
		if err != nil {
			s.note("%v", err)
			continue
		}
		files = append(files, f)
	}
	return show(s, k.output, files, nil, func(s *session, files []pin.File) error {
		return list(s, "no server has pins yet", "SERVER\tTOOLS\tHELD BACK\tFIRST SEEN", files, func(f *pin.File) []any {
			return []any{f.Server, len(f.Tools), len(heldTools(f)), f.FirstSeen.Format(time.DateOnly)}
		})
	})
}

// heldTools returns the names of the tools that are held back.
func heldTools(f *pin.File) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		if f.Tools[name].Pending != nil {
			names = append(names, name)
		}
	}
	return names
}

func printPins(s *session, f pin.File) error {
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		t := f.Tools[name]
		state, since := "accepted", t.AcceptedAt
		if t.Pending != nil {
			state, since = "held back: "+strings.Join(t.Pending.Why, ", "), t.Pending.SeenAt
		}
		rows = append(rows, []any{name, since.Format(time.DateTime), state})
	}
	if err := s.table("TOOL\tSINCE\tSTATE", rows); err != nil {
		return err
	}
	for _, name := range heldTools(&f) {
		t := f.Tools[name]
		fmt.Fprintf(s.out, "\n%s\n", s.bold(line(name)))
		if t.Definition != nil {
			fmt.Fprintf(s.out, "%s %s\n", s.red("-"), line(pin.Shown(t.Definition)))
		}
		if _, err := fmt.Fprintf(s.out, "%s %s\n", s.green("+"), line(pin.Shown(t.Pending.Definition))); err != nil {
			return err
		}
	}
	if held := heldTools(&f); len(held) > 0 {
		s.note("accept with: tenet gateway pins accept %s TOOL, or --all", f.Server)
	}
	return nil
}

type pinsAccept struct {
	Server string   `arg:"" help:"Name of the server."`
	Tools  []string `arg:"" optional:"" name:"tool" help:"Tools that are held back."`
	All    bool     `help:"All tools of the server that are held back."`
	pinFlags
	output
}

func (pinsAccept) Help() string {
	return `Read what the tool says first: a model trusts it. A gateway that runs has its client read the list again. What was accepted is recorded in the
audit log of the server, or of the local database, and sent to webhooks (tools.accepted).

    tenet gateway pins accept filesystem write_file
    tenet gateway pins accept filesystem --all`
}

// Run accepts definitions.
func (k *pinsAccept) Run(ctx context.Context, s *session) error {
	if k.All == (len(k.Tools) > 0) {
		return errors.New("name tools that are held back, or pass --all")
	}
	folder, err := pinFolder(s, k.PinDir)
	if err != nil {
		return err
	}
	pins := pin.Open(folder, k.Server)
	names, err := pins.Accept(k.Tools...)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if k.json() {
			return printJSON(s.out, []string{})
		}
		s.note("no tool of %s is held back", k.Server)
		return nil
	}
	err = show(s, k.output, names, nil, func(s *session, names []string) error {
		_, err := fmt.Fprintf(s.out, "accepted %s\n", line(strings.Join(names, ", ")))
		return err
	})
	if err != nil {
		return err
	}
	if err := k.report(ctx, s, pins, names); err != nil {
		s.note("it is not recorded, and no webhook gets it: %v", err)
	}
	return nil
}

// report records on the server, or in the database, that tools were accepted.
func (k *pinsAccept) report(ctx context.Context, s *session, pins *pin.Store, names []string) error {
	f, err := pins.Pins()
	if err != nil {
		return err
	}
	var list []wire.ToolChange
	for _, name := range names {
		list = append(list, relay.ToolChange(name, f.Tools[name].Hash))
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		for part := range slices.Chunk(list, maxReported) {
			if _, err := client.Call(ctx, c, op.ReportTools, wire.ToolReport{Server: k.Server, State: wire.ToolsAccepted, Tools: part}); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxReported is the most tools in one report.
const maxReported = 100

type pinsForget struct {
	Server string `arg:"" help:"Name of the server."`
	pinFlags
	output
}

func (pinsForget) Help() string {
	return `    tenet gateway pins forget filesystem`
}

// Run forgets pins.
func (k *pinsForget) Run(s *session) error {
	folder, err := pinFolder(s, k.PinDir)
	if err != nil {
		return err
	}
	err = pin.Open(folder, k.Server).Forget()
	return noted(s, k.output, ended{"pins", k.Server, "forgotten"}, err, func(e ended) string { return "the pins of " + line(e.ID) + " are forgotten" })
}
