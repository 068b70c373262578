package wire

import (
	"time"

	"tenet/internal/rule"
)

// ApprovalTerms say what an approval is to be worth. Zero fields take the defaults: one evaluation, an hour for a decision, and a day for its
// use.
type ApprovalTerms struct {
	Reason     string     `json:"reason,omitempty" nullable:"true" maxLength:"2000" doc:"Why you ask, for those who decide."`
	Uses       int        `json:"uses,omitempty" nullable:"true" minimum:"1" maximum:"1000" doc:"Evaluations of exactly this subject that may use it; absent means one, or with valid_until any number until then."`
	ValidUntil *time.Time `json:"valid_until,omitempty" nullable:"true" doc:"Until when it may be used, at most 30 days from now; absent means a day from the decision."`
	ExpiresIn  string     `json:"expires_in,omitempty" nullable:"true" doc:"Time for a decision, such as 30m; an hour if absent. The project's policy may demand a shorter one." example:"30m"`
}

// CreateApproval is the body that asks for an approval.
type CreateApproval struct {
	EvaluationID string `json:"evaluation_id" minLength:"1" doc:"Evaluation whose overall verdict is NEEDS_CONFIRMATION."`
	ApprovalTerms
}

// ApprovalAsk asks for an approval together with an evaluation.
type ApprovalAsk struct {
	RequestApproval bool           `json:"request_approval,omitempty" doc:"Ask people for an approval if the overall verdict is NEEDS_CONFIRMATION; the answer's approval names it."`
	Approval        *ApprovalTerms `json:"approval,omitempty" doc:"What the approval is to be worth, with request_approval."`
}

// DecideApproval is the body that decides on an approval, or takes it back.
type DecideApproval struct {
	Reason string `json:"reason,omitempty" nullable:"true" maxLength:"2000" doc:"Why. Needed, except from the requester who withdraws its own."`
}

// ApprovalQuery selects approvals; empty fields select everything, and all that are given must hold.
type ApprovalQuery struct {
	States       []string   `query:"state" doc:"pending, approved, rejected, expired, used or withdrawn, in any letter case; repeatable."`
	Requester    string     `query:"requester" maxLength:"500" doc:"Who may use it, exactly; me is the caller." example:"key:ci"`
	Mine         bool       `query:"mine" doc:"Only approvals that the caller may use or has asked for: the same as requester=me."`
	RuleID       string     `query:"rule" maxLength:"200" doc:"Id or slug of a rule to be confirmed." example:"SEC-003"`
	EvaluationID string     `query:"evaluation" maxLength:"100" doc:"Evaluation that needs confirmation."`
	Repository   string     `query:"repository" maxLength:"1024" doc:"Repository of the subject, in any form."`
	Agent        string     `query:"agent" maxLength:"500" doc:"Agent that acts, exactly."`
	Person       string     `query:"person" maxLength:"500" doc:"Person for whom the agent acts, exactly."`
	Session      string     `query:"session" maxLength:"500" doc:"Session of the agent, exactly."`
	Scope        string     `query:"scope" maxLength:"1024" doc:"Scope of the subject: this one or one below it."`
	SeverityMin  string     `query:"severity_min" doc:"LOW, MEDIUM, HIGH or CRITICAL, in any letter case: only approvals of which one rule is at least so severe."`
	Since        *time.Time `query:"since" doc:"Asked for not before this time."`
	Until        *time.Time `query:"until" doc:"Asked for before this time."`
	Cursor       string     `query:"cursor" maxLength:"100" doc:"next_cursor of the page before: what is asked for meanwhile moves nothing. Not together with page."`
	PageQuery
}

// ApprovalPage is a page of approvals, newest first.
type ApprovalPage struct {
	Page[rule.Approval]

	NextCursor string `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
}

// ApprovalWait says how to read an approval.
type ApprovalWait struct {
	Wait      string `query:"wait" doc:"Time to wait for a decision, such as 30s, at most 2m: the answer comes once the approval is not pending any more, or after that time. It then leaves out the action, which the caller knows." example:"30s"`
	Until     int64  `query:"until" minimum:"0" doc:"End of a signed link, from its address; with signature."`
	Signature string `query:"signature" maxLength:"100" doc:"Signature of a signed link, from its address: 403 if this server has not made the link for this approval, or if it has ended."`
}

// MaxApprovalWait bounds wait.
const MaxApprovalWait = 2 * time.Minute

// ApprovalDetail is an approval with the action that is to be confirmed.
type ApprovalDetail struct {
	rule.Approval

	// Subject is nil where the caller waits.
	Subject *RecordedSubject `json:"subject,omitempty" doc:"The complete action, not shortened, as the record of the evaluation has it. Absent in answers to wait and in events."`
	// Display is the subject for people.
	Display    []ApprovalText     `json:"display,omitempty" nullable:"false" doc:"The complete action as texts for people: characters that are invisible or that change the direction of text are written as ⟨U+202E⟩."`
	Redactions []Redaction        `json:"redactions,omitempty" nullable:"false" doc:"Where secrets were removed from the action before it was recorded. The hash of the subject covers them."`
	Verdicts   []rule.RuleVerdict `json:"verdicts,omitempty" nullable:"false" doc:"The verdicts to be confirmed, with their evidence."`
	Effect     string             `json:"effect,omitempty" doc:"What follows from an approval, in words."`
}

// ApprovalText is one text of an action.
type ApprovalText struct {
	Name  string `json:"name" doc:"What it is: action, facts, diff, or the path of a file."`
	Text  string `json:"text" doc:"The whole text."`
	Marks int    `json:"marks,omitempty" doc:"Characters that are written as their code, since they are invisible or deceive."`
}
