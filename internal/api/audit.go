package api

import (
	"context"
	"net/http"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const auditTag = "Audit"

func (s *server) auditRoutes() {
	register(s, operation{
		id: "verify-audit", method: http.MethodGet, path: "/api/v1/audit/verify", tag: auditTag, role: auth.Admin,
		summary: "Verify the audit chain",
		description: "Walks the whole chain of the project and reports every edit, deletion, insertion and reordering. " +
			"With a head that was noted earlier it also finds a chain that was cut short or written anew.",
	}, s.verifyAudit)
	register(s, operation{
		id: "get-audit-head", method: http.MethodGet, path: "/api/v1/audit/head", tag: auditTag, role: auth.Admin,
		summary: "Get the head of the audit chain", description: "Note it outside the server: verify checks against it later.",
	}, s.auditHead)
}

type auditReport struct{ Body *audit.Report }

func (s *server) verifyAudit(ctx context.Context, in *struct {
	ProjectQuery
	ExpectSeq  int64  `query:"expect_seq" minimum:"1" doc:"Number of the entry that was the head earlier; needs expect_hash."`
	ExpectHash string `query:"expect_hash" maxLength:"64" doc:"Hash of that entry."`
},
) (*auditReport, error) {
	if (in.ExpectSeq == 0) != (in.ExpectHash == "") {
		var p rule.Problems
		p.Add("expect_seq", "and expect_hash name one entry; give both or neither")
		return nil, p.Err("the query is invalid")
	}
	if err := s.exists(ctx); err != nil {
		return nil, err
	}
	report, err := audit.Verify(ctx, s.cfg.Store, project(ctx), store.AuditHead{Seq: in.ExpectSeq, Hash: in.ExpectHash})
	if err != nil {
		return nil, err
	}
	return &auditReport{report}, nil
}

type auditHead struct{ Body store.AuditHead }

func (s *server) auditHead(ctx context.Context, _ *struct{ ProjectQuery }) (*auditHead, error) {
	if err := s.exists(ctx); err != nil {
		return nil, err
	}
	head, err := s.cfg.Store.AuditHead(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &auditHead{head}, nil
}

// exists returns not_found if there is no such project: a chain that is missing must not look like one that is empty.
func (s *server) exists(ctx context.Context) error {
	_, err := s.cfg.Store.Project(ctx, project(ctx))
	return err
}
