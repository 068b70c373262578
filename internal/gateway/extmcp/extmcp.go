// Package extmcp answers agentgateway whether messages of the Model Context Protocol may pass, over its interface ExtMcp.
//
// Every refusal is an answer, those for want of a key or for a failure of Tenet, too: the gateway may be set to let messages pass on an
// error of gRPC, and that must not be in the hands of who sends them.
package extmcp

import (
	"context"
	"encoding/json"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"tenet/internal/client"
	"tenet/internal/gateway"
	"tenet/internal/gateway/decide"
	"tenet/internal/gateway/extmcp/extmcppb"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Config sets up the service. Client is required.
type Config struct {
	// Client returns the client with which the caller of a method asks, by the key in its metadata.
	Client func(ctx context.Context) (*client.Client, error)
	Logger *slog.Logger // nil drops its lines
}

// Register adds the service to a server.
func Register(s grpc.ServiceRegistrar, cfg Config) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	extmcppb.RegisterExtMcpServer(s, &service{cfg: cfg})
}

type service struct {
	extmcppb.UnimplementedExtMcpServer

	cfg Config
}

// CheckRequest implements [extmcppb.ExtMcpServer]. Requests that call nothing pass without an evaluation.
func (s *service) CheckRequest(ctx context.Context, in *extmcppb.McpRequest) (*extmcppb.McpRequestResult, error) {
	call := &gateway.Call{Method: in.GetMethod(), Tool: in.GetMethod()}
	d, refused := s.check(ctx, in, call, func() error {
		server, err := only(in.GetServiceNames())
		if err != nil {
			return err
		}
		*call, err = gateway.Parse(server, in.GetMethod(), in.GetMcpRequest())
		return err
	})
	if refused != nil {
		return &extmcppb.McpRequestResult{Result: &extmcppb.McpRequestResult_Error{Error: refused}}, nil
	}
	out := &extmcppb.McpRequestResult{Result: &extmcppb.McpRequestResult_Pass{Pass: &extmcppb.Pass{}}}
	if d.EvaluationID != "" {
		out.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"evaluation_id": structpb.NewStringValue(d.EvaluationID)}}
	}
	return out, nil
}

// CheckResponse implements [extmcppb.ExtMcpServer]. Results of requests that call nothing pass without an evaluation.
func (s *service) CheckResponse(ctx context.Context, in *extmcppb.McpResponse) (*extmcppb.McpResponseResult, error) {
	call := &gateway.Call{Method: in.GetMethod(), Tool: in.GetMethod(), Result: struct{}{}}
	_, refused := s.check(ctx, in, call, func() error {
		server, err := only(in.GetServiceNames())
		if err != nil {
			return err
		}
		call.Server = server
		call.Result, err = gateway.ResultOf(in.GetMcpResponse())
		return err
	})
	if refused != nil {
		return &extmcppb.McpResponseResult{Result: &extmcppb.McpResponseResult_Error{Error: refused}}, nil
	}
	return &extmcppb.McpResponseResult{Result: &extmcppb.McpResponseResult_Pass{Pass: &extmcppb.Pass{}}}, nil
}

// question is a request or a result.
type question interface {
	GetMethod() string
	GetMetadataContext() *structpb.Struct
}

// actingOf returns for whom a message is sent, by the values that the gateway's configuration computes; ok is false without any.
func actingOf(values *structpb.Struct) (on wire.Acting, ok bool, err error) {
	for name, to := range map[string]*string{"on_behalf_of": &on.OnBehalfOf, "agent": &on.Agent, "session": &on.Session} {
		value, given := values.GetFields()[name]
		if !given {
			continue
		}
		text, isText := value.GetKind().(*structpb.Value_StringValue)
		if !isText {
			return on, false, rule.Errorf(rule.CodeInvalid, "the gateway's metadata %s is not a text", name)
		}
		*to, ok = text.StringValue, true
	}
	return on, ok, nil
}

// check has a call evaluated that read fills in. It returns a refusal unless the call may pass.
func (s *service) check(ctx context.Context, in question, call *gateway.Call, read func() error) (d decide.Decision, refused *extmcppb.AuthorizationError) {
	method := in.GetMethod()
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Logger.ErrorContext(ctx, "a question of agentgateway panicked", slog.Any("panic", v))
			refused = s.failure(ctx, call, rule.Errorf(rule.CodeInternal, "Tenet failed"))
		}
	}()
	c, err := s.cfg.Client(ctx)
	if err != nil {
		return d, s.failure(ctx, call, err)
	}
	if method == "" {
		return d, s.failure(ctx, call, rule.Errorf(rule.CodeInvalid, "it names no method"))
	}
	if !gateway.Evaluated(method) {
		return d, nil
	}
	if err := read(); err != nil {
		return d, s.failure(ctx, call, err)
	}
	if on, ok, err := actingOf(in.GetMetadataContext()); err != nil {
		return d, s.failure(ctx, call, err)
	} else if ok {
		c = client.Acting(c, on)
	}
	if d, err = decide.Call(ctx, c, call); err != nil {
		return d, s.failure(ctx, call, err)
	}
	if d.Allowed {
		return d, nil
	}
	data, err := json.Marshal(evaluated{d.Evaluation.OverallVerdict, d.EvaluationID})
	if err != nil {
		return d, s.failure(ctx, call, err)
	}
	return d, &extmcppb.AuthorizationError{Code: extmcppb.AuthorizationError_PERMISSION_DENIED, Reason: d.Text, McpError: data}
}

// evaluated is the data of an error of JSON-RPC that refuses a message for its verdict.
type evaluated struct {
	Verdict      rule.Verdict `json:"verdict"`
	EvaluationID string       `json:"evaluation_id"`
}

// failure refuses a message that could not be evaluated.
func (s *service) failure(ctx context.Context, call *gateway.Call, err error) *extmcppb.AuthorizationError {
	out := &extmcppb.AuthorizationError{Code: extmcppb.AuthorizationError_UNKNOWN, Reason: gateway.Failure(call, decide.Reason(err))}
	switch rule.CodeOf(err) {
	case rule.CodeInvalid:
		out.Code = extmcppb.AuthorizationError_INVALID
	case rule.CodeTooLarge, rule.CodeRateLimited:
		out.Code = extmcppb.AuthorizationError_RESOURCE_EXHAUSTED
	case rule.CodeUnauthenticated, rule.CodeForbidden:
		out.Code = extmcppb.AuthorizationError_PERMISSION_DENIED
		fallthrough
	default:
		s.cfg.Logger.WarnContext(ctx, "a message of agentgateway could not be evaluated", slog.Any("error", err))
	}
	return out
}

// only returns the MCP server that a message goes to.
func only(servers []string) (string, error) {
	if len(servers) != 1 || servers[0] == "" {
		return "", rule.Errorf(rule.CodeInvalid, "the gateway names %d servers for it instead of one", len(servers))
	}
	return servers[0], nil
}
