// Package mcp serves Tenet to language models over the Model Context Protocol: on standard input and output of an editor, and
// over HTTP. It is a client of the API, so a tool may do what the caller's key may do.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Config sets up a server. Client is required.
type Config struct {
	// Client gives the client that a call goes through. The header is that of the HTTP request, nil on standard input.
	Client func(header http.Header) (*client.Client, error)
	// Version of the program.
	Version string
	// MaxBody bounds a request over HTTP, in bytes; 0 is 4 MiB.
	MaxBody int64
	Logger  *slog.Logger // nil drops its lines
}

// instructions describe the server to a model that has not read about any tool yet.
const instructions = `Tenet knows the rules that this organisation's changes, payments and actions have to keep, and judges by them.

- Before you act: check_action. Before you commit or propose a change: evaluate_diff with the whole diff. For transactions and other facts: evaluate_facts.
- Go on only if verdict is ALLOW. DENY: do not do it; mend what the findings name and evaluate again. NEEDS_CONFIRMATION: stop and ask a person, by request_approval if nobody is in the conversation; approval_status says what they decide.
- A tool error is never a permission.
- search_rules and list_applicable_rules find rules, explain_rule shows one whole, try_rule tries one on a sample.
- propose_rule makes a draft. Drafts apply to nothing until a person approves them.`

// server serves the tools, resources and prompts.
type server struct{ cfg Config }

// New makes an MCP server.
func New(cfg Config) *mcp.Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg}
	m := mcp.NewServer(&mcp.Implementation{Name: "tenet", Title: "Tenet", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: slog.New(warnings{cfg.Logger.Handler()}), CompletionHandler: s.complete, Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Completions: &mcp.CompletionCapabilities{},
		},
	})
	s.evaluationTools(m)
	s.approvalTools(m)
	s.ruleTools(m)
	s.authorTools(m)
	s.resources(m)
	s.prompts(m)
	m.AddReceivingMiddleware(s.recover)
	return m
}

// Handler serves the protocol over HTTP. It keeps no sessions, so any node may answer any request, and each request goes by its
// own key. The handler in front of it checks the Host header.
func Handler(cfg Config) http.Handler {
	return handler(New(cfg), cfg.MaxBody, mcp.StreamableHTTPOptions{DisableLocalhostProtection: true})
}

// Over serves m over HTTP as [Handler] does, with nothing before it: on a loopback address it answers requests to loopback hosts
// alone.
func Over(m *mcp.Server) http.Handler {
	return handler(m, 0, mcp.StreamableHTTPOptions{})
}

func handler(m *mcp.Server, maxBody int64, o mcp.StreamableHTTPOptions) http.Handler {
	o.Stateless, o.MaxRequestBodyBytes, o.PropagateRequestCancellation = true, cmp.Or(maxBody, mcp.DefaultMaxRequestBodyBytes), true
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, err := checkBody(w, r, o.MaxRequestBodyBytes); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// maxBatch is how many messages a request may hold: all of them are worked on at once.
const maxBatch = 50

// maxShownNumber is how many bytes of a number an error repeats.
const maxShownNumber = 40

// checkBody refuses a body that is a longer batch, or that has two readings. What else is wrong with a body is left to the protocol's implementation.
func checkBody(w http.ResponseWriter, r *http.Request, maxBody int64) (status int, err error) {
	if r.Body == nil {
		return 0, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	r.Body = unread{io.MultiReader(bytes.NewReader(data), failing{err}), r.Body}
	if err != nil {
		return 0, nil //nolint:nilerr // the protocol's implementation meets it, too
	}
	if n := len(batch(data)); n > maxBatch {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("a batch of %d messages is too long; at most %d are allowed", n, maxBatch)
	}
	if name, found := twice(data); found {
		return http.StatusBadRequest, fmt.Errorf(errTwice, name)
	}
	return 0, nil
}

// unread is a body of which a part was looked at.
type unread struct {
	io.Reader
	io.Closer
}

// failing returns an error, or io.EOF if err is nil.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }

// Serve serves one client over a pair of streams, until its input ends or ctx does. Requests that came before the end of the
// input are answered.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	streams := drain(in, out)
	err := New(cfg).Run(ctx, &mcp.IOTransport{Reader: streams, Writer: streams.writer()})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// warnings drops lower levels: over HTTP the protocol's implementation logs three lines with every request.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// recover turns a panic into an error: requests are worked on outside of what recovers those of HTTP.
func (s *server) recover(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Logger.ErrorContext(ctx, "panic", slog.String("method", method), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
				res, err = nil, errors.New("internal error; nothing was decided, which is NOT a permission")
			}
		}()
		return next(ctx, method, req)
	}
}

// client is the one that a call goes through.
func (s *server) client(extra *mcp.RequestExtra) (*client.Client, error) {
	if extra == nil {
		return s.cfg.Client(nil)
	}
	return s.cfg.Client(extra.Header)
}

// actingClient returns a client that names the program at the other end of a stream as the agent, and its session. Over HTTP, the headers of
// the request name them.
func actingClient(c *client.Client, req *mcp.CallToolRequest) *client.Client {
	if req.Session == nil || req.Extra != nil && req.Extra.Header != nil {
		return c
	}
	begun := req.Session.InitializeParams()
	if begun == nil || begun.ClientInfo == nil {
		return c
	}
	return client.Acting(c, wire.Acting{Agent: begun.ClientInfo.Name, Session: req.Session.ID()})
}

// tool describes a tool. Reading ones change nothing; the others add, and destroy nothing.
func tool(name, title, description string, reading bool) *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: reading, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: reading},
	}
}

// handle makes the handler of a tool: it finds the client, and makes errors such that a model knows what to do.
func handle[In, Out any](s *server, run func(ctx context.Context, c *client.Client, in In) (Out, string, error)) mcp.ToolHandlerFor[In, Out] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		// It refuses repeated names as the API does: a program that acts on the arguments may read the other value.
		if raw := jsontext.Value(req.Params.Arguments); len(raw) > 0 && !raw.IsValid() {
			return nil, none, undecided(rule.Errorf(rule.CodeInvalid, "the arguments name something twice in one object, or are not valid UTF-8"))
		}
		if lost, found := rule.LostNumber(req.Params.Arguments); found {
			return nil, none, undecided(rule.Errorf(rule.CodeInvalid, "the arguments hold %s, which a 64-bit number does not keep; give at most 15 digits, or a string", text.Clip(lost, maxShownNumber, "...")))
		}
		c, err := s.client(req.Extra)
		if err != nil {
			return nil, none, explain(err)
		}
		out, text, err := run(ctx, actingClient(c, req), in)
		if err != nil {
			return nil, none, explain(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, out, nil
	}
}
