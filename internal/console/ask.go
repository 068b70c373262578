package console

import (
	"cmp"
	"net/url"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// reply is the answer to a question in plain words.
type reply struct {
	wire.AgentAnswerOf[wire.AgentAskResult]

	question string
	problem  string // why there is none
}

// askRules answers a question from the rules, with the rules that a search for its words finds below the answer.
func askRules(p *page) error {
	question := strings.TrimSpace(p.r.PostForm.Get("q"))
	if question == "" {
		return p.redirect(p.at("search"))
	}
	v := found{values: url.Values{"q": {question}}, reply: &reply{question: question}}
	answer, err := client.Call(p.ctx, p.api, op.Agent[wire.AgentAskResult]("ask"), any(wire.AgentAskRequest{
		AgentIntent: wire.AgentIntent{Intent: question, SessionID: p.r.PostForm.Get("session")},
	}))
	if code := rule.CodeOf(err); code == rule.CodeForbidden || code == rule.CodeUnauthenticated {
		return err
	}
	v.reply.AgentAnswerOf = answer
	if err != nil {
		v.reply.problem = err.Error()
	}
	if err := v.load(p, 1); err != nil {
		return err
	}
	return p.show(head{Title: "Search", Nav: "search"}, searchView(p, &v))
}

// answered reports whether the rules answer the question.
func (r *reply) answered() bool { return r.Result != nil && r.Result.Answered }

// follows reports whether a further question can go on in the session of the answer.
func (r *reply) follows() bool {
	return r.SessionID != "" && (r.answered() || r.Status == wire.AgentClarificationNeeded)
}

// excerptLabel is the slug of a rule, or its id.
func excerptLabel(slug, id string) string { return cmp.Or(slug, id) }

func citedLabel(c wire.AgentCitation) string { return excerptLabel(c.RuleSlug, c.RuleID) }
