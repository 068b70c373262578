package wire

import (
	"time"

	"tenet/internal/rule"
)

// KeyLimits narrow the role of a key. Absent fields limit nothing.
type KeyLimits struct {
	Scopes   []string `json:"scopes,omitempty" nullable:"false" doc:"Only operations of these scopes: evaluate (ask for evaluations and for the rules that would apply) and read (read, change nothing)." example:"[\"evaluate\"]"`
	NodeID   string   `json:"node_id,omitempty" maxLength:"200" doc:"Federation node, by its id, its path, or its name if no other has it: the key evaluates there or below it, and there if the request names none. Needs scopes evaluate."`
	Networks []string `json:"networks,omitempty" nullable:"false" maxItems:"100" doc:"Only from these networks or addresses." example:"[\"10.1.0.0/16\"]"`
	Rate     float64  `json:"rate,omitempty" minimum:"0" maximum:"100000" doc:"Requests per second that it may make, on each node; the server's rate_limit if absent."`
	Burst    int      `json:"burst,omitempty" minimum:"0" maximum:"100000" doc:"Requests that it may make at once above the rate; twice the rate if absent."`
}

// Key is an API key without its secret.
type Key struct {
	ID        string `json:"id" doc:"Identifier of the key."`
	ProjectID string `json:"project_id" doc:"The one project it may touch, or * for all."`
	Name      string `json:"name" doc:"Who or what uses it; part of the actor in records."`
	Role      string `json:"role" enum:"viewer,evaluator,reviewer,admin" doc:"What it may do; each role may do what those before it may."`
	Prefix    string `json:"prefix,omitempty" doc:"Beginning of its secret, by which it is known again in files; absent for keys made before it was stored."`
	Owner     string `json:"owner,omitempty" doc:"Person to whom it belongs. Approvals treat the owner as the one who asks."`
	Agent     string `json:"agent,omitempty" doc:"Agent that uses it: evaluations with the key name it as verified."`
	KeyLimits
	CreatedAt time.Time  `json:"created_at" doc:"When it was made."`
	CreatedBy string     `json:"created_by" doc:"Actor that made it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is refused."`
	RevokedAt *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
	// LastUsedAt is nil for a key that was not used since uses are noted.
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"When it was last used, to about half a minute; absent if it never was."`
	// RotatedFrom and RotatedTo are empty for keys that were not rotated.
	RotatedFrom   string     `json:"rotated_from,omitempty" doc:"Key whose place it takes."`
	RotatedTo     string     `json:"rotated_to,omitempty" doc:"Key that takes its place; it works until expires_at."`
	Refused       int64      `json:"refused,omitempty" doc:"Uses that were refused since it was made, to about half a minute."`
	LastRefusedAt *time.Time `json:"last_refused_at,omitempty" doc:"When a use was refused last."`
	LastRefusal   string     `json:"last_refusal,omitempty" enum:"revoked,expired,network,scope,node,rate,role" doc:"Why that use was refused."`
}

// ChangeKey is the body that changes a key. Absent fields stay as they are.
type ChangeKey struct {
	Name      *string            `json:"name,omitempty" minLength:"1" doc:"Who or what uses the key."`
	Scopes    Optional[[]string] `json:"scopes,omitzero" nullable:"false" doc:"Only operations of these scopes, of those that the key has: fewer, not more."`
	Networks  Optional[[]string] `json:"networks,omitzero" maxItems:"100" doc:"Only from these networks or addresses; null or an empty list means from everywhere." example:"[\"10.1.0.0/16\"]"`
	Rate      Optional[float64]  `json:"rate,omitzero" minimum:"0" maximum:"100000" doc:"Requests per second that it may make, on each node; null means the server's rate_limit."`
	Burst     Optional[int]      `json:"burst,omitzero" minimum:"0" maximum:"100000" doc:"Requests that it may make at once above the rate; null means twice the rate."`
	ExpiresAt *time.Time         `json:"expires_at,omitempty" doc:"When it expires: earlier than now set, not later. A time that has passed ends it at once."`
}

// RotateKey is the body that puts a new key in the place of one.
type RotateKey struct {
	OverlapHours Optional[float64] `json:"overlap_hours,omitzero" nullable:"false" minimum:"0" maximum:"2160" doc:"Hours for which the old key still works, at most until it expires anyway; 24 if absent, and with 0 it ends at once." example:"24"`
	ExpiresAt    *time.Time        `json:"expires_at,omitempty" doc:"When the new key expires. If absent, it lasts as long as the old one was made for, or without end if that had none."`
}

// KeyQuery selects API keys.
type KeyQuery struct {
	Every bool `query:"every" doc:"With project_id *: the keys of every project too."`
	PageQuery
}

// CreateKey is the body that makes a key.
type CreateKey struct {
	Name      string     `json:"name" minLength:"1" doc:"Who or what uses the key." example:"ci"`
	Role      string     `json:"role" enum:"viewer,evaluator,reviewer,admin" doc:"What it may do."`
	ProjectID string     `json:"project_id,omitempty" doc:"The one project it may touch, or * for all; if the query does not name it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is refused; never if absent."`
	Owner     string     `json:"owner,omitempty" maxLength:"200" doc:"Person to whom it belongs; if absent, the person who makes it." example:"corp:ann@example.com"`
	Agent     string     `json:"agent,omitempty" maxLength:"200" doc:"Agent that uses it, if it is an agent's: evaluations name it as verified, and it acts for the owner alone." example:"release-bot"`
	KeyLimits
}

// CreatedKey is a new key with its secret.
type CreatedKey struct {
	Key
	Secret string `json:"secret" doc:"What to send as Authorization: Bearer. It is shown this once and not stored."`
}

// CreateProject is the body that makes a project.
type CreateProject struct {
	ID            string `json:"id" doc:"1 to 63 lower-case letters, digits, - and _, beginning with a letter or digit." example:"payments"`
	Name          string `json:"name,omitempty" doc:"Display name; the id if absent."`
	Description   string `json:"description,omitempty" doc:"What the project is for."`
	TwoPerson     bool   `json:"two_person_approval,omitempty" doc:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired bool   `json:"tests_required,omitempty" doc:"Refuse to make a rule EFFECTIVE unless it has test cases and all of them pass."`
	// Policy is nil for the default policy.
	Policy *ProjectPolicyInput `json:"policy,omitempty" doc:"Demands of the project on every evaluation."`
}

// ChangeProject is the body that changes a project.
type ChangeProject struct {
	Name          Optional[string] `json:"name,omitzero" nullable:"false" doc:"Display name."`
	Description   Optional[string] `json:"description,omitzero" doc:"What the project is for; null clears it."`
	TwoPerson     Optional[bool]   `json:"two_person_approval,omitzero" nullable:"false" doc:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired Optional[bool]   `json:"tests_required,omitzero" nullable:"false" doc:"Refuse to make a rule EFFECTIVE unless it has test cases and all of them pass."`
	// Policy is nil if it stays as it is.
	Policy *ProjectPolicyInput `json:"policy,omitempty" doc:"Demands of the project on every evaluation; absent parts stay as they are."`
}

// ProjectPolicyInput is the policy of a project as its administrator writes it. Absent parts stay as they are.
type ProjectPolicyInput struct {
	Floor     Optional[rule.Floor]      `json:"floor,omitzero" doc:"What callers cannot narrow; replaced as a whole, null takes it away."`
	Uncovered map[string]rule.Uncovered `json:"uncovered,omitempty" doc:"The overall verdict where no rule covers the subject, by the kind of the subject: allow, confirm or deny. Absent kinds stay as they are."`
	// Approvals replaces all entries.
	Approvals Optional[[]rule.ApprovalRoute] `json:"approvals,omitzero" doc:"Demands on approvals; replaced as a whole, null takes them away."`
	// FailModes replaces all entries.
	FailModes Optional[rule.FailModes] `json:"fail_modes,omitzero" doc:"What hooks answer at least about a rule that nothing could judge, by its severity: open, ask or closed; replaced as a whole, null takes them away. Severities that are absent are left to the hooks."`
	// Personal replaces both lists.
	Personal Optional[rule.Personal] `json:"personal,omitzero" doc:"Personal data in subjects, which records hold encrypted under a key of the person; replaced as a whole, null takes them away. What is recorded stays as it is."`
	// CacheBy replaces all entries.
	CacheBy Optional[[]rule.CacheFact] `json:"cache_by,omitzero" doc:"The facts of who asks that stored verdicts of a model depend on: actor, person, agent, session; replaced as a whole, null takes them away, so that everybody in the project shares verdicts."`
	Reason  string                     `json:"reason,omitempty" maxLength:"8000" doc:"Why; needed for a change that loosens the policy."`
}
