package wire

import (
	"time"

	"tenet/internal/rule"
)

// ActingAgent is an agent that has asked for evaluations for a person.
type ActingAgent struct {
	Agent       string    `json:"agent" doc:"Name of the agent." example:"claude-code"`
	Person      string    `json:"person,omitempty" doc:"Person for whom it acts; absent if nobody is named." example:"corp:ann@example.com"`
	Verified    bool      `json:"verified" doc:"Whether a key or a token has named the agent; else the requests alone do."`
	Actor       string    `json:"actor" doc:"Actor of its last request." example:"key:ci"`
	Session     string    `json:"session,omitempty" doc:"Its last session; absent if it names none."`
	FirstSeen   time.Time `json:"first_seen" doc:"When it was seen first."`
	LastSeen    time.Time `json:"last_seen" doc:"When it was seen last, to about half a minute."`
	Evaluations int64     `json:"evaluations" doc:"Evaluations that it has asked for."`
	Denied      int64     `json:"denied" doc:"Those of them that were denied."`
	// Suspension is nil for an agent that is not suspended.
	Suspension *rule.Suspension `json:"suspension,omitempty" doc:"Suspension that stops it; absent if none does."`
}

// ActingQuery selects agents; empty fields select everything.
type ActingQuery struct {
	Words string `query:"q" maxLength:"200" doc:"Part of the name of the agent or of the person, in any letter case."`
	PageQuery
}

// SuspensionQuery selects suspensions.
type SuspensionQuery struct {
	InForce bool `query:"in_force" doc:"Only suspensions that are not lifted."`
	PageQuery
}

// SuspendAgent is the body that suspends an agent.
type SuspendAgent struct {
	Agent  string `json:"agent" minLength:"1" maxLength:"200" doc:"Name of the agent; letter case does not count." example:"claude-code"`
	Person string `json:"person,omitempty" maxLength:"200" doc:"Person for whom it may no longer act; if absent, it may act for nobody." example:"corp:ann@example.com"`
	Reason string `json:"reason" minLength:"1" maxLength:"4000" doc:"Why." example:"It deleted a production table."`
}

// States of tools of an MCP server.
const (
	ToolsHeld     = "held"
	ToolsAccepted = "accepted"
)

// ToolReport is the report of a gateway about pinned tools of an MCP server.
type ToolReport struct {
	Server string       `json:"server" minLength:"1" maxLength:"200" doc:"Name of the MCP server, as the gateway has it." example:"filesystem"`
	State  string       `json:"state" enum:"held,accepted" doc:"held: the gateway does not show the tools to agents and refuses calls of them; accepted: a person has accepted their new definitions."`
	Tools  []ToolChange `json:"tools" nullable:"false" minItems:"1" maxItems:"100" doc:"The tools concerned."`
}

// ToolChange is a tool of an MCP server whose definition is not the pinned one.
type ToolChange struct {
	Name string   `json:"name" minLength:"1" maxLength:"200" doc:"Name of the tool." example:"write_file"`
	Hash string   `json:"hash" minLength:"64" maxLength:"64" doc:"SHA-256 of its definition in canonical JSON, in hexadecimal digits." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Why  []string `json:"why,omitempty" nullable:"true" maxItems:"20" doc:"Why it is held back." example:"[\"it changed its description\"]"`
}

// LiftSuspension is the body that lifts a suspension.
type LiftSuspension struct {
	Reason string `json:"reason" minLength:"1" maxLength:"4000" doc:"Why it may act again."`
}
