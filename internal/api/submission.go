package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

const submissionsPath = "/api/v1/submissions"

func (s *server) submissionRoutes() {
	op := registerBody(s, operation{
		id: "submit", method: http.MethodPost, path: submissionsPath, tag: evaluateTag, role: auth.Evaluator,
		summary: "Submit a subject of any kind for evaluation",
		description: "The evaluation is recorded before it is answered. With a submission_id or an Idempotency-Key, sending the same " +
			"again gives the same answer, and sending something else under the same name is a conflict. With `Prefer: respond-async` the " +
			"answer is 202 with a Location to ask at. With `Accept: text/event-stream` each verdict is sent once it is final, then `done`.",
		responses: s.accepted(reflect.TypeFor[evaluate.Submission]()),
	}, s.submit)
	streams(op)
	register(s, operation{
		id: "get-submission", method: http.MethodGet, path: submissionsPath + "/{id}", tag: evaluateTag, role: auth.Viewer,
		summary: "Get a submission", description: "How far it has come, with the evaluation once it is completed.",
	}, s.getSubmission)
}

// streams documents that an operation can answer with events.
func streams(op *huma.Operation) {
	op.Responses["200"].Content[eventType] = &huma.MediaType{Schema: &huma.Schema{
		Type:        huma.TypeString,
		Description: "Server-sent events: verdict (a rule's verdict, as in rule_verdicts), then done (the whole answer) or error (a problem).",
	}}
}

// SubmissionRequest is the body of a submission. A field that is null counts as absent.
type SubmissionRequest struct {
	Subject      SubmissionSubject `json:"subject" doc:"What is to be judged."`
	Scope        string            `json:"scope,omitempty" nullable:"true" doc:"Scope of the subject; absent means every scope." example:"finance/payments"`
	ProjectID    string            `json:"project_id,omitempty" nullable:"true" doc:"Project; the key's own, or default, if absent." example:"default"`
	NodeID       string            `json:"node_id,omitempty" nullable:"true" doc:"Federation node whose effective rules apply."`
	Environment  string            `json:"environment,omitempty" nullable:"true" enum:"production,staging,development" doc:"Environment whose deployed rules apply; absent means the live rules."`
	Mode         rule.Mode         `json:"mode,omitempty" nullable:"true" enum:"preflight,posthoc" default:"preflight" doc:"Before or after the action."`
	MaxRules     int               `json:"max_rules,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"20" doc:"Most rules to evaluate; coverage counts what is cut."`
	SeverityMin  rule.Severity     `json:"severity_min,omitempty" nullable:"true" enum:"LOW,MEDIUM,HIGH,CRITICAL" default:"MEDIUM" doc:"Minimum severity to include, in any letter case."`
	SubmissionID string            `json:"submission_id,omitempty" nullable:"true" maxLength:"128" doc:"Your own id of the submission: letters, digits and . _ : -. Sending it again gives the same answer."`
}

// SubmissionSubject is the subject of a submission, in one of six forms told apart by kind.
type SubmissionSubject struct{ subject.Submitted }

// Schema implements huma.SchemaProvider.
func (SubmissionSubject) Schema(r huma.Registry) *huma.Schema {
	s := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "kind", Mapping: map[string]string{}}}
	for _, kind := range subject.SubmittedKinds {
		form := r.Schema(subject.FormOf(kind), true, "")
		s.OneOf = append(s.OneOf, form)
		s.Discriminator.Mapping[string(kind)] = form.Ref
	}
	return s
}

// SubmissionAnswer is an evaluation with the submission it answers.
type SubmissionAnswer struct {
	rule.Evaluation
	SubmissionID string `json:"submission_id" doc:"Identifier of the submission."`
	SubjectKind  string `json:"subject_kind" doc:"Kind of the subject."`
}

type submissionOutput struct{ Body *SubmissionAnswer }

// NameHeader is the idempotency key of operations that evaluate.
type NameHeader struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"Your own name of the request. Sending it again with the same body gives the same answer."`
}

func (s *server) submit(ctx context.Context, in *struct {
	ProjectQuery
	NameHeader
	AsyncHeader
}, body *SubmissionRequest,
) (*submissionOutput, error) {
	projectID, err := enterNamed(ctx, body.ProjectID)
	if err != nil {
		return nil, err
	}
	if body.SubmissionID != "" && !submissionID.MatchString(body.SubmissionID) {
		return nil, invalidField("submission_id", "must have 1 to 128 letters, digits and . _ : -, and begin with a letter or digit")
	}
	req := body.request(projectID)
	body.ProjectID = ""
	named, err := s.named(ctx, body.SubmissionID, in.Key, body)
	if err != nil {
		return nil, err
	}
	if wantsAsync(ctx) {
		return &submissionOutput{}, s.later(ctx, named, req)
	}
	answer, err := s.answer(ctx, named, req, func(a *evaluate.Answer) any { return submissionAnswer(a) })
	if err != nil || answer == nil {
		return &submissionOutput{}, err
	}
	return &submissionOutput{submissionAnswer(answer)}, nil
}

func submissionAnswer(a *evaluate.Answer) *SubmissionAnswer {
	return &SubmissionAnswer{Evaluation: *a.Evaluation, SubmissionID: a.SubmissionID, SubjectKind: a.SubjectKind}
}

// later accepts a submission and answers 202.
func (s *server) later(ctx context.Context, named evaluate.Named, req evaluate.Request) error {
	sub, err := s.evaluator.Later(ctx, named, req)
	if err != nil {
		return err
	}
	accept(ctx, location(ctx, submissionsPath, sub.SubmissionID), sub)
	return nil
}

// prefersAsync reads a Prefer header (RFC 7240).
func prefersAsync(header string) bool {
	for preference := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
			return true
		}
	}
	return false
}

var (
	submissionID   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
	idempotencyKey = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)
)

// named names a request by what the caller calls it. The same means the same to the letter but for white space and the order
// of fields: the hash is over what was understood.
func (s *server) named(ctx context.Context, id, key string, body any) (evaluate.Named, error) {
	x := exchangeFrom(ctx)
	if len(x.r.Header.Values("Idempotency-Key")) > 0 && (len(x.r.Header.Values("Idempotency-Key")) > 1 || !idempotencyKey.MatchString(key)) {
		return evaluate.Named{}, invalidField("Idempotency-Key", "must be one header with 1 to 255 printable ASCII characters")
	}
	n := evaluate.Named{SubmissionID: id, Key: key}
	if id == "" && key == "" {
		return n, nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return n, err
	}
	sum := sha256.New()
	sum.Write([]byte(x.r.URL.Path + "\n"))
	sum.Write(data)
	n.BodyHash = hex.EncodeToString(sum.Sum(nil))
	return n, nil
}

// answer evaluates a request and gives the answer, or sends it as a stream and gives nil.
func (s *server) answer(ctx context.Context, named evaluate.Named, req evaluate.Request, shown func(*evaluate.Answer) any) (*evaluate.Answer, error) {
	var events *stream
	outer := ctx
	if exchangeFrom(ctx).wantsEvents() {
		events, ctx = openStream(ctx)
		defer events.end()
		req.Decided = events.verdict
	}
	a, err := s.evaluator.Submit(ctx, named, req)
	if err == nil {
		s.metrics.evaluations.WithLabelValues(string(a.Evaluation.OverallVerdict)).Inc()
	}
	if events == nil {
		return a, err
	}
	if err != nil {
		return nil, events.finish(outer, s, nil, nil, err)
	}
	return nil, events.finish(outer, s, shown(a), a.Evaluation.RuleVerdicts, nil)
}

type submissionState struct{ Body *evaluate.Submission }

func (s *server) getSubmission(ctx context.Context, in *struct {
	ProjectQuery
	ID string `path:"id" maxLength:"128" doc:"Id of the submission."`
},
) (*submissionState, error) {
	sub, err := s.evaluator.Submission(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &submissionState{sub}, nil
}
