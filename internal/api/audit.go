package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence"
	"tenet/internal/evidence/pack"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/trail"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Audit reads and verifies the audit chains.
type Audit struct {
	Chains   store.AuditReader
	Projects store.ProjectReader
	Catalog  *catalog.Catalog
	Trail    *trail.Trail
	Book     *evidence.Book
	Logs     store.LogReader
	InForce  *evidence.InForce
	Log      *evidence.Log
	Rules    store.RuleReader
}

// Routes implements [rest.Resource].
func (s Audit) Routes(r *rest.Router) {
	r = r.Tag(auditTag)
	rest.Handle(r, rest.Operation{
		ID: "list-audit", Route: op.ListAudit.Route(), Role: auth.Reviewer, Lags: true, Summary: "Read the audit chain",
		Description: "Entries of the project, newest first. All parameters that are given must hold. Pages go by page, or by cursor, which what is recorded " +
			"meanwhile does not move. Details of entries about keys, sign-ins and webhooks are shown to administrators only.",
	}, func(ctx context.Context, in *wire.AuditEntryQuery) (wire.AuditPage, error) {
		return s.Trail.List(ctx, rest.Project(ctx), *in)
	})
	rest.Handle(r, rest.Operation{
		ID: "get-audit-entry", Route: op.GetAuditEntry.Route(), Role: auth.Reviewer, Summary: "Get an entry of the audit chain",
		Description: "With what it has changed, field by field. Page and page_size page through the rules of an import.",
	}, func(ctx context.Context, in *struct {
		Seq int64 `path:"seq" minimum:"1" doc:"Number of the entry."`
		wire.PageQuery
	},
	) (wire.AuditEntryDetail, error) {
		return s.Trail.Entry(ctx, rest.Project(ctx), in.Seq, in.PageQuery)
	})
	export := rest.Handle(r, rest.Operation{
		ID: "export-audit", Route: op.ExportAudit.Route(), Role: auth.Reviewer, Lags: true, Summary: "Export the audit chain",
		Description: "Entries of the project, oldest first, as JSON lines, as a table, as an evidence pack with what proves them, or counted as OSCAL assessment results. Cells of the table that begin like a formula get an apostrophe before them. " +
			"A connection that breaks ends an export that could not be finished; after_seq goes on behind the last line.",
	}, s.export).Success()
	export.Description = "The entries"
	export.Content = map[string]*rest.Media{"application/jsonl": {Schema: rest.Text("One entry a line.")}, "text/csv": {Schema: rest.Text("A table with one entry a row.")}, "application/zip": {Schema: rest.Text("An evidence pack.")}, "application/json": {Schema: rest.Text("OSCAL assessment results.")}}
	rest.Handle(r, rest.Operation{
		ID: "verify-audit", Route: op.VerifyAudit.Route(), Role: auth.Reviewer, Summary: "Verify the audit chain",
		Description: "Walks the chain of the project and reports every edit, deletion, insertion and reordering; at its end also rules, keys, waivers and the like " +
			"that are in force and that no entry explains. " +
			"With a head that you noted earlier it also finds a chain that was cut short or rewritten. A long chain is verified in parts with limit: " +
			"the answer's next, given as after_seq and after_hash, goes on.",
	}, s.verify)
	rest.Handle(r, rest.Operation{
		ID: "get-audit-head", Route: op.GetAuditHead.Route(), Role: auth.Reviewer,
		Summary: "Get the head of the audit chain", Description: "Note it outside the server: verify checks against it later.",
	}, func(ctx context.Context, _ *rest.None) (head wire.AuditHead, err error) {
		if err := projectExists(ctx, s.Projects); err != nil {
			return head, err
		}
		return s.Chains.Head(ctx, rest.Project(ctx))
	})
	rest.Handle(r, rest.Operation{
		ID: "get-audit-log", Route: op.GetAuditLog.Route(), Role: auth.Viewer, Summary: "Get the state of the transparency log",
		Description: "Its keys and its newest checkpoint, and the policy by which proofs are checked. The files of the log are below /audit/{project}/.",
	}, s.log)
	rest.HandleBody(r, rest.Operation{
		ID: "compare-audit", Route: op.CompareAudit.Route(), Role: auth.Reviewer, Status: http.StatusOK, Summary: "Compare the chain with checkpoints",
		Description: "Computes the log again from its entries and reports the first checkpoint that they do not fit, with the entries between it and the one before. " +
			"That finds a chain that was cut, recomputed, deleted or restored from an older backup, which verify-audit alone cannot.",
	}, s.compare)
	proof := rest.Handle(r.Tag(evaluateTag), rest.Operation{
		ID: "prove-evaluation", Route: op.ProveEvaluation.Route(), Role: auth.Reviewer, Summary: "Get a proof that an evaluation is in the audit log",
		Description: "A C2SP tlog-proof for people who trust neither this server nor its database: tenet audit check verifies it offline. It holds the entry, " +
			"and the record if that is not too large. 503 while no checkpoint has the entry.",
	}, s.prove).Success()
	proof.Description = "The proof, or the record"
	proof.Content = map[string]*rest.Media{"text/plain": {Schema: rest.Text("A proof.")}, "application/zstd": {Schema: rest.Text("A record.")}}
	rest.HandleBody(r, rest.Operation{
		ID: "accept-corpus", Route: op.AcceptCorpus.Route(), Role: auth.Admin, Status: http.StatusOK, Summary: "Accept the rules as the database has them",
		Description: "Rules that are missing from the database, or are not as they were written, stop the evaluations of a project with 503. Restore a backup; " +
			"where there is none, this accepts the rules that are left, and records who did and why. 503 if a row cannot be read.",
	}, func(ctx context.Context, _ *rest.None, body *wire.AcceptCorpus) (wire.Corpus, error) {
		t, err := s.Catalog.AcceptCorpus(ctx, rest.Project(ctx), body.Reason)
		return wire.Corpus{Version: t.Version, Rules: t.Rules, Digest: t.Digest}, err
	})
}

func (s Audit) log(ctx context.Context, _ *rest.None) (out wire.AuditLog, err error) {
	project := rest.Project(ctx)
	end, err := s.Logs.End(ctx, project)
	if err != nil {
		return out, err
	}
	out = wire.AuditLog{ProjectID: project, Size: end.Seq, Keys: []wire.AuditLogKey{}}
	if err := s.Book.Problem(project); err != nil {
		out.Problem = err.Error()
	}
	signing, old, err := s.Book.Keys(ctx, project)
	if err != nil {
		return out, err
	}
	for _, k := range signing {
		out.Keys = append(out.Keys, wire.AuditLogKey{Key: k, Signs: true})
	}
	for _, k := range old {
		out.Keys = append(out.Keys, wire.AuditLogKey{Key: k})
	}
	if s.Book.Signs() {
		out.Origin, out.Policy = s.Book.OriginOf(project), s.Book.Policy.For(append(signing, old...))
	}
	c, err := s.Logs.Checkpoint(ctx, project, 0, false)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return out, nil
	}
	out.Checkpoint = &wire.AuditCheckpoint{Size: c.Size, At: c.At, Witnessed: c.Witnessed, Note: c.Note}
	return out, err
}

func (s Audit) compare(ctx context.Context, _ *rest.None, body *wire.CompareAudit) (*wire.AuditComparison, error) {
	list := make([]checkpoint.Checkpoint, len(body.Checkpoints))
	for i, c := range body.Checkpoints {
		root, err := base64.StdEncoding.DecodeString(c.Root)
		if err != nil || len(root) != len(list[i].Root) {
			return nil, rest.InvalidField(fmt.Sprintf("checkpoints[%d].root", i), "must be 32 bytes in base64")
		}
		list[i] = checkpoint.Checkpoint{Size: c.Size, Root: tree.Hash(root)}
	}
	return evidence.NewLog(s.Logs).Compare(ctx, rest.Project(ctx), list)
}

// proofFile is a proof or a record.
type proofFile struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (s Audit) prove(ctx context.Context, in *struct {
	evaluationRef
	wire.ProofQuery
},
) (out proofFile, err error) {
	e, err := s.Chains.Get(ctx, rest.Project(ctx), strings.ToLower(in.ID))
	if err == nil && e.Kind != audit.KindEvaluation {
		err = rule.NotFound("evaluation", in.ID)
	}
	if err != nil {
		return out, err
	}
	if in.Part == "record" {
		if len(e.Body) == 0 {
			return out, rule.Errorf(rule.CodeNotFound, "the record was removed under the retention setting")
		}
		return proofFile{"application/zstd", fmt.Sprintf(`attachment; filename="%s.json.zst"`, e.ID), e.Body}, nil
	}
	p, err := s.Book.Prove(ctx, e)
	if err != nil {
		return out, err
	}
	return proofFile{"text/plain; charset=utf-8", fmt.Sprintf(`attachment; filename="%s.tlog-proof"`, e.ID), p.Marshal()}, nil
}

// auditFile is an export of the audit chain.
type auditFile struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        rest.Streamed
}

func (s Audit) export(ctx context.Context, in *wire.AuditExportQuery) (out auditFile, err error) {
	file, err := s.Trail.Export(ctx, rest.Project(ctx), *in)
	if err != nil {
		return out, err
	}
	if in.Format == "pack" || in.Format == "oscal" {
		return s.pack(ctx, in, file)
	}
	out.ContentType = "application/jsonl"
	if in.Format == "csv" {
		out.ContentType = "text/csv; charset=utf-8"
	}
	out.Disposition = fmt.Sprintf(`attachment; filename="%s-audit.%s"`, rest.Project(ctx), in.Format)
	out.Body = func(to io.Writer) error { return file.Write(ctx, to) }
	return out, nil
}

// pack answers with an evidence pack, or with the assessment of one.
func (s Audit) pack(ctx context.Context, in *wire.AuditExportQuery, file *trail.Export) (out auditFile, err error) {
	project := rest.Project(ctx)
	if in.Offset > 0 && in.Checkpoint == 0 {
		return out, rest.InvalidField("offset", "needs checkpoint, by which the pack is the same again")
	}
	c, err := s.Book.Newest(ctx, project, in.Checkpoint)
	if err != nil {
		return out, err
	}
	source := pack.Source{
		ProjectID: project, Query: described(in), Checkpoint: c, Each: file.Each,
		Front: func(ctx context.Context, size int64) (tree.Front, error) { return s.Log.Front(ctx, project, size) },
		Leaves: func(ctx context.Context, after int64, n int) ([]tree.Hash, error) {
			return s.Log.Leaves(ctx, project, after, n)
		},
		Rules: func(ctx context.Context, refs []store.VersionRef) (map[string]rule.Rule, error) {
			return s.Rules.AtVersions(ctx, project, refs)
		},
	}
	if in.Format == "oscal" {
		out.ContentType, out.Disposition = "application/json", fmt.Sprintf(`attachment; filename="%s-assessment-results.json"`, project)
		out.Body = func(to io.Writer) error { return pack.Assessment(ctx, to, source) }
		return out, nil
	}
	out.ContentType, out.Disposition = "application/zip", fmt.Sprintf(`attachment; filename="%s-evidence.zip"`, project)
	out.Body = func(to io.Writer) error { return pack.Write(ctx, &after{to: to, skip: in.Offset}, source) }
	return out, nil
}

// after writes what comes after so many bytes.
type after struct {
	to   io.Writer
	skip int64
}

// Write implements io.Writer.
func (a *after) Write(b []byte) (int, error) {
	left := min(a.skip, int64(len(b)))
	a.skip -= left
	if left == int64(len(b)) {
		return len(b), nil
	}
	n, err := a.to.Write(b[left:])
	return int(left) + n, err
}

// described is a query for people.
func described(in *wire.AuditExportQuery) string {
	parts := []string{"entries"}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	if in.Since != nil {
		add("from", in.Since.UTC().Format(time.RFC3339))
	}
	if in.Until != nil {
		add("to", in.Until.UTC().Format(time.RFC3339))
	}
	add("of the kinds", strings.Join(in.Kind, ", "))
	for _, p := range [][2]string{
		{"with the action", in.Action},
		{"by", in.Actor},
		{"for", in.Person},
		{"of the agent", in.Agent},
		{"in the session", in.Session},
		{"about the rule", in.Rule},
		{"about the evaluation", in.Evaluation},
		{"about", in.Object},
		{"with the verdict", in.Verdict},
		{"at the node", in.Node},
		{"in the scope", in.Scope},
		{"of the repository", in.Repository},
	} {
		add(p[0], p[1])
	}
	if in.After > 0 {
		add("after", strconv.FormatInt(in.After, 10))
	}
	return strings.Join(parts, " ")
}

func (s Audit) verify(ctx context.Context, in *wire.AuditQuery) (*wire.AuditReport, error) {
	switch {
	case (in.ExpectSeq == 0) != (in.ExpectHash == ""):
		return nil, rest.InvalidField("expect_seq", "and expect_hash name one entry; give both or neither")
	case (in.AfterSeq == 0) != (in.AfterHash == ""):
		return nil, rest.InvalidField("after_seq", "and after_hash name one entry; give both or neither")
	case in.ExpectSeq != 0 && in.ExpectSeq < in.AfterSeq:
		return nil, rest.InvalidField("expect_seq", "is before after_seq, where the verification begins; leave out one of them")
	}
	if err := projectExists(ctx, s.Projects); err != nil {
		return nil, err
	}
	report, err := audit.VerifyPart(ctx, s.Chains, rest.Project(ctx), wire.AuditHead{Seq: in.AfterSeq, Hash: in.AfterHash},
		wire.AuditHead{Seq: in.ExpectSeq, Hash: in.ExpectHash}, in.Limit)
	if err != nil || report.Next != nil {
		return report, err
	}
	problems, err := s.InForce.Problems(ctx, rest.Project(ctx))
	if errors.Is(err, store.ErrDamaged) {
		problems, err = []string{err.Error()}, nil
	}
	for _, p := range problems[:min(len(problems), maxUnexplained)] {
		report.Problems = append(report.Problems, wire.AuditProblem{Seq: report.Head.Seq, Message: "in force: " + p})
	}
	return report, err
}

// maxUnexplained bounds the rows in a report that no entry explains.
const maxUnexplained = 100

// projectExists returns not_found if the project of the request does not exist: a missing chain must not look empty.
func projectExists(ctx context.Context, projects store.ProjectReader) error {
	_, err := projects.Get(ctx, rest.Project(ctx))
	return err
}
