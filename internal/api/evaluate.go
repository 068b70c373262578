package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Evaluator evaluates requests.
type Evaluator interface {
	// Submit evaluates a request, or returns the answer to an earlier one of the same name.
	Submit(ctx context.Context, n evaluate.Named, req evaluate.Request) (*evaluate.Answer, error)
	// Later has a request evaluated in the background.
	Later(ctx context.Context, n evaluate.Named, req evaluate.Request) (*wire.SubmissionState, error)
	Submission(ctx context.Context, projectID, id string) (*wire.SubmissionState, error)
	// ApplicableTexts returns the JSON of each rule that applies.
	ApplicableTexts(ctx context.Context, q evaluate.ApplicableQuery) ([][]byte, error)
	// Explain returns the rules with the part that each would have in an evaluation, and why.
	Explain(ctx context.Context, q evaluate.ExplainQuery) (wire.ExplainedRules, error)
	// Facts returns the facts that the checks of the rules that apply read.
	Facts(ctx context.Context, q evaluate.ApplicableQuery) (wire.FactList, error)
}

// Evaluations evaluates subjects.
type Evaluations struct {
	Evaluator Evaluator
	Released  Released
	// Answered counts the answers.
	Answered *Answered
}

const verdictEvents = "verdict (a rule's verdict, as in rule_verdicts), then done (the whole answer) or error (a problem)."

// Routes implements [rest.Resource].
func (e Evaluations) Routes(r *rest.Router) {
	describeSubjects(r)
	r = r.Tag(evaluateTag)
	rest.HandleBody(r, rest.Operation{
		ID: "evaluate", Route: op.Evaluate.Route(), Role: auth.Evaluator, Asks: true,
		Summary:     "Evaluate a change, files or facts against the rules",
		Description: "All fields are optional. The evaluation is recorded before it is answered. With `Accept: text/event-stream` each verdict is sent once it is final, then `done`.",
	}, e.evaluate).Streams(verdictEvents)
	rest.HandleBody(r, rest.Operation{
		ID: "evaluate-quick", Route: op.EvaluateQuick.Route(), Role: auth.Evaluator, Asks: true, Summary: "Evaluate an action in plain words",
	}, e.quick).Streams(verdictEvents)
	rest.HandleBody(r, rest.Operation{
		ID: "applicable-rules", Route: op.ApplicableRules.Route(), Role: auth.Evaluator, Asks: true,
		Summary: "List the rules that would apply", Description: "Best ranked first, MAY and INFO rules included. Nothing is evaluated.",
	}, e.applicable).Success().Content = rest.JSON(&rest.Schema{Type: "array", Items: rest.SchemaOf[rule.Rule](r)})
	rest.HandleBody(r, rest.Operation{
		ID: "explain-rules", Route: op.ExplainRules.Route(), Role: auth.Evaluator,
		Summary: "Explain which rules would apply, and why",
		Description: "Each rule of the project with its part in an evaluation (asked, context, overridden, not concerned, left out) and the conditions that " +
			"decide it. Without facts and severity_min, those that are asked, context or not concerned are the rules of applicable-rules, which runs no " +
			"checks. Nothing is evaluated or recorded, and no model is asked.",
	}, e.explain)
	rest.Handle(r, rest.Operation{
		ID: "list-facts", Route: op.ListFacts.Route(), Role: auth.Evaluator, Asks: true, Summary: "List the facts that rules read",
		Description: "The facts that the checks of the rules in force read, those that most rules read first, with guessed types and examples: for a form " +
			"that a person fills in. Rules without a check are judged on all facts; rules_total counts them too.",
	}, e.facts)
	rest.HandleBody(r, rest.Operation{
		ID: "submit", Route: op.Submit.Route(), Role: auth.Evaluator, Asks: true,
		Summary: "Submit a subject of any kind for evaluation",
		Description: "The evaluation is recorded before it is answered. With a submission_id or an Idempotency-Key, sending the same " +
			"again gives the same answer to who asked first; something else under the same name, or another key, person, agent or session, is a conflict (409), " +
			"and an agent suspended meanwhile is refused (403). With `Prefer: respond-async` the " +
			"answer is 202 with a Location to ask at. With `Accept: text/event-stream` each verdict is sent once it is final, then `done`.",
	}, e.submit).Streams(verdictEvents).Background(rest.SchemaOf[wire.SubmissionState](r))
	rest.Handle(r, rest.Operation{
		ID: "get-submission", Route: op.GetSubmission.Route(), Role: auth.Viewer, Asks: true,
		Summary: "Get a submission", Description: "Its status, with the evaluation once it is completed.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" maxLength:"128" doc:"Id of the submission."`
	},
	) (*wire.SubmissionState, error) {
		return e.Evaluator.Submission(ctx, rest.Project(ctx), in.ID)
	})
}

// describeSubjects publishes the subject of a submission as one of its forms. Every resource that takes a submission calls it.
func describeSubjects(r *rest.Router) {
	forms := make([]reflect.Type, len(wire.SubmittedKinds))
	for i, kind := range wire.SubmittedKinds {
		forms[i] = wire.FormOf(kind)
	}
	rest.OneOf[wire.Submitted](r, "kind", forms)
}

// nameHeader is the idempotency key of operations that evaluate.
type nameHeader struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"Your own name of the request. Sending it again with the same body gives the same answer to who asked first. For another key, person, agent or session it is a conflict (409), and an agent suspended meanwhile is refused (403)."`
}

func (e Evaluations) evaluate(ctx context.Context, in *nameHeader, body *wire.EvaluateRequest) (*rule.Evaluation, error) {
	ctx, err := rest.Act(ctx, body.Acting)
	if err != nil {
		return nil, err
	}
	return e.unsubmitted(ctx, in.Key, body, evaluate.Request{
		ProjectID: rest.Project(ctx), EvaluateOptions: body.EvaluateOptions, ApprovalAsk: body.ApprovalAsk,
		Input: wire.RecordedSubject{
			Diff: body.Diff, Files: body.Files, Facts: body.Facts, Action: body.Action, Intent: body.Intent, Scope: body.Scope, Repository: body.Repository,
		},
	})
}

func (e Evaluations) quick(ctx context.Context, in *nameHeader, body *wire.QuickRequest) (*rule.Evaluation, error) {
	ctx, err := rest.Act(ctx, body.Acting)
	if err != nil {
		return nil, err
	}
	return e.unsubmitted(ctx, in.Key, body, evaluate.Request{
		ProjectID: rest.Project(ctx), Input: wire.RecordedSubject{Action: body.Action, Scope: body.Scope},
		EvaluateOptions: wire.EvaluateOptions{NodeID: body.NodeID, Environment: body.Environment}, ApprovalAsk: body.ApprovalAsk,
	})
}

// unsubmitted evaluates a request without a submission.
func (e Evaluations) unsubmitted(ctx context.Context, key string, body any, req evaluate.Request) (*rule.Evaluation, error) {
	named, err := name(ctx, "", key, body)
	if err != nil {
		return nil, err
	}
	a, err := e.answer(ctx, named, req, func(a *evaluate.Answer) any { return a.Evaluation })
	if err != nil || a == nil {
		return nil, err
	}
	return a.Evaluation, nil
}

type applicableOutput struct {
	UsedSnapshot
	Body rest.List
}

func (e Evaluations) applicable(ctx context.Context, _ *rest.None, body *wire.ApplicableRequest) (applicableOutput, error) {
	view, used, err := released(ctx, e.Released, body.Environment)
	if err != nil {
		return applicableOutput{}, err
	}
	texts, err := e.Evaluator.ApplicableTexts(ctx, evaluate.ApplicableQuery{
		ProjectID: rest.Project(ctx), View: view, FilePaths: body.FilePaths, Repository: body.Repository, Scope: body.Scope, NodeID: body.NodeID,
	})
	return applicableOutput{used, texts}, err
}

func (e Evaluations) facts(ctx context.Context, in *wire.FactQuery) (list wire.FactList, err error) {
	var p rule.Problems
	kind := rest.EnumParam(&p, "subject_kind", in.SubjectKind, wire.SubjectKinds)
	if err := p.Err("the query is invalid"); err != nil {
		return list, err
	}
	q := evaluate.ApplicableQuery{ProjectID: rest.Project(ctx), Scope: in.Scope, Repository: in.Repository, NodeID: in.NodeID}
	switch kind {
	case "":
	case wire.Facts:
		q.Kinds = []wire.SubjectKind{wire.Facts}
	default:
		q.Kinds = []wire.SubjectKind{kind, wire.Facts}
	}
	return e.Evaluator.Facts(ctx, q)
}

func (e Evaluations) submit(ctx context.Context, in *struct {
	nameHeader
	asyncHeader
}, body *wire.SubmissionRequest,
) (*wire.SubmissionAnswer, error) {
	projectID, err := rest.EnterProject(ctx, body.ProjectID)
	if err != nil {
		return nil, err
	}
	if body.SubmissionID != "" && !submissionID.MatchString(body.SubmissionID) {
		return nil, rest.InvalidField("submission_id", "must have 1 to 128 letters, digits and . _ : -, and begin with a letter or digit")
	}
	if strings.HasPrefix(strings.ToLower(body.SubmissionID), ingestedPrefix) {
		return nil, rest.InvalidField("submission_id", "begins with %s, which is for events that this server takes in itself", ingestedPrefix)
	}
	if ctx, err = rest.Act(ctx, body.Acting); err != nil {
		return nil, err
	}
	req := submissionOf(body, projectID)
	named, err := name(ctx, body.SubmissionID, in.Key, hashedSubmission{
		body.Subject, body.Scope, body.NodeID, body.Environment, body.Mode, body.MaxRules, body.SeverityMin, body.SubmissionID, body.Acting, body.ApprovalAsk,
	})
	if err != nil {
		return nil, err
	}
	if rest.WantsAsync(ctx) {
		if body.RequestApproval || body.Approval != nil {
			return nil, rest.InvalidField("request_approval", "cannot go with Prefer: respond-async; ask for an approval of the evaluation once it is completed")
		}
		sub, err := e.Evaluator.Later(ctx, named, req)
		if err == nil {
			rest.Accepted(ctx, rest.Location(ctx, op.GetSubmission.Path, sub.SubmissionID), sub)
		}
		return nil, err
	}
	answer, err := e.answer(ctx, named, req, func(a *evaluate.Answer) any { return submissionAnswer(a) })
	if err != nil || answer == nil {
		return nil, err
	}
	return submissionAnswer(answer), nil
}

func submissionAnswer(a *evaluate.Answer) *wire.SubmissionAnswer {
	return &wire.SubmissionAnswer{Evaluation: *a.Evaluation, SubmissionID: a.SubmissionID, SubjectKind: a.SubjectKind}
}

// submissionOf is the evaluation that a submission asks for.
func submissionOf(b *wire.SubmissionRequest, projectID string) evaluate.Request {
	return evaluate.Request{
		ProjectID: projectID, Submitted: &b.Subject, Input: wire.RecordedSubject{Scope: b.Scope}, EvaluateOptions: b.EvaluateOptions,
		ApprovalAsk: b.ApprovalAsk,
	}
}

// ingestedPrefix begins the submission ids of events from GitHub. A caller who took one beforehand would have its event pass for known.
const ingestedPrefix = "github:"

var (
	submissionID   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
	idempotencyKey = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)
)

// hashedSubmission holds the fields of a submission that its hash covers. The database stores such hashes for as long as it
// stores submissions, so the order of the fields here, and in [wire.EvaluateRequest] and [wire.QuickRequest], must stay.
type hashedSubmission struct {
	Subject      wire.Submitted `json:"subject"`
	Scope        string         `json:"scope,omitempty"`
	NodeID       string         `json:"node_id,omitempty"`
	Environment  string         `json:"environment,omitempty"`
	Mode         rule.Mode      `json:"mode,omitempty"`
	MaxRules     int            `json:"max_rules,omitempty"`
	SeverityMin  rule.Severity  `json:"severity_min,omitempty"`
	SubmissionID string         `json:"submission_id,omitempty"`
	wire.Acting
	wire.ApprovalAsk
}

// name returns the caller's name of a request. Two bodies are the same if they decode to the same values: white space and
// the order of fields do not count.
func name(ctx context.Context, id, key string, body any) (evaluate.Named, error) {
	r := rest.Request(ctx)
	if given := len(r.Header.Values("Idempotency-Key")); given > 1 || (given == 1 && !idempotencyKey.MatchString(key)) {
		return evaluate.Named{}, rest.InvalidField("Idempotency-Key", "must be one header with 1 to 255 printable ASCII characters")
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
	sum.Write([]byte(r.URL.Path + "\n"))
	sum.Write(data)
	n.BodyHash = hex.EncodeToString(sum.Sum(nil))
	return n, nil
}

// answer evaluates a request and returns the answer, or streams it in the form of body and returns nil.
func (e Evaluations) answer(ctx context.Context, named evaluate.Named, req evaluate.Request, body func(*evaluate.Answer) any) (*evaluate.Answer, error) {
	if !rest.WantsEvents(ctx) {
		a, err := e.Evaluator.Submit(ctx, named, req)
		e.count(a, err)
		return a, err
	}
	events, streaming := openVerdicts(ctx)
	defer events.End()
	req.Decided = events.verdict
	a, err := e.Evaluator.Submit(streaming, named, req)
	e.count(a, err)
	if err != nil {
		return nil, events.Finish(ctx, nil, err)
	}
	events.End()
	for _, v := range a.Evaluation.RuleVerdicts {
		events.verdict(v) // of an earlier answer
	}
	return nil, events.Finish(ctx, body(a), nil)
}

func (e Evaluations) count(a *evaluate.Answer, err error) {
	if err == nil {
		e.Answered.evaluation(a.Evaluation)
	}
}

// verdictStream sends verdicts, one for each rule.
type verdictStream struct {
	*rest.Stream
	mu   sync.Mutex
	sent map[string]bool // by rule
}

// openVerdicts begins a stream of verdicts. The returned context ends when the client takes no more.
func openVerdicts(ctx context.Context) (*verdictStream, context.Context) {
	events, ctx := rest.OpenStream(ctx)
	return &verdictStream{Stream: events, sent: map[string]bool{}}, ctx
}

func (st *verdictStream) verdict(v rule.RuleVerdict) {
	st.mu.Lock()
	sent := st.sent[v.RuleID]
	st.sent[v.RuleID] = true
	st.mu.Unlock()
	if !sent {
		st.Send("verdict", v)
	}
}

// asyncHeader is the header that asks for work in the background.
type asyncHeader struct {
	Prefer string `header:"Prefer" doc:"respond-async: answer 202 at once and work in the background."`
}
