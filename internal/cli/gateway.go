package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/gateway/pin"
	"tenet/internal/gateway/relay"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// gatewayCommands are `tenet gateway ...`.
type gatewayCommands struct {
	MCP  gatewayMCP  `cmd:"" name:"mcp" help:"Guard an MCP server: calls of its tools are evaluated before they pass."`
	Pins gatewayPins `cmd:"" help:"List and accept what tools of MCP servers say of themselves."`
}

// gatewayMCP is `tenet gateway mcp`.
type gatewayMCP struct {
	To      string   `type:"filled" placeholder:"SERVER" help:"The MCP server: an address such as https://mcp.example.com/mcp, or the command that starts it. All that follows a command belongs to it."`
	Command []string `arg:"" optional:"" help:"Words of the command behind --to."`
	Name    string   `type:"filled" placeholder:"NAME" help:"Name of the server for rules and pins; default is derived from --to, such as filesystem."`
	Header  []string `sep:"none" placeholder:"NAME: VALUE" help:"Header of every request to a server over HTTP. $${VAR} is taken from the environment."`
	Listen  string   `type:"filled" placeholder:"ADDR" help:"Serve streamable HTTP at this address instead of standard input and output."`

	Results     bool          `group:"How" help:"Evaluate results too, before the agent sees them."`
	Fail        string        `group:"How" enum:"closed,open" default:"closed" help:"What happens to calls while Tenet cannot be asked: closed (default) refuses them, open lets them pass and reports each."`
	Timeout     time.Duration `group:"How" default:"30s" placeholder:"TIME" help:"Longest time of an evaluation (default 30s)."`
	Wait        time.Duration `group:"How" placeholder:"TIME" help:"Ask people for an approval where a call needs confirmation, and hold the call so long for it, such as 10m."`
	Scope       string        `group:"How" type:"filled" placeholder:"PATH" help:"Scope of the calls, such as finance/payments."`
	Node        string        `group:"How" type:"filled" placeholder:"NODE" help:"Judge by the rules that hold at this federation node: its id, or its name or path of names."`
	Environment string        `group:"How" type:"filled" placeholder:"NAME" help:"Judge by the snapshot that is active in production, staging or development instead of the live rules."`
	Person      string        `group:"How" type:"filled" placeholder:"NAME" help:"Person for whom the agent acts; default is the owner of the key."`
	Agent       string        `group:"How" type:"filled" placeholder:"NAME" help:"Agent that acts; default is the name that the client gives itself."`
	PinDir      string        `group:"Pins" name:"pins" type:"filled" placeholder:"DIR" help:"Folder of the pins. Default is tenet/pins in the user's state folder."`
	NoPins      bool          `group:"Pins" help:"Pass lists of tools on without comparing them with pins."`
}

func (gatewayMCP) Help() string {
	return `Put it where the agent's settings start the MCP server. Each tools/call, resources/read and prompts/get is evaluated as a subject of kind
tool_call, with the facts server, tool, method and arguments, and passes only if the verdict is ALLOW. A refusal names the rules and says what
to do. Everything else passes unchanged. It works on the embedded database, or with --server and a key on a server.

With --wait, a call that needs confirmation asks people for an approval and is held until they decide; other calls pass it. It needs a server
with keys or sign-ins: nobody may approve their own request.

Lists of tools are pinned: what the first list says is accepted, and a tool that is new, changed or hides characters is held back until
"tenet gateway pins accept".

Like check, it does not read the tenet.yaml of the current folder unless --config names it.

Examples:

    tenet gateway mcp --to npx -y @modelcontextprotocol/server-filesystem /srv
    claude mcp add files -- tenet gateway mcp --to npx -y @modelcontextprotocol/server-filesystem /srv
    tenet gateway mcp --wait 10m --to npx -y @modelcontextprotocol/server-filesystem /srv
    tenet gateway mcp --listen 127.0.0.1:9000 --header 'Authorization: Bearer ${TOKEN}' --to https://mcp.example.com/mcp`
}

// afterTo marks all that follows the command of tenet gateway mcp --to as words of it, also what looks like a flag.
func afterTo(args []string) []string {
	at := slices.Index(args, "gateway")
	to := slices.Index(args, "--to")
	if at < 0 || to < at || at+1 >= len(args) || args[at+1] != "mcp" || to+1 >= len(args) || gateway.IsURL(args[to+1]) || slices.Contains(args[:to], "--") {
		return args
	}
	rest := args[to+2:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return slices.Concat(args[:to+2], []string{"--"}, rest)
}

// Run serves until the client, the server or ctx ends.
func (k *gatewayMCP) Run(ctx context.Context, s *session) (err error) {
	if k.To == "" {
		return errors.New("--to is missing: give the address of an MCP server, or the command that starts it")
	}
	if k.Wait < 0 || k.Wait > rule.MaxApprovalWait {
		return fmt.Errorf("--wait is %s; give a time up to %s", k.Wait, rule.MaxApprovalWait)
	}
	var to relay.Remote
	if gateway.IsURL(k.To) {
		if to, err = k.remote(s); err != nil {
			return err
		}
	} else if len(k.Header) > 0 {
		return errors.New("--header is for servers over HTTP")
	}
	s.follow = true
	kept := tune(s, gatewayReserve) // each call waits for an fsync, as each evaluation of a server does
	defer runtime.KeepAlive(kept)
	c, stop, err := s.connect(ctx, needsData, "")
	if err != nil {
		return err
	}
	defer func() { err = closed(err, stop) }()
	cfg, err := k.config(ctx, s, c)
	if err != nil {
		return err
	}
	g := relay.New(cfg)
	defer g.Close()
	program := relay.Program{Command: append([]string{k.To}, k.Command...), Environ: os.Environ(), Stderr: s.err}
	switch {
	case k.Listen != "" && to.URL != nil:
		return k.serve(ctx, s, g.Forward(to))
	case k.Listen != "":
		h, end := g.Host(ctx, program)
		defer end()
		return k.serve(ctx, s, h)
	case to.URL != nil:
		return g.Remote(ctx, s.in, s.out, to)
	}
	return g.Lines(ctx, s.in, s.out, program)
}

// config is the gateway's.
func (k *gatewayMCP) config(ctx context.Context, s *session, c *client.Client) (relay.Config, error) {
	var noting sync.Mutex
	cfg := relay.Config{
		Server: cmp.Or(k.Name, gateway.ServerName(k.To, k.Command)), Results: k.Results, FailOpen: k.Fail == "open", Timeout: k.Timeout,
		Person: k.Person, Agent: k.Agent,
		Request: client.Submit{Scope: k.Scope, Environment: k.Environment},
		Ask: func(ctx context.Context, sub client.Submit) (*rule.Evaluation, error) {
			a, err := c.Submit(ctx, sub)
			if err != nil {
				return nil, err
			}
			return &a.Evaluation, nil
		},
		Report: func(ctx context.Context, r wire.ToolReport) error {
			_, err := client.Call(ctx, c, op.ReportTools, r)
			return err
		},
		Note: func(format string, args ...any) {
			noting.Lock()
			defer noting.Unlock()
			s.note("%s", line(fmt.Sprintf(format, args...)))
		},
	}
	if k.Wait > 0 {
		cfg.Confirm = (&approver{client: c, most: k.Wait, ask: cfg.Ask, note: cfg.Note}).confirm
	}
	if k.Node != "" {
		node, err := findNode(ctx, c, k.Node)
		if err != nil {
			return cfg, err
		}
		cfg.Request.NodeID = node.ID
	}
	if !k.NoPins {
		folder, err := pinFolder(s, k.PinDir)
		if err != nil {
			return cfg, err
		}
		cfg.Pins = pin.Open(folder, cfg.Server)
	}
	return cfg, nil
}

// remote reads the address and the headers of a server over HTTP.
func (k *gatewayMCP) remote(s *session) (relay.Remote, error) {
	u, err := url.Parse(k.To)
	if err != nil || u.Host == "" {
		return relay.Remote{}, fmt.Errorf("--to: %q is not the address of a server", k.To)
	}
	if len(k.Command) > 0 {
		return relay.Remote{}, fmt.Errorf("--to: %q follows the address of a server, which has no arguments", k.Command[0])
	}
	header := http.Header{}
	for _, h := range k.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return relay.Remote{}, fmt.Errorf("--header: %q is not of the form NAME: VALUE", h)
		}
		var missing error
		value = os.Expand(strings.TrimSpace(value), func(variable string) string {
			v := s.env(variable)
			if v == "" {
				missing = fmt.Errorf("--header: the variable %s is not set", variable)
			}
			return v
		})
		if missing != nil {
			return relay.Remote{}, missing
		}
		header.Add(strings.TrimSpace(name), value)
	}
	return relay.Remote{URL: u, Header: header, Client: relay.NewClient()}, nil
}

// tokenVar holds the token that clients of a gateway on an address that others reach must send.
const tokenVar = "TENET_GATEWAY_TOKEN" //nolint:gosec // the name of a variable

// serve serves the gateway over HTTP until ctx ends.
func (k *gatewayMCP) serve(ctx context.Context, s *session, h http.Handler) error {
	address := k.Listen
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	token := s.env(tokenVar)
	if !relay.Loopback(address) && token == "" {
		return fmt.Errorf("--listen: others can reach %s; set %s, which clients send in the header %s, or listen on 127.0.0.1", address, tokenVar, relay.TokenHeader)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.note("the gateway listens on http://%s", listener.Addr())
	server := &http.Server{Handler: relay.Guard(h, token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // streams stay open without limit
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close()
	}
	return nil
}

// pinFolder returns the folder of the pins.
func pinFolder(s *session, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	state := s.env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		if s.env("HOME") == "" {
			return "", errors.New("there is no home folder to keep pins in; give a folder with --pins, or pass --no-pins")
		}
		state = filepath.Join(s.env("HOME"), ".local", "state")
	}
	return filepath.Join(state, "tenet", "pins"), nil
}
