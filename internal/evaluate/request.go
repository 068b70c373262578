package evaluate

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Limits of a request.
const (
	DefaultMaxRules = 20
	MaxMaxRules     = 100
	MaxAction       = 10000 // characters of a plain-text action; quick evaluations take 5,000
	MaxIntent       = 10000 // characters of an intent
	MaxName         = 1024  // bytes of a scope or a repository
)

// DefaultSeverityMin is the least severity that is judged unless the request says otherwise.
const DefaultSeverityMin = rule.Medium

// Environments are the places that rules can be released to.
var Environments = []string{"production", "staging", "development"}

// Request asks for an evaluation. Zero fields take the defaults: preflight, 20 rules, severity MEDIUM.
type Request struct {
	ProjectID string
	Input     subject.Input
	// Submitted, if not nil, gives the input, except the scope, which stays that of Input.
	Submitted *wire.Submitted
	wire.EvaluateOptions
	wire.ApprovalAsk
	// Decided, if not nil, gets each verdict once it is final, from several goroutines but never from two at once. Such a
	// verdict is not recorded before Evaluate returns.
	Decided func(rule.RuleVerdict)

	id string // of the evaluation; a new one if empty
}

// resolve turns a submitted subject into input, with the text of the document that it names.
func (req *Request) resolve(ctx context.Context, documents Documents) error {
	if req.Submitted == nil {
		return nil
	}
	s := *req.Submitted
	if id := s.DocumentID(); id != "" {
		if documents == nil {
			return rule.NotFound("document", id)
		}
		title, text, unread, err := documents.Text(ctx, req.ProjectID, id)
		if err != nil {
			return err
		}
		if err := subject.WithText(&s, title, text, unread); err != nil {
			return err
		}
	}
	in, err := subject.InputOf(&s)
	if err != nil {
		return err
	}
	in.Scope = req.Input.Scope
	req.Input = in
	return nil
}

// fieldsOf puts the field errors of a submitted subject under its name.
func (req *Request) fieldsOf(err error) error {
	if req.Submitted == nil {
		return err
	}
	var p rule.Problems
	p.AddAll("subject", err)
	return p.Err("the subject is invalid")
}

// normalize fills defaults and refuses what is out of range.
func (req *Request) normalize() error {
	var p rule.Problems
	if req.Mode == "" {
		req.Mode = rule.Preflight
	}
	if mode, ok := rule.Parse(string(req.Mode), rule.Modes); ok {
		req.Mode = mode
	} else {
		p.Add("mode", "is %q; use one of %s", string(req.Mode), rule.Names(rule.Modes))
	}
	if req.SeverityMin == "" {
		req.SeverityMin = DefaultSeverityMin
	}
	if s, ok := rule.Parse(string(req.SeverityMin), rule.Severities); ok {
		req.SeverityMin = s
	} else {
		p.Add("severity_min", "is %q; use one of %s", string(req.SeverityMin), rule.Names(rule.Severities))
	}
	if req.Environment != "" {
		if env, ok := rule.Parse(req.Environment, Environments); ok {
			req.Environment = env
		} else {
			p.Add("environment", "is %q; use one of %s", req.Environment, strings.Join(Environments, ", "))
		}
	}
	if req.MaxRules == 0 {
		req.MaxRules = DefaultMaxRules
	}
	if req.MaxRules < 1 || req.MaxRules > MaxMaxRules {
		p.Add("max_rules", "is %d; use 1 to %d", req.MaxRules, MaxMaxRules)
	}
	in := &req.Input
	in.Scope = cleanScope(&p, in.Scope)
	in.Repository = cleanRepository(&p, in.Repository)
	if n := len([]rune(in.Intent)); n > MaxIntent {
		p.Add("intent", "has %d characters; at most %d are allowed", n, MaxIntent)
	}
	if n := len([]rune(in.Action)); n > MaxAction {
		p.Add("action", "has %d characters; at most %d are allowed", n, MaxAction)
	}
	return p.Err("the evaluation request is invalid")
}

// cleanScope brings the scope of a subject to the form that rules have; * is every scope, as none is. A scope that could match
// no rule by mistake is noted.
func cleanScope(p *rule.Problems, given string) string {
	if len(given) > MaxName {
		p.Add("scope", "has %d bytes; at most %d are allowed", len(given), MaxName)
		return given
	}
	scope := rule.CleanScope(given)
	switch {
	case scope == "*":
		return ""
	case strings.Contains(scope, "*"), slices.Contains(strings.FieldsFunc(given, func(r rune) bool { return r == '/' || r == '\\' }), ".."):
		p.Add("scope", "is %q; write a path without * and .. segments, such as finance/payments", given)
	}
	return scope
}

// cleanRepository brings the name of a repository to its normal form.
func cleanRepository(p *rule.Problems, name string) string {
	if len(name) > MaxName {
		p.Add("repository", "has %d bytes; at most %d are allowed", len(name), MaxName)
		return name
	}
	if !utf8.ValidString(name) {
		return name // refused with the subject
	}
	return rule.CleanRepository(name)
}
