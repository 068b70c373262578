package wire

import (
	"time"

	"tenet/internal/rule"
)

// Key is an API key without its secret.
type Key struct {
	ID        string     `json:"id" doc:"Identifier of the key."`
	ProjectID string     `json:"project_id" doc:"The one project it may touch, or * for all."`
	Name      string     `json:"name" doc:"Who or what uses it; part of the actor in records."`
	Role      string     `json:"role" enum:"viewer,evaluator,reviewer,admin" doc:"What it may do; each role may do what those before it may."`
	CreatedAt time.Time  `json:"created_at" doc:"When it was made."`
	CreatedBy string     `json:"created_by" doc:"Actor that made it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is refused."`
	RevokedAt *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
	// LastUsedAt is nil for a key that was not used since uses are noted.
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"When it was last used, to about half a minute; absent if it never was."`
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
	Reason    string                         `json:"reason,omitempty" maxLength:"8000" doc:"Why; needed for a change that loosens the policy."`
}
