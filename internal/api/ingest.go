package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/subject"
)

const ingestPath = "/api/v1/gateway/ingest"

// signer finds out who has signed a body.
type signer struct {
	expect func(header http.Header) error // refuses what cannot be signed, before the body is read
	verify func(header http.Header, body []byte) (auth.Actor, error)
}

func (s *server) ingestRoutes() {
	maps.Copy(s.api.OpenAPI().Components.SecuritySchemes, signatureSchemes)
	signed(s, operation{
		id: "ingest-github", method: http.MethodPost, path: ingestPath + "/github", tag: webhookTag, role: auth.Evaluator, status: http.StatusAccepted,
		summary: "Take in pull requests from GitHub",
		description: "For a webhook of GitHub with content type application/json and the event Pull requests. X-Hub-Signature-256 stands in " +
			"the place of an API key. The diff is fetched and evaluated in the background, as something that has happened: a violation is told by evaluation.violated.",
	}, "githubSignature", reflect.TypeFor[map[string]any](), &signer{
		func(h http.Header) error { return s.cfg.Ingest.ExpectGitHub(h) },
		func(h http.Header, body []byte) (auth.Actor, error) { return s.cfg.Ingest.VerifyGitHub(h, body) },
	}, s.ingestGitHub)
	signed(s, operation{
		id: "ingest-generic", method: http.MethodPost, path: ingestPath + "/generic", tag: webhookTag, role: auth.Evaluator, status: http.StatusAccepted,
		summary: "Take in submissions from anywhere",
		description: "A submission, signed by the Standard Webhooks specification, whose signature stands in the place of an API key. It is " +
			"evaluated in the background, once for each webhook-id.",
	}, "webhookSignature", reflect.TypeFor[SubmissionRequest](), &signer{
		func(h http.Header) error { return s.cfg.Ingest.Expect(h) },
		func(h http.Header, body []byte) (auth.Actor, error) { return s.cfg.Ingest.Verify(h, body) },
	}, s.ingestGeneric)
}

// signed adds an operation whose callers sign its body instead of sending a key.
func signed[I, O any](s *server, o operation, scheme string, body reflect.Type, by *signer, handler func(context.Context, *I) (*O, error)) {
	op := register(s, o, handler)
	op.Security = []map[string][]string{{scheme: {}}}
	registry := s.api.OpenAPI().Components.Schemas
	schema := registry.Schema(body, true, "")
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {Schema: schema}}}
	p := s.plans[o.method+" "+o.path]
	p.signer, p.limit = by, s.cfg.Limits.MaxBody
	if body == reflect.TypeFor[SubmissionRequest]() {
		p.body = compileShape(registry, schema)
	}
}

// signatureSchemes describe what stands in the place of a key.
var signatureSchemes = map[string]*huma.SecurityScheme{
	"githubSignature":  {Type: "apiKey", In: "header", Name: "X-Hub-Signature-256", Description: "GitHub's signature of the body."},
	"webhookSignature": {Type: "apiKey", In: "header", Name: "webhook-signature", Description: "Standard Webhooks signature of webhook-id, webhook-timestamp and the body."},
}

// authenticateBody reads the body of a signed request and finds out who has signed it. The body is read before anybody is known,
// within the limits that hold for everybody, but not where the header alone tells that it is in vain.
func (s *server) authenticateBody(x *exchange) (auth.Actor, error) {
	if err := x.plan.signer.expect(x.r.Header); err != nil {
		if rule.CodeOf(err) == rule.CodeUnauthenticated {
			err = unsigned(err)
		}
		return auth.Actor{}, err
	}
	if _, err := x.mediaType(); err != nil {
		return auth.Actor{}, err
	}
	buf, err := s.read(x)
	if err != nil {
		return auth.Actor{}, err
	}
	defer putBuffer(buf)
	x.raw = append([]byte(nil), buf.Bytes()...)
	who, err := x.plan.signer.verify(x.r.Header, x.raw)
	if rule.CodeOf(err) == rule.CodeUnauthenticated {
		return who, unsigned(err)
	}
	return who, err
}

// unsigned is the error for a signature that does not hold.
func unsigned(err error) error {
	return &httpError{
		cause: rule.Errorf(rule.CodeUnauthenticated, "%s", err.Error()), header: http.Header{"Www-Authenticate": {`Signature realm="tenet"`}},
	}
}

type receiptOutput struct{ Body ingest.Receipt }

func (s *server) ingestGitHub(ctx context.Context, in *struct {
	Event    string `header:"X-GitHub-Event" doc:"Kind of event; others than pull_request are ignored."`
	Delivery string `header:"X-GitHub-Delivery" doc:"Id of the delivery; the same again leads to no second evaluation."`
},
) (*receiptOutput, error) {
	r, err := s.cfg.Ingest.GitHub(ctx, in.Event, in.Delivery, exchangeFrom(ctx).raw)
	if rule.CodeOf(err) == rule.CodeUnauthenticated {
		err = unsigned(err)
	}
	if err != nil {
		return nil, err
	}
	return &receiptOutput{r}, nil
}

type ingestedOutput struct {
	Location string `header:"Location"`
	Body     *evaluate.Submission
}

func (s *server) ingestGeneric(ctx context.Context, _ *struct{}) (*ingestedOutput, error) {
	x := exchangeFrom(ctx)
	body, err := decodeJSON[SubmissionRequest](x.raw, x.plan.body, s.cfg.Limits.MaxJSONDepth)
	if err != nil {
		return nil, err
	}
	projectID, err := enterNamed(ctx, body.ProjectID)
	if err != nil {
		return nil, err
	}
	id := x.r.Header.Get(signature.HeaderID)
	name := "webhook:" + id
	if body.SubmissionID != "" {
		name = body.SubmissionID
	}
	if !submissionID.MatchString(name) || !submissionID.MatchString("webhook:"+id) {
		return nil, invalidField("webhook-id", "and submission_id must have letters, digits and . _ : -, 120 and 128 at most, and begin with a letter or digit")
	}
	sum := sha256.Sum256(x.raw)
	named := evaluate.Named{SubmissionID: name, Key: "webhook:" + id, BodyHash: hex.EncodeToString(sum[:])}
	sub, err := s.evaluator.Later(ctx, named, body.request(projectID))
	if err != nil {
		return nil, err
	}
	return &ingestedOutput{location(ctx, submissionsPath, sub.SubmissionID), sub}, nil
}

// request is what a submission asks for.
func (b *SubmissionRequest) request(projectID string) evaluate.Request {
	return evaluate.Request{
		ProjectID: projectID, Submitted: &b.Subject.Submitted, Input: subject.Input{Scope: b.Scope}, NodeID: b.NodeID, Environment: b.Environment,
		Mode: b.Mode, MaxRules: b.MaxRules, SeverityMin: b.SeverityMin,
	}
}
