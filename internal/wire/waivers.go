package wire

import "time"

// CreateWaiver is the body that makes a waiver.
type CreateWaiver struct {
	RuleID      string    `json:"rule_id" doc:"Id or slug of the rule." example:"SEC-003"`
	Fingerprint string    `json:"fingerprint" doc:"Fingerprint of the verdict that is waived." example:"5c1f0d1e7a0f4d0e8f6b4d7c3b2a19085c1f0d1e7a0f4d0e8f6b4d7c3b2a1908"`
	Repository  string    `json:"repository,omitempty" doc:"Repository of the evaluation that gave the verdict, in any form; the waiver covers this one only. Absent: evaluations that name none." example:"acme/billing"`
	Reason      string    `json:"reason" doc:"Why the denial may pass." example:"A test key without rights; removed with the next release."`
	ExpiresAt   time.Time `json:"expires_at" doc:"When it lapses, at most 366 days from now."`
	Approver    string    `json:"approver,omitempty" nullable:"true" doc:"Who is asked to approve it; nobody else can then. The name alone approves nothing."`
}
