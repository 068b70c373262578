package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/agent"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

const (
	agentPath = "/agent"
	agentTag  = "Agents"
)

// AgentIntent is what every agent is sent.
type AgentIntent struct {
	Intent    string `json:"intent" minLength:"1" maxLength:"10000" doc:"What you want, in plain words." example:"May a contractor read production data?"`
	SessionID string `json:"session_id,omitempty" nullable:"true" maxLength:"64" doc:"Session of an earlier answer, to go on with it; absent begins one."`
}

// AgentPlace says where a request to an agent is made, and so which rules count.
type AgentPlace struct {
	Scope       string `json:"scope,omitempty" nullable:"true" maxLength:"1024" doc:"Scope; absent means every scope." example:"finance/payments"`
	NodeID      string `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules count; absent means all rules."`
	Environment string `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Count by the snapshot that is active there instead of the live rules; 409 if nothing is deployed there."`
}

// AgentChange is a change that is to be judged.
type AgentChange struct {
	Diff       string              `json:"diff,omitempty" nullable:"true" doc:"Unified diff text."`
	Files      []subject.InputFile `json:"files,omitempty" nullable:"true" doc:"Files. A file without content is known by its path only."`
	Repository string              `json:"repository,omitempty" nullable:"true" doc:"Repository identifier."`
}

// AgentFacts are what else an intent may be about.
type AgentFacts struct {
	Facts map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
}

// AgentMode says whether what is judged has happened.
type AgentMode struct {
	Mode rule.Mode `json:"mode,omitempty" nullable:"true" enum:"preflight,posthoc" default:"preflight" doc:"Before or after the action."`
}

// AgentAskRequest asks a question.
type AgentAskRequest struct {
	AgentIntent
	AgentPlace
}

// AgentCheckRequest asks whether something may be done.
type AgentCheckRequest struct {
	AgentIntent
	AgentChange
	AgentFacts
	AgentMode
	AgentPlace
}

// AgentReviewRequest asks for a review of a change.
type AgentReviewRequest struct {
	AgentIntent
	AgentChange
	AgentMode
	AgentPlace
}

// AgentAuthorRequest asks for a rule.
type AgentAuthorRequest struct {
	AgentIntent
	AgentPlace
	Store bool `json:"store,omitempty" nullable:"true" doc:"Keep the draft, as a rule of status DRAFT; needs the role reviewer."`
}

// AgentDeclaredRequest is sent to an agent of the operator.
type AgentDeclaredRequest struct {
	AgentIntent
	AgentChange
	AgentFacts
	AgentPlace
}

// AgentSummary tells what an agent is for.
type AgentSummary struct {
	Name         string `json:"name" doc:"Name in the path."`
	Description  string `json:"description" doc:"What it is for."`
	ResultSchema string `json:"result_schema" doc:"Name of the schema of result, under components/schemas of /openapi.json."`
}

func (r *AgentAskRequest) request() agent.Request {
	return agent.Request{
		Intent: r.Intent, SessionID: r.SessionID, NodeID: r.NodeID, Environment: r.Environment, Input: subject.Input{Scope: r.Scope},
	}
}

func (r *AgentCheckRequest) request() agent.Request {
	return agent.Request{
		Intent: r.Intent, SessionID: r.SessionID, NodeID: r.NodeID, Environment: r.Environment, Mode: r.Mode,
		Input: subject.Input{Scope: r.Scope, Diff: r.Diff, Files: r.Files, Facts: r.Facts, Repository: r.Repository},
	}
}

func (r *AgentReviewRequest) request() agent.Request {
	return agent.Request{
		Intent: r.Intent, SessionID: r.SessionID, NodeID: r.NodeID, Environment: r.Environment, Mode: r.Mode,
		Input: subject.Input{Scope: r.Scope, Diff: r.Diff, Files: r.Files, Repository: r.Repository},
	}
}

func (r *AgentAuthorRequest) request() agent.Request {
	return agent.Request{
		Intent: r.Intent, SessionID: r.SessionID, NodeID: r.NodeID, Environment: r.Environment, Input: subject.Input{Scope: r.Scope}, Store: r.Store,
	}
}

func (r *AgentDeclaredRequest) request() agent.Request {
	return agent.Request{
		Intent: r.Intent, SessionID: r.SessionID, NodeID: r.NodeID, Environment: r.Environment,
		Input: subject.Input{Scope: r.Scope, Diff: r.Diff, Files: r.Files, Facts: r.Facts, Repository: r.Repository},
	}
}

// agentRoutes serve each agent natively and, unless that is switched off, under the REST prefix: one handler for all.
func (s *server) agentRoutes() {
	if s.cfg.Agents == nil {
		return
	}
	var list []AgentSummary
	add := func(name, description string, result *huma.Schema, mount func(name, description, schema string)) {
		schema := s.agentSchemas(name, result)
		list = append(list, AgentSummary{name, description, schema})
		mount(name, description, schema)
	}
	schemaOf := func(t reflect.Type) *huma.Schema { return s.api.OpenAPI().Components.Schemas.Schema(t, true, "") }
	add(agent.Ask, "Answers a question from the rules in force. Every sentence cites words that stand in a rule; without a model the rules that match best are listed.",
		schemaOf(reflect.TypeFor[agent.AskResult]()), mountAgent[AgentAskRequest](s))
	add(agent.Check, "Tells whether something may be done: the intent alone, or a diff, files or facts that it describes. The evaluation is on record.",
		schemaOf(reflect.TypeFor[agent.CheckResult]()), mountAgent[AgentCheckRequest](s))
	add(agent.Author, "Drafts a rule from a wish, with severity, scope, test cases and what lint says of it. Nothing is stored unless store is true, and then as a DRAFT.",
		schemaOf(reflect.TypeFor[agent.AuthorResult]()), mountAgent[AgentAuthorRequest](s))
	add(agent.Review, "Reviews a change: a comment for each place that breaks a rule or that a person should look at.",
		schemaOf(reflect.TypeFor[agent.ReviewResult]()), mountAgent[AgentReviewRequest](s))
	for _, d := range s.cfg.Agents.Declared() {
		add(d.Name, d.Description, rawSchema(d.Schema), mountAgent[AgentDeclaredRequest](s))
	}
	delete(s.api.OpenAPI().Components.Schemas.Map(), "AgentAnswer") // each agent has one of its own
	type listOutput struct {
		Body struct {
			Items []AgentSummary `json:"items" nullable:"false" doc:"The agents, the built-in ones first."`
		}
	}
	register(s, operation{
		id: "list-agents", method: http.MethodGet, path: agentPath, tag: agentTag, role: auth.Viewer, place: eachProject,
		summary: "List the agents",
	}, func(context.Context, *struct{}) (*listOutput, error) {
		out := &listOutput{}
		out.Body.Items = list
		return out, nil
	})
}

// agentQuery asks an agent by a GET.
type agentQuery struct {
	ProjectQuery
	Query     string `query:"query" required:"true" minLength:"1" maxLength:"10000" doc:"The intent, in plain words."`
	SessionID string `query:"session_id" maxLength:"64" doc:"Session of an earlier answer, to go on with it."`
}

type agentOutput struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       *agent.Answer
}

// asked is a body that an agent takes.
type asked[B any] interface {
	*B
	request() agent.Request
}

// mountAgent registers the routes of an agent that takes a body of type B.
func mountAgent[B any, P asked[B]](s *server) func(name, description, schema string) {
	return func(name, description, schema string) {
		run := func(ctx context.Context, _ *struct{ ProjectQuery }, body *B) (*agentOutput, error) {
			return s.runAgent(ctx, name, P(body).request())
		}
		op := func(id, method, path string) operation {
			return operation{
				id: id, method: method, path: path + "/" + name, tag: agentTag, role: auth.Evaluator,
				summary: "Ask the agent " + name, description: description + " With `Accept: text/event-stream` steps and verdicts are sent as they come, then `done`.",
			}
		}
		s.agentAnswers(registerBody(s, op("agent-"+name, http.MethodPost, agentPath), run), schema)
		prefix := s.cfg.RESTPrefix
		if prefix == "" {
			return
		}
		s.agentAnswers(registerBody(s, op("rest-"+name, http.MethodPost, prefix), run), schema)
		s.agentAnswers(register(s, op("rest-get-"+name, http.MethodGet, prefix), func(ctx context.Context, in *agentQuery) (*agentOutput, error) {
			// A page of another site can make a browser send a GET; no page of this one does.
			if site := exchangeFrom(ctx).r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
				return nil, rule.Errorf(rule.CodeForbidden, "requests from pages of another site are refused")
			}
			return s.runAgent(ctx, name, agent.Request{Intent: in.Query, SessionID: in.SessionID})
		}), schema)
	}
}

// runAgent is the one handler of all routes of all agents.
func (s *server) runAgent(ctx context.Context, name string, req agent.Request) (*agentOutput, error) {
	req.ProjectID = project(ctx)
	var events *stream
	outer := ctx
	if exchangeFrom(ctx).wantsEvents() {
		events, ctx = openStream(ctx)
		defer events.end()
		req.Decided = events.verdict
		req.Step = func(step agent.Step) { events.send("step", step) }
	}
	answer, err := s.cfg.Agents.Run(ctx, name, req)
	if err == nil {
		s.countAgent(answer)
	}
	switch {
	case events != nil && err != nil:
		return &agentOutput{}, events.finish(outer, s, nil, nil, err)
	case events != nil:
		return &agentOutput{}, events.finish(outer, s, answer, nil, nil)
	case err != nil && answer == nil:
		return nil, err
	case err != nil:
		p := s.problem(ctx, err)
		return &agentOutput{Status: p.Status, RetryAfter: p.header.Get("Retry-After"), Body: answer}, nil
	}
	return &agentOutput{Status: http.StatusOK, Body: answer}, nil
}

// countAgent counts the evaluations that agents ask for like all others.
func (s *server) countAgent(answer *agent.Answer) {
	switch r := answer.Result.(type) {
	case *agent.CheckResult:
		s.metrics.evaluations.WithLabelValues(string(r.Verdict)).Inc()
	case *agent.ReviewResult:
		s.metrics.evaluations.WithLabelValues(string(r.Verdict)).Inc()
	}
}

// agentAnswers documents what an agent answers.
func (s *server) agentAnswers(op *huma.Operation, result string) {
	schema := &huma.Schema{Ref: "#/components/schemas/" + strings.TrimSuffix(result, "Result") + "Answer"}
	op.Responses["200"].Content[jsonType] = &huma.MediaType{Schema: schema}
	delete(op.Responses["200"].Headers, "Retry-After")
	op.Responses["200"].Content[eventType] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Description: "Server-sent events: step (what is being done) and verdict (a rule's verdict), then done (the whole answer) or error (a problem).",
	}}
	op.Responses[strconv.Itoa(http.StatusServiceUnavailable)] = &huma.Response{
		Description: "The agent could do nothing: status is error, and error says why. Or the server cannot answer at all now.",
		Content:     map[string]*huma.MediaType{jsonType: {Schema: schema}, problemType: s.problemResponse().Content[problemType]},
	}
}

// agentSchemas publishes the schemas of an agent's result and answer, and returns the name of the first.
func (s *server) agentSchemas(name string, result *huma.Schema) string {
	all := s.api.OpenAPI().Components.Schemas
	title := "Agent"
	for word := range strings.SplitSeq(name, "-") {
		title += strings.ToUpper(word[:1]) + word[1:]
	}
	if result.Ref == "" {
		all.Map()[title+"Result"] = result
		result = &huma.Schema{Ref: "#/components/schemas/" + title + "Result"}
	}
	answer := *all.SchemaFromRef(all.Schema(reflect.TypeFor[agent.Answer](), true, "").Ref)
	answer.Properties = maps.Clone(answer.Properties)
	answer.Properties["result"] = orNull(result)
	answer.Properties["error"] = orNull(all.Schema(reflect.TypeFor[agent.Failure](), true, ""))
	all.Map()[title+"Answer"] = &answer
	return title + "Result"
}

func orNull(s *huma.Schema) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{s, {Type: nullType}}}
}

// rawSchema is a schema that is published as it stands.
func rawSchema(data []byte) *huma.Schema {
	s := &huma.Schema{}
	if err := json.Unmarshal(data, &s.Extensions); err != nil {
		panic("api: the schema of an agent is not JSON: " + err.Error()) // it was compiled before
	}
	return s
}
