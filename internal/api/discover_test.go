package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/auth"
	"tenet/internal/discover"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// sentences finds a rule in each line of Markdown that holds "must", and cannot read files that begin with a zero.
type sentences struct{}

func (sentences) Kind() wire.SourceKind  { return wire.PolicyDocument }
func (sentences) Reads(path string) bool { return strings.HasSuffix(path, ".md") }

func (sentences) Read(_ context.Context, files []source.File) (found []source.Found, problems []source.Problem) {
	for _, f := range files {
		if strings.HasPrefix(string(f.Content), "\x00") {
			problems = append(problems, source.Problem{File: f.Path, Reason: "is no text"})
			continue
		}
		for i, l := range strings.Split(string(f.Content), "\n") {
			if !strings.Contains(l, " must ") {
				continue
			}
			m, confidence := rule.Must, 0.9
			if strings.Contains(l, " must not ") {
				m = rule.MustNot
			}
			if strings.Contains(l, "perhaps") {
				confidence = 0.4
			}
			found = append(found, source.Found{
				Kind: wire.PolicyDocument, Statement: strings.TrimPrefix(l, "- "), Modality: m, Severity: rule.High, Scope: []string{"finance"}, Tags: []string{"policy"},
				File: f.Path, Line: i + 1, EndLine: i + 1, Quote: l, Section: "Rules", Method: `sentence with "must"`, Confidence: confidence,
			})
		}
	}
	return found, problems
}

// opposite is the simplest contradiction there is.
func opposite(a, b rule.Rule) (string, float64, bool) {
	return "one demands what the other forbids", 1, (a.Modality == rule.MustNot) != (b.Modality == rule.MustNot) &&
		strings.ReplaceAll(a.Statement, " not ", " ") == strings.ReplaceAll(b.Statement, " not ", " ")
}

// scanned starts a scan and waits for its end.
func (n *node) scanned(request map[string]any) wire.Scan {
	n.t.Helper()
	started := into[wire.Scan](n.call("POST", discoverPath+"/scan", request).want(http.StatusAccepted))
	if started.ID == "" || started.Status != wire.Pending || started.CreatedAt.IsZero() || started.CandidatesCount != nil {
		n.t.Errorf("started: %+v", started)
	}
	return n.ended(started.ID)
}

func (n *node) ended(id string) wire.Scan {
	n.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		s := into[wire.Scan](n.call("GET", scansPath+"/"+id, nil).want(http.StatusOK))
		if s.Status == wire.Completed || s.Status == wire.Failed {
			return s
		}
	}
	n.t.Fatal("the scan does not end")
	return wire.Scan{}
}

func (n *node) candidates(scanID, query string) wire.Candidates {
	n.t.Helper()
	return into[wire.Candidates](n.call("GET", scansPath+"/"+scanID+"/candidates"+query, nil).want(http.StatusOK))
}

func (n *node) discovering() {
	d := n.cfg.Discover
	n.doing(map[string]job.Handler{discover.ScanKind: d.HandleScan})
}

const policy = `# Payments
Payments must be approved twice.
Cards must not be stored.
- Refunds must perhaps wait.
Nothing else.`

func TestDiscovery(t *testing.T) {
	t.Parallel()
	onBoth(t, testDiscovery)
}

func testDiscovery(t *testing.T, n *node) {
	n.discovering()
	into[rule.Rule](n.call("POST", rulesPath, map[string]any{"statement": "Cards must be stored."}).want(http.StatusCreated))
	request := map[string]any{
		"sources": []string{"policy_document"}, "repository": "acme/pay",
		"file_contents": map[string]string{"docs/policy.md": policy, "b.md": "x\n\nPayments must be approved  twice.", "bad.md": "\x00", "main.go": "package x"},
	}
	s := n.scanned(request)
	if s.Status != wire.Completed || *s.CandidatesCount != 3 || *s.Pending != 3 || s.CompletedAt == nil || s.Files != 4 || s.FilesRead != 3 || s.Found != 4 ||
		s.ProblemsTotal != 1 || s.Progress != (wire.Progress{Done: 3, Total: 3}) {
		t.Fatalf("scan: %+v", s)
	}
	if diff := cmp.Diff([]wire.Unreadable{{File: "bad.md", Reason: "is no text"}}, s.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	all := n.candidates(s.ID, "")
	if all.Total != 3 || len(all.Candidates) != 3 {
		t.Fatalf("candidates: %+v", all)
	}
	cards, payments, refunds := all.Candidates[1], all.Candidates[0], all.Candidates[2] // by confidence, then file, then line
	if payments.SourceFile != "b.md" || payments.SourceLine != 3 || len(payments.Places) != 2 || payments.Places[1].SourceFile != "docs/policy.md" || payments.Places[1].SourceLine != 2 {
		t.Errorf("merged: %+v", payments)
	}
	if cards.SuggestedMetadata.Severity != "high" || cards.SuggestedMetadata.Modality != rule.MustNot || cards.SuggestedMetadata.Scope != "finance" || cards.Quote != "Cards must not be stored." {
		t.Errorf("candidate: %+v", cards)
	}
	if len(cards.SimilarRules) != 1 || !cards.SimilarRules[0].Contradicts || cards.SimilarRules[0].Reason == "" || len(payments.SimilarRules) != 0 {
		t.Errorf("similar: %+v and %+v", cards.SimilarRules, payments.SimilarRules)
	}
	if got := n.candidates(s.ID, "?min_confidence=0.5"); got.Total != 2 {
		t.Errorf("%d confident candidates, want 2", got.Total)
	}
	if got := n.candidates(s.ID, "?limit=1&offset=2"); got.Total != 3 || len(got.Candidates) != 1 || got.Candidates[0].ID != refunds.ID {
		t.Errorf("page: %+v", got)
	}

	path := discoverPath + "/candidates/"
	done := into[wire.Decided](n.call("POST", path+payments.ID+"/approve", map[string]any{
		"statement": "Payments must be approved by two people.", "metadata_overrides": map[string]any{"severity": "critical", "scope": []string{"a", "b"}, "owner": "cfo"},
	}).want(http.StatusCreated))
	if done.CandidateID != payments.ID || done.Status != wire.CandidateApproved {
		t.Errorf("approved: %+v", done)
	}
	made := into[rule.Rule](n.call("GET", rulesPath+"/"+done.RuleID, nil).want(http.StatusOK))
	wantRefs := []rule.SourceRef{
		{Kind: "policy", URI: "b.md:3", Section: "Rules", Quote: "Payments must be approved  twice."},
		{Kind: "policy", URI: "docs/policy.md:2", Section: "Rules", Quote: "Payments must be approved twice."},
	}
	if made.Statement != "Payments must be approved by two people." || made.Severity != rule.Critical || made.Status != rule.Draft || made.Owner != "cfo" ||
		!cmp.Equal(made.Scope, []string{"a", "b"}) || !cmp.Equal(made.SourceRefs, wantRefs) {
		t.Errorf("rule: %+v", made)
	}
	n.call("POST", path+payments.ID+"/approve", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", path+payments.ID+"/dismiss", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", path+cards.ID+"/dismiss", map[string]any{"reason": "not ours"}).want(http.StatusOK)
	n.call("POST", path+cards.ID+"/dismiss", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", path+cards.ID+"/approve", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	got := into[wire.CandidateDetail](n.call("GET", path+cards.ID, nil).want(http.StatusOK))
	if got.Status != wire.CandidateDismissed || got.Reason != "not ours" || got.DecidedBy == "" || got.DecidedAt == nil {
		t.Errorf("dismissed: %+v", got)
	}
	if got := n.candidates(s.ID, "?status=pending"); got.Total != 1 || got.Candidates[0].ID != refunds.ID {
		t.Errorf("pending: %+v", got)
	}

	// The next scan shows what is new, and what is undecided.
	request["file_contents"].(map[string]string)["docs/policy.md"] += "\nInvoices must be kept."
	again := n.scanned(request)
	if list := n.candidates(again.ID, ""); list.Total != 2 || again.Known != 3 || list.Candidates[0].Statement != "Invoices must be kept." || list.Candidates[1].Statement != refunds.Statement {
		t.Errorf("rescan: known %d, %+v", again.Known, list)
	}
	request["repository"] = "acme/web"
	if other := n.scanned(request); other.Known != 0 || *other.CandidatesCount != 4 {
		t.Errorf("another repository: %+v", other)
	}
	// What is undecided in two scans is decided once.
	n.call("POST", path+refunds.ID+"/approve", "{}").want(http.StatusCreated)
	if list := n.candidates(again.ID, "?status=approved"); list.Total != 1 || list.Candidates[0].Statement != refunds.Statement {
		t.Errorf("the same of another scan: %+v", list)
	}
	// A statement that forbids in its own words forbids once, also if the form of a desk sends back the modality that was suggested.
	n.call("POST", path+cards.ID+"/reopen", nil).want(http.StatusOK)
	done = into[wire.Decided](n.call("POST", path+cards.ID+"/approve", map[string]any{"metadata_overrides": map[string]any{"modality": "must_not"}}).want(http.StatusCreated))
	if forbids := into[rule.Rule](n.call("GET", rulesPath+"/"+done.RuleID, nil).want(http.StatusOK)); forbids.Statement != "Cards must not be stored." || forbids.Modality != rule.Must {
		t.Errorf("a prohibition: %+v", forbids)
	}
	if page := into[wire.Page[wire.Scan]](n.call("GET", scansPath+"?page_size=1", nil).want(http.StatusOK)); page.Total != 3 || page.Items[0].Repository != "acme/web" {
		t.Errorf("scans: %+v", page)
	}
}

func TestDiscoveryRefuses(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	files := map[string]string{"a.md": "x"}
	p := n.call("POST", discoverPath+"/scan", map[string]any{"sources": []string{"wiki"}, "file_contents": files}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "sources")
	for _, k := range wire.SourceKinds {
		if !strings.Contains(p.Errors[0].Message, string(k)) {
			t.Errorf("%q does not name %s", p.Errors[0].Message, k)
		}
	}
	for _, bad := range []map[string]any{
		{"sources": []string{}, "file_contents": files},
		{"sources": []string{"policy_document"}, "file_contents": map[string]string{}},
		{"sources": []string{"policy_document"}, "file_contents": map[string]string{"": "x"}},
		{"sources": []string{"policy_document"}, "file_contents": map[string]string{strings.Repeat("x", discover.MaxPath+1): "x"}},
		{"sources": []string{"policy_document"}, "file_contents": map[string]string{"a\nb": "x"}},
		{"sources": []string{"policy_document"}, "file_contents": map[string]any{"a": 1}},
		{"sources": []string{"policy_document"}},
		{"file_contents": files},
		{"sources": []string{"policy_document"}, "file_contents": files, "repository": strings.Repeat("x", 300)},
		{"sources": []string{"policy_document"}, "file_contents": files, "branch": "x"},
	} {
		n.call("POST", discoverPath+"/scan", bad).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	}
	many := map[string]string{}
	for i := range discover.MaxFiles + 1 {
		many[fmt.Sprint(i)] = ""
	}
	n.call("POST", discoverPath+"/scan", map[string]any{"sources": []string{"policy_document"}, "file_contents": many}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "file_contents")
	none := "00000000-0000-7000-8000-000000000001"
	for _, id := range []string{none, "x"} {
		n.call("GET", scansPath+"/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("GET", scansPath+"/"+id+"/candidates", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("POST", scansPath+"/"+id+"/candidates/dismiss", `{"all":true}`).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("POST", discoverPath+"/candidates/"+id+"/approve", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("POST", discoverPath+"/candidates/"+id+"/dismiss", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("POST", documentsPath+"/"+id+"/extract", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	n.call("GET", scansPath+"/"+none+"/candidates?status=open", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.call("GET", scansPath+"/"+none+"/candidates?min_confidence=2", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
}

func TestApprovalsThatAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.discovering()
	s := n.scanned(map[string]any{"sources": []string{"POLICY_DOCUMENT"}, "file_contents": map[string]string{"a.md": policy}})
	id := n.candidates(s.ID, "").Candidates[0].ID
	path := discoverPath + "/candidates/" + id + "/approve"
	for body, field := range map[string]string{
		`{"statement":"` + strings.Repeat("x", rule.MaxStatement+1) + `"}`: "statement",
		`{"statement":""}`:                                      "statement",
		`{"statement":" \n "}`:                                  "statement",
		`{"metadata_overrides":{"scope":7}}`:                    "metadata_overrides.scope",
		`{"metadata_overrides":{"severity":"huge"}}`:            "metadata_overrides.severity",
		`{"metadata_overrides":{"check":{"cel":"1"}}}`:          "check.cel",
		`{"metadata_overrides":{"applies_to":{"paths":["["]}}}`: "applies_to.paths[0]",
		`{"metadata_overrides":{"colour":"red"}}`:               "metadata_overrides.colour",
	} {
		n.call("POST", path, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	n.call("PATCH", "/api/v1/projects/default", `{"two_person_approval":true}`).want(http.StatusOK)
	n.call("POST", path, `{"metadata_overrides":{"status":"effective"}}`).wantProblem(http.StatusConflict, rule.CodeConflict)
	if c := into[wire.CandidateDetail](n.call("GET", strings.TrimSuffix(path, "/approve"), nil).want(http.StatusOK)); c.Status != wire.CandidateUndecided {
		t.Errorf("a refused approval has decided: %+v", c)
	}
	if list := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil).want(http.StatusOK)); list.Total != 0 {
		t.Errorf("refused approvals have made %d rules", list.Total)
	}
}

func TestRaceApprove(t *testing.T) {
	t.Parallel()
	onBoth(t, testRaceApprove)
}

func testRaceApprove(t *testing.T, n *node) {
	n.discovering()
	s := n.scanned(map[string]any{"sources": []string{"policy_document"}, "file_contents": map[string]string{"a.md": "Payments must be approved."}})
	id := n.candidates(s.ID, "").Candidates[0].ID
	var wg sync.WaitGroup
	var won, lost atomic.Int32
	for i := range 64 {
		wg.Go(func() {
			to := "/approve"
			if i%4 == 3 {
				to = "/dismiss"
			}
			switch r := n.call("POST", discoverPath+"/candidates/"+id+to, nil); r.status {
			case http.StatusCreated, http.StatusOK:
				won.Add(1)
			case http.StatusConflict:
				lost.Add(1)
			default:
				t.Errorf("%s: %d %s", to, r.status, r.body)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 63 {
		t.Errorf("%d decisions stand and %d were refused, want 1 and 63", won.Load(), lost.Load())
	}
	c := into[wire.CandidateDetail](n.call("GET", discoverPath+"/candidates/"+id, nil).want(http.StatusOK))
	rules := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil).want(http.StatusOK))
	if want := map[wire.CandidateStatus]int{wire.CandidateApproved: 1, wire.CandidateDismissed: 0}[c.Status]; rules.Total != want {
		t.Errorf("candidate %s and %d rules", c.Status, rules.Total)
	}
}

func TestBulkDecisions(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.discovering()
	s := n.scanned(map[string]any{"sources": []string{"policy_document"}, "file_contents": map[string]string{"a.md": policy}})
	list := n.candidates(s.ID, "").Candidates
	path := scansPath + "/" + s.ID + "/candidates/"
	for _, bad := range []string{`{}`, `{"all":true,"candidate_ids":["x"]}`, `{"path":"a.md","candidate_ids":["x"]}`, `{"min_confidence":2}`, `{"candidate_ids":[]}`, `{"all":true,"metadata_overrides":{"slug":"A-1"}}`} {
		n.call("POST", path+"approve", bad).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	}
	none := "00000000-0000-7000-8000-000000000001"
	done := into[wire.Bulk](n.call("POST", path+"dismiss", map[string]any{"candidate_ids": []string{list[1].ID, none, list[1].ID, "x"}, "reason": "no"}).want(http.StatusOK))
	if done.Done != 1 || done.Failed != 3 || done.Results[0].Status != "dismissed" || done.Results[1].Code != "not_found" || done.Results[2].Code != "conflict" || done.Results[2].Error == "" {
		t.Errorf("dismissed: %+v", done)
	}
	if done = into[wire.Bulk](n.call("POST", path+"approve", `{"path":"a.m"}`).want(http.StatusOK)); len(done.Results) != 0 {
		t.Errorf("of another file: %+v", done)
	}
	done = into[wire.Bulk](n.call("POST", path+"approve", `{"path":"a.md","min_confidence":0.8,"metadata_overrides":{"tags":["bulk"]}}`).want(http.StatusOK))
	if done.Done != 1 || done.Failed != 0 || done.Remaining != 0 || done.Results[0].CandidateID != list[0].ID {
		t.Fatalf("approved: %+v", done)
	}
	if r := into[rule.Rule](n.call("GET", rulesPath+"/"+done.Results[0].RuleID, nil).want(http.StatusOK)); !cmp.Equal(r.Tags, []string{"bulk"}) {
		t.Errorf("rule: %+v", r)
	}
	if done = into[wire.Bulk](n.call("POST", path+"approve", `{"all":true}`).want(http.StatusOK)); done.Done != 1 || done.Results[0].CandidateID != list[2].ID {
		t.Errorf("the rest: %+v", done)
	}
}

func TestExtractRules(t *testing.T) {
	t.Parallel()
	onBoth(t, testExtractRules)
}

func testExtractRules(t *testing.T, n *node) {
	n.discovering()
	d := into[wire.Document](n.upload("travel.txt", []byte("Trips must be approved.\n")).want(http.StatusCreated))
	r := n.call("POST", documentsPath+"/"+d.ID+"/extract", nil).want(http.StatusAccepted)
	s := n.ended(into[wire.Scan](r).ID)
	if r.header.Get("Location") != scansPath+"/"+s.ID || s.DocumentID != d.ID || s.Status != wire.Completed || *s.CandidatesCount != 1 {
		t.Fatalf("scan: %+v", s)
	}
	c := n.candidates(s.ID, "").Candidates[0]
	n.call("POST", discoverPath+"/candidates/"+c.ID+"/approve", `{"metadata_overrides":{"status":"EFFECTIVE"}}`).want(http.StatusCreated)
	if got := into[wire.Document](n.call("GET", documentsPath+"/"+d.ID, nil).want(http.StatusOK)); got.RulesExtracted != 1 {
		t.Errorf("%d rules come from the document, want 1", got.RulesExtracted)
	}
	var found struct {
		Total int `json:"total"`
	}
	answer := n.call("POST", "/api/v1/search/by-source-document", map[string]any{"document_id": d.ID}).want(http.StatusOK)
	if err := json.Unmarshal(answer.body, &found); err != nil || found.Total != 1 {
		t.Errorf("found %d rules of the document, %v", found.Total, err)
	}
	// One whose name does not tell what it is, is read all the same.
	plain := into[wire.Document](n.upload("rules", []byte("Hotels must be booked.\n")).want(http.StatusCreated))
	if s := n.ended(into[wire.Scan](n.call("POST", documentsPath+"/"+plain.ID+"/extract", nil).want(http.StatusAccepted)).ID); *s.CandidatesCount != 1 ||
		n.candidates(s.ID, "").Candidates[0].SourceFile != "rules.txt" {
		t.Errorf("a document without an ending: %+v", s)
	}
	// A document that goes before it is read fails its scan with the reason.
	other := into[wire.Document](n.upload("b.txt", []byte("Other text.")).want(http.StatusCreated))
	scan, err := n.cfg.Discover.StartDocument(auth.WithActor(t.Context(), auth.Local("test")), "default", other.ID)
	if err != nil {
		t.Fatal(err)
	}
	n.call("DELETE", documentsPath+"/"+other.ID, nil)
	if s := n.ended(scan.ID); s.Status == wire.Failed && !strings.Contains(s.Reason, "there is no document") {
		t.Errorf("failed scan: %+v", s)
	}
}
