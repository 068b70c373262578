// Package relay is the gateway in front of an MCP server. It passes the messages of a client on, unchanged and in order, and has calls of
// tools, reads of resources and prompts evaluated first. Lists of tools are compared with pins, so that a server cannot change in silence
// what its tools say of themselves.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/gateway/pin"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/worker"
)

// Config sets up a gateway. Server, Ask and Note are required.
type Config struct {
	// Server is the name under which rules and pins know the server.
	Server string
	// Ask evaluates a submission.
	Ask func(ctx context.Context, s client.Submit) (*rule.Evaluation, error)
	// Confirm waits until a person has confirmed what an evaluation of a call found, and evaluates again; nil does not wait. It is not
	// asked about results, which are judged after the fact.
	Confirm func(ctx context.Context, e *rule.Evaluation, s client.Submit) (*rule.Evaluation, error)
	// Request holds the scope, the node and the environment of every submission.
	Request client.Submit
	// Person and Agent name for whom and by whom calls are made; an empty Agent is the name that the client gives itself.
	Person, Agent string
	// Results has results evaluated too, before the client sees them.
	Results bool
	// FailOpen lets calls pass while Tenet cannot be asked, unless the project demanded otherwise with the last evaluation. An answer of Tenet, also that a call is invalid, counts whatever it says.
	FailOpen bool
	// Timeout bounds an evaluation; 0 is 30 s.
	Timeout time.Duration
	// Pins holds the pins of the server; nil pins nothing.
	Pins *pin.Store
	// Report reports tools that are held back from now on; nil reports nothing.
	Report func(ctx context.Context, r wire.ToolReport) error
	// Note logs a line for the operator.
	Note func(format string, args ...any)
}

// Gateway judges the messages between clients and one server.
type Gateway struct {
	cfg      Config
	reports  sync.WaitGroup // that are under way
	judges   *worker.Pool   // of the goroutines that have calls evaluated
	withheld heldTools
	// shut is true if the project demanded with the last evaluation that hooks do not let pass what could not be judged.
	shut atomic.Bool
}

// New makes a gateway.
func New(cfg Config) *Gateway {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	return &Gateway{cfg: cfg, judges: worker.NewPool()}
}

// refusal is why a call does not pass.
type refusal struct {
	text string
	data map[string]any // for programs
}

// reply returns the response that reports a refusal to the client. For a tool it is an error of the tool, which the model reads.
func (r *refusal) reply(m *message, method string) []byte {
	if method != "tools/call" {
		return failure(m.idJSON, codeRefused, r.text, r.data)
	}
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": r.text}}, "isError": true}
	if len(r.data) > 0 {
		result["_meta"] = map[string]any{"tenet/evaluation": r.data}
	}
	if metaOf(m.params, metaVersion) >= statelessVersion {
		result["resultType"] = "complete"
	}
	return success(m.idJSON, result)
}

// Members of _meta that give the version of the protocol and the client where there is no handshake, from statelessVersion on.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	statelessVersion = "2026-07-28"
)

// judge evaluates a call, or its result; nil means that it passes.
func (g *Gateway) judge(ctx context.Context, s *Session, c *gateway.Call) *refusal {
	subject, err := c.Subject()
	if err != nil {
		return &refusal{text: gateway.Failure(c, err.Error())}
	}
	q := g.cfg.Request
	q.Subject, q.Mode, q.MaxRules = subject, rule.Preflight, 100
	if c.Result != nil {
		q.Mode = rule.Posthoc
	}
	s.identify(&q)
	asking, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	e, err := g.cfg.Ask(asking, q)
	late := asking.Err() != nil
	cancel()
	if err == nil {
		g.shut.Store(e.FailModes.Shut())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return &refusal{text: gateway.Failure(c, "the call was cancelled")}
	case err != nil:
		return g.failed(c, err, late)
	case gateway.Passes(e):
		return nil
	}
	if g.cfg.Confirm != nil && c.Result == nil && e.OverallVerdict == rule.NeedsConfirmation && e.Flaw() == "" {
		again, err := g.cfg.Confirm(ctx, e, q)
		if err != nil {
			return &refusal{text: gateway.Refusal(c, e) + "\n" + err.Error(), data: about(e)}
		}
		if e = again; gateway.Passes(e) {
			return nil
		}
	}
	g.cfg.Note("%s: %s %s, evaluation %s", g.cfg.Server, e.OverallVerdict, c, e.EvaluationID)
	return &refusal{text: gateway.Refusal(c, e), data: about(e)}
}

func about(e *rule.Evaluation) map[string]any {
	return map[string]any{"evaluation_id": e.EvaluationID, "verdict": e.OverallVerdict}
}

// failed answers where nothing was evaluated, by the fail mode.
func (g *Gateway) failed(c *gateway.Call, err error, late bool) *refusal {
	why := err.Error()
	if late {
		why = fmt.Sprintf("there was no answer within %s", g.cfg.Timeout)
	}
	switch {
	case !g.cfg.FailOpen || !late && !absent(err):
	case g.shut.Load():
		g.cfg.Note("%s: --fail open does not hold, since the project's policy demands fail modes", g.cfg.Server)
	default:
		g.cfg.Note("%s: %s PASSED WITHOUT AN EVALUATION (--fail open): %s", g.cfg.Server, c, why)
		return nil
	}
	g.cfg.Note("%s: %s refused, because it could not be evaluated: %s", g.cfg.Server, c, why)
	return &refusal{text: gateway.Failure(c, why)}
}

// absent reports whether an error means that Tenet cannot be reached or does not work, rather than an answer of Tenet.
func absent(err error) bool {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return true
	}
	return e.Code == rule.CodeUnavailable || e.Code == rule.CodeInternal || e.Code == rule.CodeRateLimited
}

// result judges the response to an evaluated call: it returns what the client gets.
func (g *Gateway) result(ctx context.Context, s *Session, a *asked, m *message) []byte {
	if !g.cfg.Results || m.result == nil {
		return m.raw
	}
	c := *a.call
	r, err := gateway.ResultOf(m.result)
	c.Result = r
	if err != nil {
		c.Result = struct{}{}
		return (&refusal{text: gateway.Failure(&c, err.Error())}).answers(m, a)
	}
	if no := g.judge(ctx, s, &c); no != nil {
		return no.answers(m, a)
	}
	return m.raw
}

// answers is [refusal.reply] to the request of a.
func (r *refusal) answers(m *message, a *asked) []byte {
	return r.reply(&message{idJSON: m.idJSON, params: a.params}, a.method)
}

// list compares a list of tools with the pins and returns the list that the client gets.
func (g *Gateway) list(m *message) []byte {
	if g.cfg.Pins == nil || m.result == nil {
		return m.raw
	}
	o, err := gateway.ReadObject(m.result, "tools", "nextCursor")
	var tools []json.RawMessage
	if err == nil {
		if err = json.Unmarshal(o["tools"], &tools); err != nil {
			err = errors.New("tools is not a list")
		}
	}
	if err != nil {
		g.cfg.Note("%s: its list of tools cannot be read and is withheld: %v", g.cfg.Server, err)
		return failure(m.idJSON, codeRefused, "Tenet: the server's list of tools cannot be read: "+err.Error(), nil)
	}
	var next string
	_ = json.Unmarshal(o["nextCursor"], &next) // anything else is no cursor
	kept, notes, err := g.cfg.Pins.Check(tools, next == "")
	for _, n := range notes {
		g.cfg.Note("%s: %s", g.cfg.Server, n)
	}
	g.reportHeld(notes)
	if err != nil {
		g.cfg.Note("%s: the pins cannot be read or written, so all tools are withheld: %v", g.cfg.Server, err)
		return failure(m.idJSON, codeRefused, "Tenet: the pins of this server cannot be read or written, so its tools are withheld.", nil)
	}
	if len(kept) == len(tools) {
		return m.raw
	}
	g.noteHeld()
	o["tools"] = encode(kept)
	return success(m.idJSON, o)
}

// held refuses a call of a tool that is held back by its pin.
func (g *Gateway) held(c *gateway.Call) *refusal {
	if g.cfg.Pins == nil || c.Method != "tools/call" {
		return nil
	}
	why, err := g.cfg.Pins.Held(c.Tool)
	switch {
	case err != nil:
		return &refusal{text: gateway.Failure(c, "the pins of this server cannot be read")}
	case why == "":
		return nil
	}
	return &refusal{text: fmt.Sprintf("Tenet: %s was not carried out, because %s.\nAsk the user to look at it: tenet gateway pins list %s, then tenet gateway pins accept %s %s.",
		gateway.Visible(c.String()), why, g.cfg.Server, g.cfg.Server, gateway.Visible(c.Tool))}
}
