package extauthz

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"tenet/internal/gateway/decide"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// passed lets a request through, with the evaluations by which it passes. Nothing was evaluated for messages of MCP that call nothing.
func passed(evaluations []string) *authv3.CheckResponse {
	ok := &authv3.OkHttpResponse{}
	answer := &authv3.CheckResponse{
		Status: &status.Status{Code: int32(codes.OK)}, HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: ok},
	}
	if len(evaluations) == 0 {
		ok.HeadersToRemove = []string{EvaluationHeader}
		return answer
	}
	all := strings.Join(evaluations, ",")
	ok.Headers = []*corev3.HeaderValueOption{header(EvaluationHeader, all)}
	answer.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{"evaluation_id": structpb.NewStringValue(all)}}
	return answer
}

// denied is a refusal with an HTTP answer for the client.
func denied(code int, media string, body []byte, why string) *authv3.CheckResponse {
	return &authv3.CheckResponse{
		Status: &status.Status{Code: int32(codes.PermissionDenied), Message: clip(why)},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status: &typev3.HttpStatus{Code: typev3.StatusCode(code)}, Body: string(body),
			Headers: []*corev3.HeaderValueOption{header("content-type", media), header("cache-control", "no-store")},
		}},
	}
}

func header(name, value string) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: name, Value: value},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// problem is the body of an answer to an HTTP client, as the API has it (RFC 9457).
type problem struct {
	Title        string       `json:"title"`
	Status       int          `json:"status"`
	Code         rule.Code    `json:"code"`
	Detail       string       `json:"detail"`
	Verdict      rule.Verdict `json:"verdict,omitempty"`
	EvaluationID string       `json:"evaluation_id,omitempty"`
	Rules        []broken     `json:"rules,omitempty"`
}

// broken is a rule that is broken or to be confirmed.
type broken struct {
	Rule      string        `json:"rule"`
	Severity  rule.Severity `json:"severity"`
	Verdict   rule.Verdict  `json:"verdict"`
	Statement string        `json:"statement"`
	Reason    string        `json:"reason,omitempty"`
	Fix       string        `json:"fix,omitempty"`
}

// maxBroken bounds the rules of an answer.
const maxBroken = 20

// answer refuses a request with the problem as the body.
func (p *problem) answer() *authv3.CheckResponse {
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // its fields are texts and numbers
	}
	return denied(p.Status, "application/problem+json", body, p.Detail)
}

// refusedAction refuses an HTTP request for its verdict.
func refusedAction(d decide.Decision) *authv3.CheckResponse {
	p := &problem{
		Title: "Refused by rules", Status: http.StatusForbidden, Code: rule.CodeForbidden, Detail: d.Text, Verdict: d.Evaluation.OverallVerdict,
		EvaluationID: d.EvaluationID,
	}
	for _, list := range [][]rule.RuleVerdict{d.Evaluation.Violations, d.Evaluation.Warnings} {
		for i := range list {
			if v := &list[i]; v.Enforcement != rule.Shadow && len(p.Rules) < maxBroken {
				p.Rules = append(p.Rules, broken{cmp.Or(v.RuleSlug, v.RuleID), v.Severity, v.Verdict, v.RuleStatement, v.Why(), v.FixSuggestion})
			}
		}
	}
	return p.answer()
}

// failed refuses a request that could not be evaluated.
func (s *service) failed(ctx context.Context, err error) *authv3.CheckResponse {
	p := &problem{
		Title: "Not evaluated", Status: http.StatusServiceUnavailable, Code: rule.CodeOf(err),
		Detail: "The request was not passed on, because it could not be evaluated: " + decide.Reason(err) + ".",
	}
	switch p.Code {
	case rule.CodeInvalid:
		p.Status = http.StatusBadRequest
	case rule.CodeTooLarge:
		p.Status = http.StatusRequestEntityTooLarge
	case rule.CodeRateLimited:
		p.Status = http.StatusTooManyRequests
	default:
		p.Code = rule.CodeUnavailable // the gateway's key is no concern of who sent the request
		s.cfg.Logger.WarnContext(ctx, "a request of a proxy could not be evaluated", slog.Any("error", err))
	}
	return p.answer()
}

// rpcAnswer is an answer of JSON-RPC.
type rpcAnswer struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  any            `json:"result,omitempty"`
	Error   *rpcError      `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// toolError is the result of a call that was refused.
type toolError struct {
	Content []textContent `json:"content"`
	IsError bool          `json:"isError"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// refusedCode is the code of JSON-RPC for a request that is not permitted.
const refusedCode = -32001

// refusedCalls refuses the calls of a body in the words of MCP, so that the model reads why: a call of a tool gets an error of the tool,
// any other request one of JSON-RPC. No message of a batch is passed on when one of its calls is refused.
func (q *questions) refusedCalls(d decide.Decision) *authv3.CheckResponse {
	var answers []rpcAnswer
	for _, m := range q.messages {
		if m.id == nil || m.method == "" {
			continue // nobody waits for an answer
		}
		a := rpcAnswer{Version: "2.0", ID: m.id}
		if m.method == wire.CallTool {
			a.Result = toolError{Content: []textContent{{"text", d.Text}}, IsError: true}
		} else {
			a.Error = &rpcError{Code: refusedCode, Message: d.Text}
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return refusedAction(d)
	}
	var body any = answers
	if !q.batch {
		body = answers[0]
	}
	data, err := json.Marshal(body)
	if err != nil {
		return refusedAction(d)
	}
	return denied(http.StatusOK, "application/json", data, d.Text)
}
