package rule

import (
	"slices"
	"time"
)

// ApprovalState is how far an [Approval] has come.
type ApprovalState string

// States of an approval. Pending and approved are open: each leads to one other state, once. When its time runs out, a pending one is rejected, and an approved
// one expires.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalRejected  ApprovalState = "rejected"
	ApprovalExpired   ApprovalState = "expired"
	ApprovalUsed      ApprovalState = "used"
	ApprovalWithdrawn ApprovalState = "withdrawn"
)

// ApprovalStates are the values of [Approval.State].
var ApprovalStates = []ApprovalState{ApprovalPending, ApprovalApproved, ApprovalRejected, ApprovalExpired, ApprovalUsed, ApprovalWithdrawn}

// Limits on an approval.
const (
	MaxApprovalReason = 2000                // characters of a reason
	MaxApprovalUses   = 1000                // evaluations that one approval may serve
	MaxApprovalWait   = 7 * 24 * time.Hour  // from its request to the end of the time for a decision
	MaxApprovalTime   = 30 * 24 * time.Hour // from its request to the end of its use
	// DefaultApprovalWait is the time for a decision unless the request or the policy says otherwise.
	DefaultApprovalWait = time.Hour
	// DefaultApprovalTime is the time in which an approval can be used once it is given, unless the request says otherwise.
	DefaultApprovalTime = 24 * time.Hour
)

// FederationChange is the subject kind of an approval of a change of nodes or attachments, which has no evaluation.
const FederationChange = "federation_change"

// Approval is the request that people confirm one action, and their answer. It is bound to the subject with all its arguments, to the
// rules that ask for confirmation with what they say, to the project, and to the requester: nothing else passes by it.
type Approval struct {
	ID           string         `json:"id" format:"uuid" doc:"Identifier."`
	ProjectID    string         `json:"project_id" doc:"Project of the evaluation."`
	State        ApprovalState  `json:"state" enum:"pending,approved,rejected,expired,used,withdrawn" doc:"How far it has come. pending and approved lead to one other state, once: when the time runs out, pending to rejected, and approved to expired."`
	EvaluationID string         `json:"evaluation_id" doc:"Evaluation that needs confirmation; empty for a change of the federation."`
	Title        string         `json:"title" doc:"What is to be confirmed, in one line and shortened; the action of a single approval is complete."`
	SubjectKind  string         `json:"subject_kind,omitempty" doc:"Leading kind of the subject."`
	SubjectHash  string         `json:"subject_hash" doc:"SHA-256 of the complete subject. An evaluation of any other subject cannot use the approval."`
	Repository   string         `json:"repository,omitempty" doc:"Repository of the subject."`
	Scope        string         `json:"scope,omitempty" doc:"Scope of the subject."`
	NodeID       string         `json:"node_id,omitempty" doc:"Federation node whose rules were applied."`
	Environment  string         `json:"environment,omitempty" doc:"Environment whose rules were applied; absent for live rules."`
	Rules        []ApprovalRule `json:"rules" nullable:"false" doc:"Rules that ask for confirmation, as they were. A changed rule does not fit the approval."`
	// Change is nil for approvals of evaluations.
	Change    map[string]string `json:"change,omitempty" doc:"Change of the federation that is to be made, by the names of its parts; absent for an evaluation."`
	Uncovered bool              `json:"uncovered,omitempty" doc:"True if the project's policy asks for confirmation because no rule covers the subject."`
	Severity  Severity          `json:"severity,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Highest severity of the rules; absent without rules."`

	Requester      string `json:"requester" doc:"Who may use the approval: the caller of the evaluation."`
	RequesterOwner string `json:"requester_owner,omitempty" doc:"Person whom the requester's key belongs to. Neither the requester nor its owner can decide."`
	AskedBy        string `json:"asked_by,omitempty" doc:"Who asked for the approval, if that was not the requester."`
	Person         string `json:"person,omitempty" doc:"Person for whom the agent acts."`
	Agent          string `json:"agent,omitempty" doc:"Agent that acts."`
	Session        string `json:"session,omitempty" doc:"Session of the agent."`
	Reason         string `json:"reason,omitempty" doc:"Why the requester asks."`
	Auto           bool   `json:"auto,omitempty" doc:"True if the project's policy asked for it, not the caller."`

	Uses       int        `json:"uses" doc:"Evaluations that may use it; 0 means any number until valid_until."`
	UsedCount  int        `json:"used_count" doc:"Evaluations that have used it."`
	UsedBy     string     `json:"used_by,omitempty" doc:"Latest evaluation that has used it."`
	UsedAt     *time.Time `json:"used_at,omitempty" doc:"When that was."`
	ExpiresAt  time.Time  `json:"expires_at" doc:"Until when it can be decided."`
	ValidUntil *time.Time `json:"valid_until,omitempty" doc:"Until when it can be used once it is approved; a day from the decision if the request does not say."`

	Quorum     int                `json:"quorum" doc:"People who must approve; two where a rule is CRITICAL."`
	Role       string             `json:"role" enum:"reviewer,admin" doc:"Role that a person needs to decide."`
	Groups     []ApprovalGroup    `json:"groups,omitempty" nullable:"false" doc:"Who may decide, by the project's policy: a person must be in each group. Absent: all who have the role."`
	EscalateAt *time.Time         `json:"escalate_at,omitempty" doc:"From when on substitutes may decide."`
	Escalated  bool               `json:"escalated,omitempty" doc:"True once the substitutes have been asked."`
	Decisions  []ApprovalDecision `json:"decisions" nullable:"false" doc:"What people have decided, oldest first."`
	CreatedAt  time.Time          `json:"created_at" doc:"When it was asked for."`
	DecidedAt  *time.Time         `json:"decided_at,omitempty" doc:"When it was approved, rejected or withdrawn."`
	DecidedBy  string             `json:"decided_by,omitempty" doc:"Who made the last decision; empty if it was rejected because nobody decided in time."`
	Revision   int                `json:"revision" doc:"Number of its changes, from 1."`

	// URL and Actions are derived, for answers; they are never stored.
	URL     string   `json:"url,omitempty" doc:"Signed link that opens the approval in the console. It decides nothing."`
	Actions []string `json:"actions,omitempty" nullable:"false" enum:"approve,reject,withdraw" doc:"What the caller may do now; absent if nothing."`
}

// ApprovalRule is a rule that asks for confirmation, as it was.
type ApprovalRule struct {
	RuleID      string   `json:"rule_id" doc:"The rule."`
	RuleSlug    string   `json:"rule_slug,omitempty" doc:"Its short name."`
	Version     int      `json:"version" doc:"Its version."`
	ContentHash string   `json:"content_hash" doc:"SHA-256 of what it says."`
	Statement   string   `json:"statement" doc:"The rule text."`
	Severity    Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Why         string   `json:"why" doc:"Why it asks for confirmation."`
}

// ApprovalGroup names the people who may decide by one route of the policy.
type ApprovalGroup struct {
	Approvers   []string `json:"approvers" nullable:"false" doc:"Actors who may decide; key:NAME for a key."`
	Substitutes []string `json:"substitutes,omitempty" nullable:"false" doc:"Actors who may decide as well once the approval is escalated."`
}

// ApprovalDecision is the decision of one person.
type ApprovalDecision struct {
	By         string    `json:"by" doc:"Who."`
	Owner      string    `json:"owner,omitempty" doc:"Person whom the key belongs to."`
	Approve    bool      `json:"approve" doc:"True for an approval, false for a rejection."`
	Reason     string    `json:"reason" doc:"Why."`
	At         time.Time `json:"at" doc:"When."`
	Substitute bool      `json:"substitute,omitempty" doc:"True for a substitute."`
}

// Lapsed reports whether the time of an open approval has run out at a time: that for a decision, or that for its use.
func (a *Approval) Lapsed(now time.Time) bool {
	switch a.State {
	case ApprovalPending:
		return !now.Before(a.ExpiresAt)
	case ApprovalApproved:
		return a.ValidUntil != nil && !now.Before(*a.ValidUntil)
	case ApprovalRejected, ApprovalExpired, ApprovalUsed, ApprovalWithdrawn:
	}
	return false
}

// At returns the state at a time, before a job has stored that time ran out.
func (a *Approval) At(now time.Time) ApprovalState {
	switch {
	case !a.Lapsed(now):
		return a.State
	case a.State == ApprovalPending:
		return ApprovalRejected
	}
	return ApprovalExpired
}

// Unanswered reports whether an approval was rejected because nobody decided in time.
func (a *Approval) Unanswered() bool { return a.State == ApprovalRejected && a.DecidedBy == "" }

// Covers reports whether a rule, as it says something now, is among those to be confirmed.
func (a *Approval) Covers(ruleID, contentHash string) bool {
	return slices.ContainsFunc(a.Rules, func(r ApprovalRule) bool { return r.RuleID == ruleID && r.ContentHash == contentHash })
}

// Approvals returns the decisions that approve.
func (a *Approval) Approvals() (list []ApprovalDecision) {
	for _, d := range a.Decisions {
		if d.Approve {
			list = append(list, d)
		}
	}
	return list
}

// Applied is the approval as a verdict shows it that it covers.
func (a *Approval) Applied() *AppliedApproval {
	applied := &AppliedApproval{ID: a.ID}
	for _, d := range a.Approvals() {
		applied.By = append(applied.By, d.By)
		applied.Reasons = append(applied.Reasons, d.Reason)
	}
	return applied
}

// AppliedApproval is the approval that turned a verdict into ALLOW.
type AppliedApproval struct {
	ID      string   `json:"id" doc:"The approval."`
	By      []string `json:"by" nullable:"false" doc:"Who approved, in order."`
	Reasons []string `json:"reasons" nullable:"false" doc:"Their reasons, in the same order."`
}

// EvaluationApproval names the approval that an evaluation has asked for, waits for or used.
type EvaluationApproval struct {
	ID        string        `json:"id" doc:"The approval."`
	State     ApprovalState `json:"state" enum:"pending,approved,used" doc:"pending: it waits for people. used and approved: this evaluation has used it; approved means that it can be used again."`
	URL       string        `json:"url,omitempty" doc:"Signed link that opens it in the console. It decides nothing."`
	ExpiresAt time.Time     `json:"expires_at" doc:"Until when it can be decided."`
}
