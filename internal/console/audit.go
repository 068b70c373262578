package console

import (
	"encoding/gob"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Filters of the audit log; the API has them by the same names. The second list is folded until one of it is used.
var (
	auditFilters     = []typed{{"rule", "Rule", "text"}, {"actor", "Actor", "text"}, {"agent", "Agent", "text"}, {"since", "From (UTC)", "date"}, {"until", "Before (UTC)", "date"}}
	moreAuditFilters = []typed{{"action", "Action", "text"}, {"evaluation", "Evaluation", "text"}, {"object", "Object (kind:id)", "text"}, {"person", "For person", "text"}, {"session", "Agent's session", "text"}}
)

// auditKinds are the kinds of entries that the list can be filtered by.
var auditKinds = []string{
	"evaluation", "rule", "import", "relationship", "conflict", "federation", "release", "waiver", "approval", "test_case", "discovery", "document", "alert", "queue",
	"agent", "suspension", "tools", "project", "key", "signin", "webhook", "corpus", "retention",
}

// auditLog is the view of the list of entries.
type auditLog struct {
	items      []wire.AuditEntry
	place      pager
	query      url.Values // the filters
	more       bool       // a folded filter is used
	problem    string     // what is wrong with the filters
	unsearched int64
}

// filtered reports whether a filter is used.
func (v *auditLog) filtered() bool { return len(v.query) > 0 }

// export is the address of the entries of the list as a file.
func (v *auditLog) export(p *page, format string) string {
	query := maps.Clone(v.query)
	query.Set("format", format)
	return p.at("audit", "export") + "?" + query.Encode()
}

// takeAuditFilters returns the filters in the query of a page, and whether a folded one is among them.
func takeAuditFilters(asked url.Values) (query url.Values, more bool) {
	query = url.Values{}
	take := func(name string) bool {
		given := slices.DeleteFunc(slices.Clone(asked[name]), func(s string) bool { return s == "" })
		if len(given) > 0 {
			query[name] = given
		}
		return len(given) > 0
	}
	for _, f := range auditFilters {
		take(f.name)
	}
	take("kind")
	for _, f := range moreAuditFilters {
		more = take(f.name) || more
	}
	more = take("verdict") || more
	return query, more
}

// auditList shows the entries of the audit chain of a project, newest first.
func auditList(p *page) error {
	var v auditLog
	v.query, v.more = takeAuditFilters(p.r.URL.Query())
	o := op.ListAudit.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	maps.Copy(o.Query, v.query)
	list, err := client.Get(p.ctx, p.api, o)
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.items, v.unsearched = list.Items, list.Unsearched
	v.place = pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	return p.show(head{Title: "Audit", Nav: "audit"}, auditView(p, v))
}

// auditEntry is the view of one entry.
type auditEntry struct {
	wire.AuditEntryDetail

	changes []fieldChange
	rules   []importedRule
	place   pager // of the rules
	last    bool  // nothing follows the entry
}

// importedRule has the changes of a rule by an import.
type importedRule struct {
	wire.AuditRuleChange

	changes []fieldChange
}

// auditPage shows an entry of the audit chain with what it has changed.
func auditPage(p *page) error {
	const size = 20
	seq := p.r.PathValue("seq")
	if n, err := strconv.ParseInt(seq, 10, 64); err != nil || n < 1 {
		return rule.NotFound("entry of the audit chain", seq)
	}
	e, err := client.Get(p.ctx, p.api, op.GetAuditEntry.At(seq).Where(wire.PageQuery{Page: pageOf(p.r), PageSize: size}))
	if err != nil {
		return err
	}
	chain, err := client.Get(p.ctx, p.api, op.GetAuditHead)
	if err != nil {
		return err
	}
	v := auditEntry{AuditEntryDetail: e, changes: markedChanges(e.Changes), last: e.Seq >= chain.Seq}
	for _, c := range e.RuleChanges.Items {
		v.rules = append(v.rules, importedRule{c, markedChanges(c.Changes)})
	}
	v.place = pager{pageOf(p.r), size, len(v.rules), e.RuleChanges.Total}
	return p.show(head{Title: "Entry " + seq, Nav: "audit"}, auditEntryView(p, v))
}

// markedChanges compares the values of fields word by word.
func markedChanges(list []rule.FieldChange) []fieldChange {
	marks := make([]fieldChange, len(list))
	for i, c := range list {
		marks[i] = fieldChange{name: words(c.Field), pieces: wordmark.Compare(readable(c.Before), readable(c.After))}
	}
	return marks
}

// exportAudit answers with the entries that the filters of the list select, as a file that is sent while it is read.
func exportAudit(p *page) error {
	query, _ := takeAuditFilters(p.r.URL.Query())
	format := "jsonl"
	name := "-audit.jsonl"
	switch p.r.URL.Query().Get("format") {
	case "csv":
		format, name = "csv", "-audit.csv"
	case "pack":
		format, name = "pack", "-evidence.zip"
	case "oscal":
		format, name = "oscal", "-assessment-results.json"
	}
	o := op.ExportAudit.Where(wire.AuditExportQuery{Format: format})
	maps.Copy(o.Query, query)
	err := client.Copy(p.ctx, p.api, o, &auditFile{page: p, name: p.project.ID + name, format: format})
	if err != nil && p.sent {
		panic(http.ErrAbortHandler) // the browser must not take the part for the whole
	}
	return err
}

// auditFile sends a file, with its headers before its first bytes.
type auditFile struct {
	page         *page
	name, format string
}

// Write implements [io.Writer].
func (f *auditFile) Write(b []byte) (int, error) {
	p := f.page
	if !p.sent {
		if err := p.commit(); err != nil {
			return 0, err
		}
		p.sent = true
		media := map[string]string{"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8", "pack": "application/zip", "oscal": "application/json"}[f.format]
		p.w.Header().Set("Content-Type", media)
		p.w.Header().Set("Content-Disposition", attachment(f.name))
	}
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(liveSend)) // only real connections have one
	return p.w.Write(b)
}

// exportTime bounds an export.
const exportTime = time.Hour

// Limits of a verification: the entries of one request to the API, the time for one page, and the problems that are shown.
const (
	verifyPart     = 5_000
	verifyTime     = 1500 * time.Millisecond
	verifyProblems = 20
)

// verifyValue is the name of the session's value about a verification.
const verifyValue = "verify"

// verification is how far the chain of a project is verified.
type verification struct {
	Project         string
	Ended           bool
	Entries, Pruned int64
	Next, Head      wire.AuditHead
	Problems        []wire.AuditProblem
	Began, Finished time.Time
}

func init() { gob.Register(verification{}) }

// verifyAudit begins to verify the chain of a project.
func verifyAudit(p *page) error {
	p.console.sessions.Put(p.ctx, verifyValue, verification{Project: p.project.ID, Began: p.console.cfg.Now()})
	return p.redirect(p.at("audit", "verify"))
}

// verifyPage continues a verification and shows how far it is. Until it has ended, the browser asks for the page again.
func verifyPage(p *page) error {
	v, ok := p.console.sessions.Get(p.ctx, verifyValue).(verification)
	if !ok || v.Project != p.project.ID {
		return p.redirect(p.at("audit"))
	}
	for began := time.Now(); !v.Ended && time.Since(began) < verifyTime; {
		part, err := client.Get(p.ctx, p.api, op.VerifyAudit.Where(wire.AuditQuery{AfterSeq: v.Next.Seq, AfterHash: v.Next.Hash, Limit: verifyPart}))
		if err != nil {
			return err
		}
		v.Entries, v.Pruned, v.Head = v.Entries+part.Entries, v.Pruned+part.Pruned, part.Head
		v.Problems = append(v.Problems, part.Problems...)
		if part.Next == nil || len(v.Problems) > verifyProblems {
			v.Ended, v.Finished = true, p.console.cfg.Now()
		} else {
			v.Next = *part.Next
		}
	}
	p.console.sessions.Put(p.ctx, verifyValue, v)
	if !v.Ended {
		p.w.Header().Set("Refresh", "0")
	}
	return p.show(head{Title: "Verify the audit chain", Nav: "audit"}, verifyView(p, v))
}
