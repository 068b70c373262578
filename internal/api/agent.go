package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"tenet/internal/agent"
	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

const agentPath = "/agent"

// Agents serves each agent below /agent.
type Agents struct {
	Agents *agent.Agents
	// Prefix is a path such as /rest below which the agents are served too; empty for none.
	Prefix string
	// Answered counts the evaluations that agents ask for, like all others.
	Answered *Answered
}

func askOf(r *wire.AgentAskRequest) agent.Request {
	return agentRequest(r.AgentIntent, r.AgentPlace, wire.AgentChange{}, nil)
}

func checkOf(r *wire.AgentCheckRequest) agent.Request {
	req := agentRequest(r.AgentIntent, r.AgentPlace, r.AgentChange, r.Facts)
	req.Mode, req.Ask = r.Mode, r.ApprovalAsk
	return req
}

func reviewOf(r *wire.AgentReviewRequest) agent.Request {
	req := agentRequest(r.AgentIntent, r.AgentPlace, r.AgentChange, nil)
	req.Mode, req.Ask = r.Mode, r.ApprovalAsk
	return req
}

func authorOf(r *wire.AgentAuthorRequest) agent.Request {
	req := agentRequest(r.AgentIntent, r.AgentPlace, wire.AgentChange{}, nil)
	req.Store = r.Store
	return req
}

func declaredOf(r *wire.AgentDeclaredRequest) agent.Request {
	return agentRequest(r.AgentIntent, r.AgentPlace, r.AgentChange, r.Facts)
}

func agentRequest(intent wire.AgentIntent, place wire.AgentPlace, change wire.AgentChange, facts map[string]any) agent.Request {
	return agent.Request{
		Intent: intent.Intent, SessionID: intent.SessionID, NodeID: place.NodeID, Environment: place.Environment,
		Input: wire.RecordedSubject{Scope: place.Scope, Diff: change.Diff, Files: change.Files, Facts: facts, Repository: change.Repository},
	}
}

// Routes implements [rest.Resource].
func (a Agents) Routes(r *rest.Router) {
	r = r.Tag(agentTag)
	var list wire.AgentList
	add := func(name, description string, result *rest.Schema, mount func(r *rest.Router, name, description string, answer *rest.Schema)) {
		schema, answer := publishAgent(r, name, result)
		list.Items = append(list.Items, wire.AgentSummary{Name: name, Description: description, ResultSchema: schema})
		mount(r, name, description, answer)
	}
	add(agent.Ask, "Answers a question from the rules in force. Every sentence cites words of a rule; without a model it lists the rules that match best.",
		rest.SchemaOf[wire.AgentAskResult](r), mountAgent(a, askOf))
	add(agent.Check, "Evaluates an action: the intent alone, or a diff, files or facts that it describes. Records the evaluation.",
		rest.SchemaOf[wire.AgentCheckResult](r), mountAgent(a, checkOf))
	add(agent.Author, "Drafts a rule from a description, with severity, scope, test cases and lint findings. Stores it only if store is true, as a DRAFT.",
		rest.SchemaOf[wire.AgentAuthorResult](r), mountAgent(a, authorOf))
	add(agent.Review, "Reviews a change: a comment for each place that breaks a rule or needs a person's decision.",
		rest.SchemaOf[wire.AgentReviewResult](r), mountAgent(a, reviewOf))
	for _, d := range a.Agents.Declared() {
		raw := &rest.Schema{}
		if err := json.Unmarshal(d.Schema, &raw.Raw); err != nil {
			panic("api: the schema of an agent is not JSON: " + err.Error()) // package agent has compiled it
		}
		add(d.Name, d.Description, raw, mountAgent(a, declaredOf))
	}
	r.Withdraw("AgentAnswer") // each agent has its own
	rest.Handle(r, rest.Operation{
		ID: "list-agents", Route: "GET " + agentPath, Role: auth.Viewer, Place: rest.EachProject, Summary: "List the agents",
	}, func(context.Context, *rest.None) (wire.AgentList, error) { return list, nil })
}

// agentQuery asks an agent by a GET.
type agentQuery struct {
	Query     string `query:"query" required:"true" minLength:"1" maxLength:"10000" doc:"The intent, in plain words."`
	SessionID string `query:"session_id" maxLength:"64" doc:"Session of an earlier answer, to go on with it."`
}

// agentOutput is the answer of an agent that ran, whether or not it succeeded.
type agentOutput struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       *wire.AgentAnswer
}

// mountAgent mounts an agent that takes a body of type B, natively and below the prefix.
func mountAgent[B any](a Agents, request func(*B) agent.Request) func(r *rest.Router, name, description string, answer *rest.Schema) {
	return func(r *rest.Router, name, description string, answer *rest.Schema) {
		run := func(ctx context.Context, _ *rest.None, body *B) (agentOutput, error) {
			return a.run(ctx, name, request(body))
		}
		op := func(id, route string) rest.Operation {
			return rest.Operation{
				ID: id + name, Route: route + "/" + name, Role: auth.Evaluator, Summary: "Ask the agent " + name,
				Asks:        name == agent.Check || name == agent.Review,
				Description: description + " With `Accept: text/event-stream` the server sends steps and verdicts as they occur, then `done`.",
			}
		}
		describeAgent(rest.HandleBody(r, op("agent-", "POST "+agentPath), run), answer)
		if a.Prefix == "" {
			return
		}
		describeAgent(rest.HandleBody(r, op("rest-", "POST "+a.Prefix), run), answer)
		describeAgent(rest.Handle(r, op("rest-get-", "GET "+a.Prefix), func(ctx context.Context, in *agentQuery) (agentOutput, error) {
			// A page of another site can make a browser send a GET; no page of this one does.
			if site := rest.Request(ctx).Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
				return agentOutput{}, rule.Errorf(rule.CodeForbidden, "requests from pages of another site are refused")
			}
			return a.run(ctx, name, agent.Request{Intent: in.Query, SessionID: in.SessionID})
		}), answer)
	}
}

// run asks an agent. All routes of all agents end here.
func (a Agents) run(ctx context.Context, name string, req agent.Request) (agentOutput, error) {
	req.ProjectID = rest.Project(ctx)
	if rest.WantsEvents(ctx) {
		events, streaming := openVerdicts(ctx)
		defer events.End()
		req.Decided = events.verdict
		req.Step = func(step agent.Step) { events.Send("step", step) }
		answer, err := a.Agents.Run(streaming, name, req)
		a.count(answer, err)
		return agentOutput{}, events.Finish(ctx, answer, err)
	}
	answer, err := a.Agents.Run(ctx, name, req)
	a.count(answer, err)
	if err != nil && answer != nil {
		p, header := rest.ProblemOf(ctx, err)
		return agentOutput{Status: p.Status, RetryAfter: header.Get("Retry-After"), Body: answer}, nil
	}
	return agentOutput{Body: answer}, err
}

func (a Agents) count(answer *wire.AgentAnswer, err error) {
	if err != nil {
		return
	}
	switch r := answer.Result.(type) {
	case *wire.AgentCheckResult:
		a.Answered.verdict(r.Verdict)
	case *wire.AgentReviewResult:
		a.Answered.verdict(r.Verdict)
	}
}

// describeAgent describes the answers of an agent.
func describeAgent(e *rest.Endpoint, answer *rest.Schema) {
	success := e.Success()
	success.Content = rest.JSON(answer)
	success.Headers = nil
	e.Streams("step (the current step) and verdict (a rule's verdict), then done (the whole answer) or error (a problem).")
	e.Fails(http.StatusServiceUnavailable, "The agent failed: status is error, and error says why. Or the server cannot answer now.", answer)
}

// publishAgent publishes the schemas of an agent's result and answer. It returns the name of the first, and the second.
func publishAgent(r *rest.Router, name string, result *rest.Schema) (resultName string, answer *rest.Schema) {
	title := "Agent"
	for word := range strings.SplitSeq(name, "-") {
		title += strings.ToUpper(word[:1]) + word[1:]
	}
	if result.Raw != nil {
		result = r.Publish(title+"Result", result)
	}
	own := *rest.SchemaOf[wire.AgentAnswer](r).Target()
	own.Properties = maps.Clone(own.Properties)
	own.Properties["result"] = result.OrNull()
	own.Properties["error"] = rest.SchemaOf[wire.AgentFailure](r).OrNull()
	return title + "Result", r.Publish(title+"Answer", &own)
}
