package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Audit verifies the audit chains.
type Audit struct {
	Chains   store.AuditReader
	Projects store.ProjectReader
	Catalog  *catalog.Catalog
}

// Routes implements [rest.Resource].
func (s Audit) Routes(r *rest.Router) {
	r = r.Tag(auditTag)
	rest.Handle(r, rest.Operation{
		ID: "verify-audit", Route: op.VerifyAudit.Route(), Role: auth.Admin, Summary: "Verify the audit chain",
		Description: "Walks the whole chain of the project and reports every edit, deletion, insertion and reordering. " +
			"With a head that you noted earlier it also finds a chain that was cut short or rewritten.",
	}, s.verify)
	rest.Handle(r, rest.Operation{
		ID: "get-audit-head", Route: op.GetAuditHead.Route(), Role: auth.Admin,
		Summary: "Get the head of the audit chain", Description: "Note it outside the server: verify checks against it later.",
	}, func(ctx context.Context, _ *rest.None) (head wire.AuditHead, err error) {
		if err := projectExists(ctx, s.Projects); err != nil {
			return head, err
		}
		return s.Chains.Head(ctx, rest.Project(ctx))
	})
	rest.HandleBody(r, rest.Operation{
		ID: "accept-corpus", Route: op.AcceptCorpus.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Accept the rules as the database has them",
		Description: "Rules that are missing from the database, or are not as they were written, stop the evaluations of a project with 503. Restore a backup; " +
			"where there is none, this accepts the rules that are left, and records who did and why. 503 if a row cannot be read.",
	}, func(ctx context.Context, _ *rest.None, body *wire.AcceptCorpus) (wire.Corpus, error) {
		t, err := s.Catalog.AcceptCorpus(ctx, rest.Project(ctx), body.Reason)
		return wire.Corpus{Version: t.Version, Rules: t.Rules, Digest: t.Digest}, err
	})
}

func (s Audit) verify(ctx context.Context, in *wire.AuditQuery) (*wire.AuditReport, error) {
	if (in.ExpectSeq == 0) != (in.ExpectHash == "") {
		return nil, rest.InvalidField("expect_seq", "and expect_hash name one entry; give both or neither")
	}
	if err := projectExists(ctx, s.Projects); err != nil {
		return nil, err
	}
	return audit.Verify(ctx, s.Chains, rest.Project(ctx), wire.AuditHead{Seq: in.ExpectSeq, Hash: in.ExpectHash})
}

// projectExists returns not_found if the project of the request does not exist: a missing chain must not look empty.
func projectExists(ctx context.Context, projects store.ProjectReader) error {
	_, err := projects.Get(ctx, rest.Project(ctx))
	return err
}
