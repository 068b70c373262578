// Package extauthz answers Envoy, and other proxies that speak its external authorization (ext_authz) v3 over gRPC, whether a request
// may pass. A call of a tool of an MCP server is evaluated as such, any other HTTP request as an action.
//
// Every refusal is an answer, those for want of a key or for a failure of Tenet, too: proxies may be set to let requests pass on an
// error of gRPC, and that must not be in the hands of who sends them.
package extauthz

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/gateway/decide"
	"tenet/internal/rule"
)

// Config sets up the service. Client is required.
type Config struct {
	// Client returns the client with which the caller of a method asks, by the key in its metadata.
	Client func(ctx context.Context) (*client.Client, error)
	// Headers are the names of the headers, in lower case, that are facts.
	Headers []string
	Logger  *slog.Logger // nil drops its lines
}

// EvaluationHeader names the evaluation by which a request passed, for the server behind the proxy. One that the client sent is
// replaced.
const EvaluationHeader = "x-tenet-evaluation-id"

// Register adds the service to a server.
func Register(s grpc.ServiceRegistrar, cfg Config) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	authv3.RegisterAuthorizationServer(s, &service{cfg: cfg})
}

type service struct {
	authv3.UnimplementedAuthorizationServer

	cfg Config
}

// Check implements [authv3.AuthorizationServer].
func (s *service) Check(ctx context.Context, req *authv3.CheckRequest) (answer *authv3.CheckResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Logger.ErrorContext(ctx, "a question of a proxy panicked", slog.Any("panic", v))
			answer, err = s.failed(ctx, rule.Errorf(rule.CodeInternal, "Tenet failed")), nil
		}
	}()
	c, err := s.cfg.Client(ctx)
	if err != nil {
		return s.failed(ctx, err), nil
	}
	x, err := read(req)
	if err != nil {
		return s.failed(ctx, err), nil
	}
	q, err := x.questions(s.cfg.Headers)
	if err != nil {
		return s.failed(ctx, err), nil
	}
	return s.ask(ctx, c, q), nil
}

// questions holds the calls and the action of a request, which are evaluated.
type questions struct {
	messages []message // of MCP
	batch    bool
	calls    []gateway.Call
	action   string // empty for none
	facts    []byte // of the action, a JSON object
}

// questions returns what is to be evaluated. A request of a route that is not said to carry MCP is an action even if it holds calls:
// else its sender could have it judged as a harmless call.
func (x *exchange) questions(headers []string) (*questions, error) {
	q := &questions{}
	if x.protocol != onlyHTTP {
		if err := x.readMCP(q); err != nil && x.protocol == onlyMCP {
			return nil, err
		} else if err != nil {
			q = &questions{} // it is no MCP, and an action alone
		}
	}
	if x.protocol == onlyMCP {
		return q, nil
	}
	facts, err := x.facts(headers)
	if err != nil {
		return nil, err
	}
	q.action = x.action()
	q.facts, err = json.Marshal(facts)
	return q, err
}

// readMCP takes the messages of the body, and the calls among them.
func (x *exchange) readMCP(q *questions) (err error) {
	if x.method != http.MethodPost {
		if x.body != nil {
			return notMCP("it came with %s", clip(x.method))
		}
		return nil // streams of events and ends of sessions carry no message
	}
	if x.body == nil {
		return rule.Errorf(rule.CodeInvalid, "the proxy sent no body; set with_request_body, without which nobody can see what is called")
	}
	if q.messages, q.batch, err = messages(x.body); err != nil {
		return err
	}
	for _, m := range q.messages {
		if !gateway.Evaluated(m.method) {
			continue
		}
		call, err := gateway.Parse(x.server, m.method, m.params)
		if err != nil {
			return err
		}
		q.calls = append(q.calls, call)
	}
	return nil
}

// ask has the questions evaluated, and lets the request pass if all of them may.
func (s *service) ask(ctx context.Context, c *client.Client, q *questions) *authv3.CheckResponse {
	var evaluations []string
	for i := range q.calls {
		d, err := decide.Call(ctx, c, &q.calls[i])
		if err != nil {
			return s.failed(ctx, err)
		}
		if !d.Allowed {
			return q.refusedCalls(d)
		}
		evaluations = append(evaluations, d.EvaluationID)
	}
	if q.action != "" {
		d, err := decide.Action(ctx, c, q.action, q.facts)
		if err != nil {
			return s.failed(ctx, err)
		}
		if !d.Allowed {
			return refusedAction(d)
		}
		evaluations = append(evaluations, d.EvaluationID)
	}
	return passed(evaluations)
}
