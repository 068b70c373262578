package wire

import "tenet/internal/rule"

// Problem is an error as clients get it: application/problem+json of RFC 9457.
type Problem struct {
	Type      string         `json:"type" doc:"Kind of problem: urn:tenet:problem: and the code." example:"urn:tenet:problem:invalid"`
	Title     string         `json:"title" doc:"Short name of the kind of problem."`
	Status    int            `json:"status" doc:"HTTP status."`
	Detail    string         `json:"detail" doc:"What is wrong in this case, and what to do."`
	Code      rule.Code      `json:"code" enum:"invalid,not_found,conflict,precondition_failed,unauthenticated,forbidden,unavailable,too_large,rate_limited,internal" doc:"Kind of problem for programs."`
	Errors    []FieldProblem `json:"errors,omitempty" nullable:"false" doc:"The fields that are wrong."`
	RequestID string         `json:"request_id" doc:"Under this id the server has logged the request."`
}

// FieldProblem names a field of a request that is wrong.
type FieldProblem struct {
	Field   string `json:"field" doc:"Path in the body, such as check.cel or rules[3].severity, or the name of a parameter."`
	Message string `json:"message" doc:"What is wrong with it."`
	Value   any    `json:"value,omitempty" doc:"The value, if it is short and cannot be a secret."`
}
