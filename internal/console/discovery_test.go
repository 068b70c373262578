package console_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// payPolicy holds three rules; the first says what FIN-001 says.
const payPolicy = `# Payment policy

Payments above 10000 EUR must have two approvers.

Card numbers must not be written to a log.

Receipts must be kept for ten years.
`

// scanned has files scanned to the end, and returns the scan and its candidates in the order of the source.
func (n *node) scanned(repository string, files map[string]string) (scan string, candidates []string) {
	n.t.Helper()
	s, err := client.Call(n.t.Context(), n.api, op.StartScan, wire.ScanRequest{Sources: []wire.SourceKind{wire.PolicyDocument}, Repository: repository, Files: files})
	if err != nil {
		n.t.Fatal(err)
	}
	n.await(s.ID)
	list, err := client.AllCandidates(n.t.Context(), n.api, s.ID, wire.CandidateQuery{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, c := range list {
		candidates = append(candidates, c.ID)
	}
	return s.ID, candidates
}

// await waits for the end of a scan.
func (n *node) await(id string) wire.Scan {
	n.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s, err := client.Get(n.t.Context(), n.api, op.GetScan.At(id))
		if err != nil {
			n.t.Fatal(err)
		}
		if s.Status == wire.Completed || s.Status == wire.Failed {
			return s
		}
	}
	n.t.Fatal("the scan does not end")
	return wire.Scan{}
}

// candidate reads a candidate.
func (n *node) candidate(id string) wire.CandidateDetail {
	n.t.Helper()
	c, err := client.Get(n.t.Context(), n.api, op.GetCandidate.At(id))
	if err != nil {
		n.t.Fatal(err)
	}
	return c
}

// postFiles sends a form with files, by their names, and fields in pairs.
func (v *visitor) postFiles(path string, files map[string]string, pairs ...string) answer {
	v.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := w.WriteField(pairs[i], pairs[i+1]); err != nil {
			v.t.Fatal(err)
		}
	}
	for name, text := range files {
		part, err := w.CreateFormFile("files", name)
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			v.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+path, &body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {w.FormDataContentType()}, "Origin": {v.base}, "Sec-Fetch-Site": {"same-origin"}, "Accept": {"text/html"}}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

var scanPath = regexp.MustCompile(`^/p/default/discovery/scans/([0-9a-f-]{36})$`)

// discoveryScreens are the screens of discovery, for the table of all screens.
func discoveryScreens(n *node) []screen {
	scan, candidates := n.scanned("acme/pay", map[string]string{"docs/policy.md": payPolicy})
	at := "/p/default/discovery/scans/" + scan
	return []screen{
		{"scans", "/p/default/discovery", "Discovery", []string{"acme/pay", "completed", "New scan", "3"}},
		{"a new scan", "/p/default/discovery/new", "New scan", []string{"Files, or a zip or tar.gz of a repository", "Settings of linters", "What to leave out"}},
		{"a scan", at, "Scan of acme/pay", []string{"3 left", "Card numbers must not be written to a log.", "docs/policy.md:5", "Decide on what is left", "like FIN-001"}},
		{"a scan, filtered", at + "?path=nowhere", "Scan of acme/pay", []string{"No candidate matches."}},
		{"a scan, a wrong filter", at + "?min_confidence=high", "Scan of acme/pay", []string{"a number from 0 to 1"}},
		{"a candidate", "/p/default/discovery/candidates/" + candidates[0], "Candidate", []string{
			"docs/policy.md:", "Marked: ", "FIN-001", "Never from", "Approve", "Number 1 of 3 left",
		}},
		{"what the confidence means", "/p/default/discovery/confidence", "What the confidence means", []string{"0.95 to 1.00", "368", "97 %"}},
		{"left out of scans", "/p/default/discovery/exclusions", "Left out of scans", []string{"Scans leave out no folder of this project."}},
	}
}

// TestScansAreStartedByAForm uploads files, pastes a text, and sends an archive, without scripts.
func TestScansAreStartedByAForm(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	to, err := w.Create("pay/docs/policy.md")
	if err == nil {
		_, err = io.WriteString(to, payPolicy)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	const form = "/p/default/discovery/new"
	policy := []string{"sources", "policy_document", "repository", "acme/pay"}
	for name, test := range map[string]struct {
		files  map[string]string
		fields []string
		file   string
	}{
		"files":     {map[string]string{"policy.md": payPolicy, "other.md": "Nothing here."}, append([]string{"folder", "docs"}, policy...), "docs/policy.md"},
		"a text":    {nil, append([]string{"pasted", payPolicy, "pasted_name", "policies/pay.md"}, policy...), "policies/pay.md"},
		"a zip":     {map[string]string{"pay.zip": packed.String()}, policy, "docs/policy.md"},
		"all kinds": {map[string]string{"AGENTS.md": "# Rules\n\n- Never call eval on input.\n"}, []string{"sources", "policy_document", "sources", "assistant_md"}, "AGENTS.md"},
	} {
		a := v.postFiles(form, test.files, test.fields...)
		m := scanPath.FindStringSubmatch(a.header.Get("Location"))
		if a.status != http.StatusSeeOther || m == nil {
			t.Errorf("%s: status %d, %s", name, a.status, a.body)
			continue
		}
		if s := n.await(m[1]); s.Status != wire.Completed || *s.CandidatesCount == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if page := v.get(a.header.Get("Location") + "?status=all").body; !strings.Contains(page, test.file+":") {
			t.Errorf("%s: the scan does not show %s: %s", name, test.file, page)
		}
	}
	for name, test := range map[string]struct {
		files  map[string]string
		fields []string
		says   string
	}{
		"nothing":               {nil, policy, "No file is chosen"},
		"no sources":            {map[string]string{"a.md": "x"}, nil, "name one or more of"},
		"an archive and a file": {map[string]string{"a.zip": "x", "b.md": "x"}, policy, "scanned alone"},
		"no archive":            {map[string]string{"a.zip": "x"}, policy, "no archive"},
		"no text":               {map[string]string{"a.md": "x\x00"}, policy, "no text"},
		"a bad glob":            {map[string]string{"a.md": "x"}, append([]string{"exclude", "["}, policy...), "exclude"},
	} {
		a := v.postFiles(form, test.files, test.fields...)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, test.says) || !strings.Contains(a.body, "Choose the files again") {
			t.Errorf("%s: status %d, want one that says %q: %s", name, a.status, test.says, a.body)
		}
	}
}

// TestAScanIsWatched streams the end of a scan to its page.
func TestAScanIsWatched(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	s, err := client.Call(t.Context(), n.api, op.StartScan, wire.ScanRequest{Sources: []wire.SourceKind{wire.PolicyDocument}, Files: map[string]string{"a.md": payPolicy}})
	if err != nil {
		t.Fatal(err)
	}
	if live := v.stream(t, "/p/default/discovery/scans/"+s.ID+"/live"); !live.says("data-reload") {
		t.Error("the stream does not report the end of the scan")
	}
	if n.await(s.ID); !strings.Contains(v.get("/p/default/discovery/scans/"+s.ID).body, "3 left") {
		t.Error("the page of the scan does not show what is left")
	}
}

// decides posts a decision on a candidate, and returns where it leads.
func (v *visitor) decides(id string, pairs ...string) answer {
	v.t.Helper()
	return v.post("/p/default/discovery/candidates/"+id, pairs...)
}

// TestTriageWithoutScripts decides by the forms alone.
func TestTriageWithoutScripts(t *testing.T) {
	n := newNode(t, nil)
	scan, ids := n.scanned("acme/pay", map[string]string{"docs/policy.md": payPolicy, "manual/use.md": "# Security policy\n\nPasswords must never be written down.\n\nScreens must be locked.\n"})
	if len(ids) != 5 {
		t.Fatalf("%d candidates", len(ids))
	}
	byText := map[string]string{}
	for _, id := range ids {
		byText[strings.Fields(n.candidate(id).Statement)[0]] = id
	}
	payments, cards, receipts := byText["Payments"], byText["Card"], byText["Receipts"]
	v := n.visitor()
	shows := func(page string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("the page does not show %q: %s", w, page)
			}
		}
	}
	undo := func() string {
		t.Helper()
		a := v.post("/p/default/discovery/undo", "next", "/p/default/discovery/scans/"+scan)
		return v.get(a.header.Get("Location")).body
	}
	scanAt := "/p/default/discovery/scans/" + scan
	if a := v.get(scanAt + "/triage"); a.header.Get("Location") != "/p/default/discovery/candidates/"+ids[0] {
		t.Errorf("triage leads to %s", a.header.Get("Location"))
	}

	// Edited and approved: what was typed becomes the rule, and the next candidate follows.
	edited := []string{
		"do", "approve", "statement", "Card numbers must never be logged.", "severity", "CRITICAL", "modality", "MUST_NOT", "scope", "finance", "tags", "", "check", "pattern",
		"check.decides", "both", "check.pattern.regex", `\bPAN\b`, "check.pattern.lines", "added", "slug", "PCI-1", "status", "DRAFT",
	}
	at := slices.Index(ids, cards)
	a := v.decides(cards, edited...)
	if want := "/p/default/discovery/candidates/" + ids[at+1]; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
		t.Errorf("approved: %d to %s, want %s: %s", a.status, a.header.Get("Location"), want, a.body)
	}
	r, err := client.Get(t.Context(), n.api, op.GetRule.At("PCI-1"))
	if err != nil || r.Statement != "Card numbers must never be logged." || r.Severity != rule.Critical || len(r.Tags) != 0 || !slices.Equal(r.Scope, []string{"finance"}) ||
		r.Check == nil || r.Check.Pattern.Regex != `\bPAN\b` || r.SourceRefs[0].URI != "docs/policy.md:5" {
		t.Errorf("the rule: %+v, %v", r, err)
	}
	shows(v.get(scanAt+"?status=approved").body, "approved", "Take back")
	shows(undo(), "1 taken back.")
	if c := n.candidate(cards); c.Status != wire.CandidateUndecided {
		t.Errorf("taken back: %+v", c)
	}
	shows(v.post("/p/default/discovery/undo", "next", scanAt).body)
	shows(v.get(scanAt).body, "nothing to take back")

	// Errors come at their place, and what was typed stays.
	a = v.decides(cards, "do", "approve", "statement", "Typed and kept.", "severity", "HIGH", "modality", "MUST", "check", "cel", "check.cel", "1 +", "check.decides", "both")
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("a bad check: %d", a.status)
	}
	shows(a.body, "Nothing was decided.", "check.cel", "Typed and kept.", "1 +")

	// Merged into a rule, by its short name; into another candidate; dismissed with a reason.
	a = v.decides(payments, "do", "merge", "into", "nothing-like-it")
	if a.status != http.StatusNotFound {
		t.Errorf("merged into nothing: %d", a.status)
	}
	shows(a.body, "nothing-like-it")
	v.decides(payments, "do", "merge", "into", "FIN-001")
	if c := n.candidate(payments); c.Status != wire.CandidateMerged || c.RuleID != n.ruleID("FIN-001") {
		t.Errorf("merged: %+v", c)
	}
	shows(v.get("/p/default/discovery/candidates/"+payments).body, "merged", "Take this decision back", n.ruleID("FIN-001"))
	v.decides(payments, "do", "reopen")
	if c := n.candidate(payments); c.Status != wire.CandidateUndecided {
		t.Errorf("opened again: %+v", c)
	}
	v.decides(receipts, "do", "dismiss", "reason", "An aim, not a rule")
	if c := n.candidate(receipts); c.Status != wire.CandidateDismissed || c.Reason != "An aim, not a rule" {
		t.Errorf("dismissed: %+v", c)
	}
	shows(v.get("/p/default/discovery/candidates/"+cards).body, `value="An aim, not a rule"`) // the reason stays for the next
	if a := v.decides(receipts, "do", "dismiss"); a.status != http.StatusConflict {
		t.Errorf("dismissed twice: %d", a.status)
	}

	// Never from this folder.
	a = v.decides(byText["Passwords"], "do", "never", "never", "manual")
	shows(v.get(a.header.Get("Location")).body, "Scans leave out manual from now on. 2 candidates were dismissed.")
	shows(v.get("/p/default/discovery/exclusions").body, "manual", "acme/pay", "Read again")
	shows(undo(), "read the folder again")
	if c := n.candidate(byText["Passwords"]); c.Status != wire.CandidateUndecided {
		t.Errorf("after the exclusion was taken back: %+v", c)
	}
	v.post("/p/default/discovery/exclusions", "path", "/manual/", "reason", "not ours")
	shows(v.get("/p/default/discovery/exclusions").body, "manual", "not ours", "every one")
	if a := v.post("/p/default/discovery/exclusions", "path", "manual"); a.status != http.StatusConflict {
		t.Errorf("excluded twice: %d", a.status)
	}
	id := regexp.MustCompile(`exclusions/([0-9a-f-]{36})/lift`).FindStringSubmatch(v.get("/p/default/discovery/exclusions").body)
	v.post("/p/default/discovery/exclusions/" + id[1] + "/lift")
	shows(v.get("/p/default/discovery/exclusions").body, "Scans read it again. 2 of its candidates wait")

	// In bulk, and taken back at once.
	v.post(scanAt, "do", "approve", "id", payments, "id", cards, "id", receipts, "next", scanAt)
	shows(v.get(scanAt).body, "2 done. 1 not done", "has been dismissed already")
	shows(undo(), "2 taken back.")
	v.post(scanAt, "do", "dismiss-all", "path", "manual", "min_confidence", "", "reason", "Not ours.", "next", scanAt)
	shows(v.get(scanAt).body, "2 done.")
	if c := n.candidate(byText["Passwords"]); c.Reason != "Not ours." || n.candidate(payments).Status != wire.CandidateUndecided {
		t.Errorf("all of a folder: %+v", c)
	}
	shows(undo(), "2 taken back.")
	v.post(scanAt, "one", "dismiss 0 "+payments, "reason", "No.", "next", scanAt)
	if c := n.candidate(payments); c.Reason != "No." {
		t.Errorf("the button of a row: %+v", c)
	}
	v.post(scanAt, "do", "approve", "next", scanAt)
	shows(v.get(scanAt).body, "No candidate is selected")
	if a := v.post(scanAt, "do", "eat", "id", cards, "next", scanAt); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown decision: %d", a.status)
	}
	if a := v.decides(cards, "do", "eat"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown decision: %d", a.status)
	}
	// The queue leads to the desk.
	shows(v.get("/queue?kind=candidate").body, "/p/default/discovery/candidates/"+cards)
}

// TestTriageOfHostileSources shows markup and invisible characters of a source as text.
func TestTriageOfHostileSources(t *testing.T) {
	n := newNode(t, nil)
	_, ids := n.scanned("<b>r</b>", map[string]string{"docs/<img src=x>.md": "# <script>alert(1)</script> policy\n\nCards \u202emust not be stored <script>alert(2)</script>.\n"})
	v := n.visitor()
	for _, path := range []string{"/p/default/discovery", "/p/default/discovery/scans/" + n.candidate(ids[0]).ScanID, "/p/default/discovery/candidates/" + ids[0]} {
		page := v.get(path).body
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x>") || strings.Contains(page, "<b>r</b>") {
			t.Errorf("%s holds markup of the source", path)
		}
	}
	if page := v.get("/p/default/discovery/candidates/" + ids[0]).body; !strings.Contains(page, "U+202E") {
		t.Errorf("what is invisible is not marked: %s", page)
	}
}

// TestTriageByRole offers decisions to reviewers only.
func TestTriageByRole(t *testing.T) {
	n := newNode(t, nil)
	scan, ids := n.scanned("acme/pay", map[string]string{"docs/policy.md": payPolicy})
	viewer := n.signedIn(n.key("vera", "viewer", "default"))
	for path, want := range map[string]int{
		"/p/default/discovery": 200, "/p/default/discovery/scans/" + scan: 200, "/p/default/discovery/candidates/" + ids[0]: 200, "/p/default/discovery/exclusions": 200,
		"/p/default/discovery/new": 403, "/p/default/discovery/scans/00000000-0000-7000-8000-000000000001": 404, "/p/default/discovery/candidates/x": 404,
	} {
		a := viewer.get(path)
		if a.status != want {
			t.Errorf("%s: status %d, want %d", path, a.status, want)
		}
		for _, offer := range []string{`name="one"`, `name="do"`, "Decide on what is left", "Leave out</button>"} {
			if want == 200 && strings.Contains(a.body, offer) {
				t.Errorf("%s offers %s to a viewer", path, offer)
			}
		}
	}
	if a := viewer.decides(ids[0], "do", "dismiss"); a.status != http.StatusForbidden {
		t.Errorf("a viewer dismisses: %d", a.status)
	}
	stranger := n.signedIn(n.key("otto", "reviewer", "default"))
	if a := stranger.get("/p/other/discovery"); a.status != http.StatusNotFound {
		t.Errorf("another project: %d", a.status)
	}
}

// TestTriageByKeys goes through candidates without a mouse: a hundred would take a hundred keys.
func TestTriageByKeys(t *testing.T) {
	n := newNode(t, nil)
	var text strings.Builder
	text.WriteString("# Policy\n\n")
	for i := range 8 {
		fmt.Fprintf(&text, "Form %d of the %c series must be kept.\n\n", i, 'A'+i)
	}
	scan, ids := n.scanned("acme/pay", map[string]string{"docs/policy.md": text.String()})
	tab := browsertest.Open(t, n.url)
	tab.Open("/p/default/discovery/scans/" + scan + "/triage")
	now := func() string { return browsertest.Eval[string](tab, "location.pathname.split('/').at(-1)") }
	moves := func(about, key string) {
		t.Helper()
		if status := tab.PressTo(key); status != http.StatusOK {
			t.Errorf("%s: %d", about, status)
		}
	}
	if now() != ids[0] {
		t.Fatalf("triage begins at %s, want %s", now(), ids[0])
	}
	moves("next", "j")
	moves("back", "k")
	moves("approve", "a")
	if c := n.candidate(ids[0]); c.Status != wire.CandidateApproved || now() != ids[1] {
		t.Fatalf("approved by a: %+v", c)
	}
	tab.Press("e")
	if got := browsertest.Eval[string](tab, "document.activeElement.name"); got != "statement" {
		t.Errorf("e leads to %q", got)
	}
	tab.Press(kb.Escape)
	moves("dismiss", "d")
	if c := n.candidate(ids[1]); c.Status != wire.CandidateDismissed {
		t.Errorf("dismissed by d: %+v", c)
	}
	moves("take back", "u")
	if c := n.candidate(ids[1]); c.Status != wire.CandidateUndecided || now() != ids[1] {
		t.Errorf("taken back by u: %+v", c)
	}
	tab.Press("n")
	if got := browsertest.Eval[string](tab, "document.activeElement.name"); got != "never" {
		t.Errorf("n leads to %q", got)
	}
	tab.Press(kb.Escape)
	tab.Press("m")
	if got := browsertest.Eval[string](tab, "document.activeElement.value + document.activeElement.name"); !strings.HasPrefix(got, "merge ") && got != "into" {
		t.Errorf("m leads to %q", got)
	}
	if p := tab.Problems(); len(p) > 0 {
		t.Error(p)
	}
}
