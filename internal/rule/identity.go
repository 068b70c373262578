package rule

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Identity names the person for whom a request was made, the agent that made it, and the session of that agent.
type Identity struct {
	Person  string `json:"person,omitempty" doc:"Person for whom the agent acts." example:"corp:ann@example.com"`
	Agent   string `json:"agent,omitempty" doc:"Agent that acts." example:"claude-code"`
	Session string `json:"session,omitempty" doc:"Session of the agent: a claim of the request."`
	Client  string `json:"client,omitempty" doc:"Name that the request gives its agent, where its key or token names another: a claim of the request."`
	// Claimed lists the fields that nothing but the request itself says.
	Claimed []string `json:"claimed,omitempty" nullable:"false" doc:"Which of person, agent, session and client only the request itself claims. The others follow from its key or token. Absent if nothing is only claimed."`
}

// IsZero reports whether the identity names nothing.
func (i Identity) IsZero() bool { return i.Person == "" && i.Agent == "" && i.Session == "" }

// Claims reports whether a field is only a claim of the request.
func (i Identity) Claims(field string) bool { return slices.Contains(i.Claimed, field) }

// Agents are the names of the agent: the verified one, and the one that the request gives.
func (i Identity) Agents() []string {
	return slices.DeleteFunc([]string{i.Agent, i.Client}, func(s string) bool { return s == "" })
}

// People are the names by which the person is found: with the name of the identity provider and without.
func (i Identity) People() []string {
	name := FoldName(i.Person)
	if name == "" {
		return nil
	}
	if _, bare, ok := strings.Cut(name, ":"); ok && bare != "" {
		return []string{name, bare}
	}
	return []string{name}
}

// FoldName is a name of a person, an agent or a session in the form in which names are compared.
func FoldName(s string) string { return FoldCase(strings.TrimSpace(s)) }

// SamePerson reports whether two names may mean one person. The name of an identity provider before the colon counts only if both have one.
func SamePerson(a, b string) bool {
	a, b = FoldName(a), FoldName(b)
	if a == "" || b == "" {
		return false
	}
	_, nameA, providerA := strings.Cut(a, ":")
	_, nameB, providerB := strings.Cut(b, ":")
	switch {
	case providerA && !providerB:
		return nameA == b
	case providerB && !providerA:
		return nameB == a
	}
	return a == b
}

// Suspension stops an agent: its requests are denied until the suspension is lifted.
type Suspension struct {
	ID          string     `json:"id" format:"uuid" doc:"Identifier."`
	ProjectID   string     `json:"project_id" doc:"Project in which the agent is suspended, or * for all."`
	Agent       string     `json:"agent" doc:"Name of the agent; letter case does not count." example:"claude-code"`
	Person      string     `json:"person,omitempty" doc:"Person for whom it may no longer act; absent if it may act for nobody."`
	Reason      string     `json:"reason" doc:"Why."`
	SuspendedAt time.Time  `json:"suspended_at" doc:"Since when."`
	SuspendedBy string     `json:"suspended_by" doc:"Who suspended it."`
	LiftedAt    *time.Time `json:"lifted_at,omitempty" doc:"When the suspension was lifted; absent while it is in force."`
	LiftedBy    string     `json:"lifted_by,omitempty" doc:"Who lifted it."`
	LiftReason  string     `json:"lift_reason,omitempty" doc:"Why it was lifted."`
}

// Notice says in a sentence that the agent is suspended.
func (s *Suspension) Notice() string {
	return "The " + s.text() + ". An administrator can lift the suspension."
}

func (s *Suspension) text() string {
	of := ""
	if s.Person != "" {
		of = " of " + s.Person
	}
	return "agent " + s.Agent + of + " is suspended: " + strings.TrimSuffix(s.Reason, ".")
}

// suspendedField is the field of a refusal that only a suspension has, unlike other forbidden requests.
const suspendedField = "agent"

// Refusal returns the forbidden error for a request of the agent that is not answered by an evaluation. [IsSuspended] knows it, also
// after it has gone over HTTP.
func (s *Suspension) Refusal() *Error {
	e := Errorf(CodeForbidden, "the %s", s.text())
	e.Fields = []FieldError{{Field: suspendedField, Message: "an administrator can lift the suspension", Value: s.Agent}}
	return e
}

// IsSuspended reports whether an error says that the agent is suspended. That is an answer, and a denial; other forbidden errors say only that
// nothing was judged.
func IsSuspended(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeForbidden && slices.ContainsFunc(e.Fields, func(f FieldError) bool { return f.Field == suspendedField })
}

// Stops reports whether the suspension is about an identity.
func (s *Suspension) Stops(i Identity) bool {
	if s.Person != "" && !SamePerson(s.Person, i.Person) {
		return false
	}
	return slices.ContainsFunc(i.Agents(), func(name string) bool { return FoldName(name) == FoldName(s.Agent) })
}

// ToolChange is a tool of an MCP server whose definition is not the pinned one.
type ToolChange struct {
	Name string   `json:"name"`
	Hash string   `json:"hash"` // SHA-256 of its definition in canonical JSON, in hexadecimal digits
	Why  []string `json:"why,omitempty"`
}
