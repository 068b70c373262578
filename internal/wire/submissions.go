package wire

import (
	"time"

	"tenet/internal/rule"
)

// SubmissionRequest is the body of a submission. A field that is null counts as absent.
type SubmissionRequest struct {
	Subject   Submitted `json:"subject" doc:"What is to be judged."`
	Scope     string    `json:"scope,omitempty" nullable:"true" doc:"Scope of the subject; absent means every scope." example:"finance/payments"`
	ProjectID string    `json:"project_id,omitempty" nullable:"true" doc:"Project; the key's own, or default, if absent." example:"default"`
	EvaluateOptions
	Acting
	SubmissionID string `json:"submission_id,omitempty" nullable:"true" maxLength:"128" doc:"Your own id of the submission: letters, digits and . _ : -. Sending it again gives the same answer."`
	ApprovalAsk
}

// SubmissionAnswer is an evaluation with the submission it answers.
type SubmissionAnswer struct {
	rule.Evaluation
	SubmissionID string `json:"submission_id" doc:"Identifier of the submission."`
	SubjectKind  string `json:"subject_kind" doc:"Kind of the subject."`
}

// SubmissionState is a submission and how far it has come.
type SubmissionState struct {
	SubmissionID string             `json:"submission_id" doc:"Identifier of the submission."`
	SubjectKind  string             `json:"subject_kind" doc:"Kind of the subject."`
	Status       Status             `json:"status" enum:"pending,running,completed,failed" doc:"How far it has come."`
	Evaluation   *rule.Evaluation   `json:"evaluation,omitempty" doc:"The answer, once it is completed."`
	Error        *SubmissionFailure `json:"error,omitempty" doc:"Why it has failed."`
	CreatedAt    time.Time          `json:"created_at" doc:"When it was accepted."`
}

// SubmissionFailure is why a submission could not be evaluated.
type SubmissionFailure struct {
	Code    rule.Code         `json:"code" doc:"Kind of problem for programs."`
	Message string            `json:"message" doc:"What is wrong, and what to do."`
	Fields  []rule.FieldError `json:"errors,omitempty" nullable:"false" doc:"The fields that are wrong."`
}
