package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tenet/internal/agent"
	"tenet/internal/auth"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

const declared = `agents:
  - name: triage
    description: Sorts tickets.
    prompt: Say which team takes the ticket.
    rules: {match: all, tags: [support], severity_min: high, max: 1, scope: ops}
    result:
      type: object
      required: [team]
      additionalProperties: false
      properties:
        team: {type: string, enum: [billing, ops]}
`

func declare(t testing.TB, text string) []agent.Declared {
	t.Helper()
	list, err := agent.ParseDeclared([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestADeclaredAgentAnswersInItsForm(t *testing.T) {
	d, model := newDesk(), &llmtest.Fake{}
	a := d.agents(model, func(c *agent.Config) { c.Declared = declare(t, declared) })
	model.Push(`{"result":{"team":"sales"},"reasoning":"","clarification":""}`, `{"result":{"team":"ops"},"reasoning":"It is down.","clarification":""}`)
	answer := run(t, a, "triage", agent.Request{Intent: "The server is down", Input: inputOf(diff)})
	if got := decodeInto(t, answer); got["result"].(map[string]any)["team"] != "ops" || answer.Status != wire.AgentCompleted || answer.Reasoning != "It is down." {
		t.Errorf("%+v", answer)
	}
	if q := d.queries[0]; q.Text != "" || q.Limit != 1 || q.Scope != "ops" || q.SeverityMin != rule.High || q.Tags[0] != "support" {
		t.Errorf("looked for %+v", q)
	}
	req := model.Requests()
	if len(req) != 2 || !strings.Contains(req[1].Prompt, "team") || !strings.Contains(req[0].System, "Say which team") || !strings.Contains(req[0].Prompt, "eval(x)") {
		t.Errorf("asked %+v", req)
	}
	model.Push(`{"result":null,"reasoning":"","clarification":"Which server?"}`)
	if got := run(t, a, "triage", agent.Request{Intent: "The server is down"}); got.Status != wire.AgentClarificationNeeded || got.Reasoning != "Which server?" {
		t.Errorf("%+v", got)
	}
	model.Push(`{"result":{"team":"sales"},"reasoning":"","clarification":""}`, `{"result":[],"reasoning":"","clarification":""}`)
	got, err := a.Run(as(t, "ann", auth.Evaluator), "triage", agent.Request{ProjectID: "default", Intent: "The server is down"})
	if rule.CodeOf(err) != rule.CodeUnavailable || got.Status != wire.AgentFailed || got.Result != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := a.Run(as(t, "ann", auth.Evaluator), "triage", agent.Request{ProjectID: "default", Intent: "x", Input: inputOf(strings.Repeat("x", 300<<10))}); rule.CodeOf(err) != rule.CodeTooLarge {
		t.Errorf("a huge diff: %v", err)
	}
}

func TestADeclaredAgentShowsNoSecrets(t *testing.T) {
	secret := "AKIA" + "Q3EGRIJ5KM7PLZ2X"
	d, model := newDesk(), &llmtest.Fake{}
	d.rules[0].Rationale = strings.Repeat("because ", 43) + "of key = " + secret + " and more" // a cut goes through the secret
	a := d.agents(model, func(c *agent.Config) { c.Declared = declare(t, declared) })
	model.Push(`{"result":{"team":"ops"},"reasoning":"It is down.","clarification":""}`)
	content := "x = 1"
	in := subject.Input{Files: []subject.InputFile{{Path: "keys/key=" + secret + " ", Content: &content}}, Facts: map[string]any{"password": "hunter2hunter2"}}
	run(t, a, "triage", agent.Request{Intent: "The server is down", Input: in})
	req := model.Requests()[0]
	if all := req.System + req.Prefix + req.Prompt; strings.Contains(all, secret[:8]) || strings.Contains(all, "hunter2") || !strings.Contains(all, "[redacted:password]") {
		t.Errorf("the model sees %s", all)
	}
}

func TestADeclaredAgentWithoutAModelSaysWhatToDo(t *testing.T) {
	a := newDesk().agents(nil, func(c *agent.Config) { c.Declared = declare(t, declared) })
	got, err := a.Run(as(t, "ann", auth.Evaluator), "triage", agent.Request{ProjectID: "default", Intent: "The server is down"})
	if rule.CodeOf(err) != rule.CodeUnavailable || got.Status != wire.AgentFailed || !strings.Contains(got.Error.Message, "TENET_JUDGE_MODEL") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadDeclarationsAreRefusedAndNamed(t *testing.T) {
	for _, tt := range []struct{ from, to, field string }{
		{"name: triage", "name: Triage!", "agents[0].name"},
		{"name: triage", "name: ask", "agents[0].name"},
		{"description: Sorts tickets.", "description: ''", "agents[0].description"},
		{"prompt: Say which team takes the ticket.", "prompt: ''", "agents[0].prompt"},
		{"match: all", "match: some", "agents[0].rules.match"},
		{"severity_min: high", "severity_min: huge", "agents[0].rules.severity_min"},
		{"max: 1", "max: 1000", "agents[0].rules.max"},
		{"scope: ops", "scope: ops/*/night", "agents[0].rules.scope"},
		{"scope: ops", "scope: ops/*", "agents[0].rules.scope"},
		{"type: object", "type: list", "agents[0].result"},
		{"type: object", "type: string", "agents[0].result"},
		{"team: {type: string", "team: {type: 7", "agents[0].result"},
		{"team: {type: string", "team: {$ref: 'http://localhost/x', type: string", "agents[0].result"},
	} {
		text := strings.Replace(declared, tt.from, tt.to, 1)
		_, err := agent.ParseDeclared([]byte(text))
		e, ok := errors.AsType[*rule.Error](err)
		if !ok || e.Code != rule.CodeInvalid || !slices.ContainsFunc(e.Fields, func(f rule.FieldError) bool { return f.Field == tt.field }) {
			t.Errorf("%s: %v, want an error on %s", tt.to, err, tt.field)
		}
	}
	for _, text := range []string{"agents: 7", "agnts: []", declared + "    promt: x\n", "\x00", "agents:\n  - &a [*a]"} {
		if _, err := agent.ParseDeclared([]byte(text)); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, twice, _ := strings.Cut(declared, "\n")
	if _, err := agent.ParseDeclared([]byte(declared + twice)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("two of a name: %v", err)
	}
}

func FuzzParseDeclared(f *testing.F) {
	f.Add([]byte(declared))
	f.Add([]byte("agents: [{name: a, result: {type: object, properties: {$ref: {type: string}}}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := agent.ParseDeclared(data)
		if err == nil {
			for _, d := range list {
				if d.Name == "" || d.Prompt == "" || len(d.Schema) == 0 {
					t.Errorf("accepted %+v", d)
				}
			}
		}
	})
}

// FuzzAskAnswer lets a model answer anything: no panic, and no sentence without a rule that says it.
func FuzzAskAnswer(f *testing.F) {
	f.Add(sentence("R1", "must not read production data"))
	f.Add("```json\n" + sentence("R2", "x") + "\n```")
	f.Add(`{"sentences":[{"text":"yes","citations":[{"rule_ref":"R1","quote":""}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, model := newDesk(), &llmtest.Fake{}
		model.Push(text, text)
		answer, err := d.agents(model).Run(as(t, "ann", auth.Evaluator), agent.Ask, agent.Request{ProjectID: "default", Intent: "May a contractor read production data?"})
		if err != nil {
			return
		}
		if r, ok := answer.Result.(*wire.AgentAskResult); ok {
			for _, s := range r.Sentences {
				if len(s.Citations) == 0 {
					t.Errorf("%q: the sentence %q cites nothing", text, s.Text)
				}
			}
		}
	})
}
