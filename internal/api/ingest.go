package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/signature"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Ingest takes in pull requests and submissions whose senders sign the body instead of sending a key.
type Ingest struct {
	Ingest    *ingest.Ingest
	Evaluator Evaluator
}

// Routes implements [rest.Resource].
func (g Ingest) Routes(r *rest.Router) {
	describeSubjects(r)
	r = r.Tag(webhookTag)
	rest.Handle(r, rest.Operation{
		ID: "ingest-github", Route: op.IngestGithub.Route(), Role: auth.Evaluator, Place: rest.SignedBody, Status: http.StatusAccepted,
		Summary: "Receive pull requests from GitHub",
		Description: "For a webhook of GitHub with content type application/json and the event Pull requests. X-Hub-Signature-256 " +
			"replaces the API key. The server fetches and evaluates the diff in the background, in the mode posthoc, and publishes evaluation.violated for a violation.",
	}, g.github).Accept(r.Limits().MaxBody, rest.JSON(rest.SchemaOf[map[string]any](r))).Signed("githubSignature",
		rest.SecurityScheme{Type: "apiKey", In: "header", Name: "X-Hub-Signature-256", Description: "GitHub's signature of the body."},
		&rest.Signer{Expect: g.Ingest.ExpectGitHub, Verify: g.Ingest.VerifyGitHub})
	rest.HandleBody(r, rest.Operation{
		ID: "ingest-generic", Route: op.IngestGeneric.Route(), Role: auth.Evaluator, Place: rest.SignedBody, Status: http.StatusAccepted,
		Summary: "Receive signed submissions",
		Description: "A submission, signed by the Standard Webhooks specification instead of an API key. The server " +
			"evaluates it in the background, once for each webhook-id.",
	}, g.generic).Signed("webhookSignature",
		rest.SecurityScheme{
			Type: "apiKey", In: "header", Name: "webhook-signature",
			Description: "Standard Webhooks signature of webhook-id, webhook-timestamp and the body.",
		},
		&rest.Signer{Expect: g.Ingest.Expect, Verify: g.Ingest.Verify})
}

func (g Ingest) github(ctx context.Context, in *struct {
	Event    string `header:"X-GitHub-Event" doc:"Kind of event; others than pull_request are ignored."`
	Delivery string `header:"X-GitHub-Delivery" doc:"Id of the delivery; the same again leads to no second evaluation."`
},
) (wire.Receipt, error) {
	receipt, err := g.Ingest.GitHub(ctx, in.Event, in.Delivery, rest.SignedBytes(ctx))
	return receipt, rest.Unsigned(err)
}

func (g Ingest) generic(ctx context.Context, _ *rest.None, body *wire.SubmissionRequest) (out rest.Created[*wire.SubmissionState], err error) {
	projectID, err := rest.EnterProject(ctx, body.ProjectID)
	if err != nil {
		return out, err
	}
	id := rest.Request(ctx).Header.Get(signature.HeaderID)
	name := "webhook:" + id
	if body.SubmissionID != "" {
		name = body.SubmissionID
	}
	if !submissionID.MatchString(name) || !submissionID.MatchString("webhook:"+id) {
		return out, rest.InvalidField("webhook-id", "and submission_id must have letters, digits and . _ : -, 120 and 128 at most, and begin with a letter or digit")
	}
	sum := sha256.Sum256(rest.SignedBytes(ctx))
	named := evaluate.Named{SubmissionID: name, Key: "webhook:" + id, BodyHash: hex.EncodeToString(sum[:])}
	sub, err := g.Evaluator.Later(ctx, named, submissionOf(body, projectID))
	if err != nil {
		return out, err
	}
	return rest.At(ctx, op.GetSubmission.Path, sub.SubmissionID, sub), nil
}
