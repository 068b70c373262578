package api

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		to, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(to, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (n *node) scanArchive(name string, content []byte, fields ...string) *reply {
	n.t.Helper()
	body, contentType := formOf(n.t, name, content, fields...)
	return n.call("POST", discoverPath+"/scan/archive", body, "Content-Type", contentType)
}

func TestScanArchive(t *testing.T) {
	t.Parallel()
	onBoth(t, testScanArchive)
}

func testScanArchive(t *testing.T, n *node) {
	n.discovering()
	content := zipOf(t, map[string]string{"pay-1/docs/policy.md": policy, "pay-1/main.go": "package x", "../out.md": "Roots must be safe.", "pay-1/big.md": strings.Repeat("x", 3<<20)})
	r := n.scanArchive("pay-1.zip", content, "sources", "policy_document", "repository", "acme/pay").want(http.StatusAccepted)
	s := n.ended(into[wire.Scan](r).ID)
	if r.header.Get("Location") != scansPath+"/"+s.ID || s.Status != wire.Completed || s.Archive != "pay-1.zip" || s.Files != 1 || *s.CandidatesCount != 3 || s.Repository != "acme/pay" {
		t.Fatalf("scan: %+v", s)
	}
	reasons := map[string]string{}
	for _, p := range s.Problems {
		reasons[p.File] = p.Reason
	}
	if s.ProblemsTotal != 2 || !strings.Contains(reasons["../out.md"], "leads out") || !strings.Contains(reasons["big.md"], "at most 2048 KiB") {
		t.Errorf("problems: %+v", s.Problems)
	}
	if c := n.candidates(s.ID, "").Candidates[0]; c.SourceFile != "docs/policy.md" {
		t.Errorf("found in %s, want docs/policy.md", c.SourceFile)
	}
	page := into[wire.Page[wire.ScanFile]](n.call("GET", scansPath+"/"+s.ID+"/files", nil).want(http.StatusOK))
	if page.Total != 1 || page.Items[0] != (wire.ScanFile{SourceFile: "docs/policy.md", Candidates: 3, Pending: 3}) {
		t.Errorf("files: %+v", page)
	}
	n.scanArchive("x.zip", []byte("no archive")).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.scanArchive("x.zip", zipOf(t, map[string]string{"a.bin": "x"})).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	n.scanArchive("x.zip", content, "sources", "wiki").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "sources")
	n.scanArchive("x.zip", content, "colour", "red").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "colour")
	n.scanArchive("x.zip", zipOf(t, map[string]string{"a.md": strings.Repeat("\x00", 1<<20), "b.md": strings.Repeat("\x00", 2<<20)})).want(http.StatusAccepted)
	n.call("POST", discoverPath+"/scan/archive", "{}").wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "Content-Type")
}

func TestTriage(t *testing.T) {
	t.Parallel()
	onBoth(t, testTriage)
}

func testTriage(t *testing.T, n *node) {
	n.discovering()
	into[rule.Rule](n.call("POST", rulesPath, map[string]any{"slug": "PAY-1", "statement": "Payments have two approvers."}).want(http.StatusCreated))
	s := n.scanned(map[string]any{"sources": []string{"policy_document"}, "repository": "acme/pay", "file_contents": map[string]string{"docs/policy.md": policy, "b.md": "Trips must be booked."}})
	list := n.candidates(s.ID, "?path=docs").Candidates
	if len(list) != 3 {
		t.Fatalf("candidates below docs: %+v", list)
	}
	path := discoverPath + "/candidates/"
	first := into[wire.CandidateDetail](n.call("GET", path+list[0].ID+"?path=docs", nil).want(http.StatusOK))
	if first.Excerpt.FirstLine != 1 || first.Excerpt.Lines[1] != "Payments must be approved twice." || first.Previous != "" || first.Next != list[1].ID || first.Waiting != 3 {
		t.Errorf("detail: %+v", first)
	}
	n.call("POST", path+list[0].ID+"/merge", `{}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule_id")
	done := into[wire.Decided](n.call("POST", path+list[0].ID+"/merge", `{"rule_id":"PAY-1"}`).want(http.StatusOK))
	if done.Status != wire.CandidateMerged || done.RuleID == "" {
		t.Errorf("merged: %+v", done)
	}
	if got := into[wire.Scan](n.call("GET", scansPath+"/"+s.ID, nil).want(http.StatusOK)); got.Decided[wire.CandidateMerged] != 1 || *got.Pending != 3 {
		t.Errorf("scan: %+v", got)
	}
	if back := into[wire.Decided](n.call("POST", path+list[0].ID+"/reopen", nil).want(http.StatusOK)); back.Status != wire.CandidateUndecided {
		t.Errorf("taken back: %+v", back)
	}
	n.call("POST", path+list[0].ID+"/reopen", nil).wantProblem(http.StatusConflict, rule.CodeConflict)

	made := into[wire.ExclusionMade](n.call("POST", discoverPath+"/exclusions", `{"repository":"acme/pay","path":"docs","reason":"the manual"}`).want(http.StatusCreated))
	if made.Dismissed != 3 || made.Path != "docs" {
		t.Errorf("excluded: %+v", made)
	}
	if got := n.candidates(s.ID, "?status=dismissed"); got.Total != 3 || got.Candidates[0].ExclusionID != made.ID || got.Candidates[0].Reason != "the manual" {
		t.Errorf("dismissed: %+v", got)
	}
	if page := into[wire.Page[wire.Exclusion]](n.call("GET", discoverPath+"/exclusions", nil).want(http.StatusOK)); page.Total != 1 {
		t.Errorf("exclusions: %+v", page)
	}
	if got := into[wire.Lifted](n.call("DELETE", discoverPath+"/exclusions/"+made.ID, nil).want(http.StatusOK)); got.Reopened != 3 {
		t.Errorf("lifted: %+v", got)
	}
	for _, id := range []string{made.ID, "x"} {
		n.call("DELETE", discoverPath+"/exclusions/"+id, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
}
