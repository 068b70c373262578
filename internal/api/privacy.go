package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/privacy"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Privacy serves the personal data of people: their records, and the removal.
type Privacy struct{ People privacy.People }

// Routes implements [rest.Resource].
func (s Privacy) Routes(r *rest.Router) {
	r = r.Tag(privacyTag)
	rest.Handle(r, rest.Operation{
		ID: "get-privacy", Route: op.GetPrivacy.Route(), Role: auth.Reviewer, Summary: "How personal data are kept",
	}, func(ctx context.Context, _ *rest.None) (wire.Privacy, error) {
		return s.People.Get(ctx, rest.Project(ctx))
	})
	rest.HandleBody(r, rest.Operation{
		ID: "find-person", Route: op.FindPerson.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Find what is stored of a person",
		Description: "The person is in the body, so that no log of addresses has the name.",
	}, func(ctx context.Context, _ *rest.None, body *wire.PersonRef) (wire.PersonKept, error) {
		return s.People.Find(ctx, rest.Project(ctx), *body)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "forget-person", Route: op.ForgetPerson.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Delete the personal data of a person for good",
		Description: "Deletes the key under which records hold the data. Records stay, with their verdicts, and all proofs stay valid. 409 while a legal hold covers one of the records.",
	}, func(ctx context.Context, _ *rest.None, body *wire.ForgetPerson) (wire.ForgottenPerson, error) {
		return s.People.Forget(ctx, rest.Project(ctx), *body)
	})
}
