package report_test

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"tenet/internal/report"
	"tenet/internal/rule"
)

func TestJSONIsTheEvaluation(t *testing.T) {
	var got rule.Evaluation
	if err := json.Unmarshal([]byte(write(t, report.JSON, sample(), report.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), &got); diff != "" {
		t.Errorf("the evaluation does not survive (-want +got)\n%s", diff)
	}
}

// readSARIF validates a report against the official schema and checks that reading it lost nothing, which would mean
// that something in it had been looked at by no one.
func readSARIF(t testing.TB, text string) *sarif.Run {
	t.Helper()
	doc, err := sarif.FromString(text, sarif.WithStrictValidation())
	if err != nil {
		t.Fatalf("not readable as SARIF: %v\n%s", err, text)
	}
	if err := doc.Validate(); err != nil {
		t.Fatalf("not valid against the SARIF schema: %v\n%s", err, text)
	}
	again, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if json.Unmarshal([]byte(text), &want) != nil || json.Unmarshal(again, &got) != nil {
		t.Fatalf("not JSON:\n%s", text)
	}
	withoutIndexes(want)
	withoutIndexes(got) // the library reads absent ones as 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("validation did not see the whole report (-report +seen)\n%s", diff)
	}
	if len(doc.Runs) != 1 {
		t.Fatalf("%d runs, want 1", len(doc.Runs))
	}
	return doc.Runs[0]
}

func withoutIndexes(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"index", "id", "byteOffset", "charOffset", "rank"} {
			if v[key] == 0.0 {
				delete(v, key)
			}
		}
		for _, inner := range v {
			withoutIndexes(inner)
		}
	case []any:
		for _, inner := range v {
			withoutIndexes(inner)
		}
	}
}

func TestSARIF(t *testing.T) {
	run := readSARIF(t, write(t, report.SARIF, sample(), report.Options{Version: "1.2.3"}))
	if name, version := *run.Tool.Driver.Name, *run.Tool.Driver.Version; name != "tenet" || version != "1.2.3" {
		t.Errorf("tool is %s %s, want tenet 1.2.3", name, version)
	}
	if n := len(run.Tool.Driver.Rules); n != 8 {
		t.Errorf("%d rules are described, want all 8, passed ones too", n)
	}
	severity := map[string]any{}
	for _, r := range run.Tool.Driver.Rules {
		severity[*r.ID] = r.Properties.Properties["security-severity"]
	}
	if severity["FIN-001"] != "9.5" || severity["PY-003"] != "8.0" || severity["DOC-001"] != "5.5" || severity["GO-009"] != "3.0" {
		t.Errorf("security-severity by rule is %v", severity)
	}
	levels := map[string][]string{}
	for _, r := range run.Results {
		id := *run.Tool.Driver.Rules[r.RuleIndex].ID
		if id != *r.RuleID {
			t.Errorf("a result of %s points at the description of %s", *r.RuleID, id)
		}
		if len(r.Locations) != 1 {
			t.Errorf("a result of %s has %d locations; code scanners take one", id, len(r.Locations))
		}
		suppressed := ""
		if len(r.Suppressions) > 0 {
			suppressed = " suppressed"
		}
		levels[id] = append(levels[id], r.Level+suppressed)
	}
	want := map[string][]string{
		"PY-003": {"error", "error"}, "FIN-001": {"error"}, "GO-009": {"note suppressed"}, "DOC-001": {"warning"},
		"DOC-002": {"warning"}, "00000000-0000-4000-8000-000000000006": {"warning"},
	}
	if diff := cmp.Diff(want, levels); diff != "" {
		t.Errorf("levels of results by rule (-want +got)\n%s", diff)
	}
	first := run.Results[0].Locations[0].PhysicalLocation
	if *first.ArtifactLocation.URI != "app/main.py" || *first.Region.StartLine != 12 || *first.Region.Snippet.Text != "\tvalue = eval(text)" {
		t.Errorf("the first result is at %s:%d", *first.ArtifactLocation.URI, *first.Region.StartLine)
	}
	var notes []string
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		notes = append(notes, *n.Message.Text)
	}
	if diff := cmp.Diff([]string{"Not examined: assets/logo.png: the file is binary", "4 rules beyond max_rules not judged."}, notes); diff != "" {
		t.Errorf("notifications (-want +got)\n%s", diff)
	}
}

func fingerprints(t *testing.T, e *rule.Evaluation) (list []string) {
	t.Helper()
	for _, r := range readSARIF(t, write(t, report.SARIF, e, report.Options{})).Results {
		if len(r.PartialFingerprints) != 1 {
			t.Fatalf("fingerprints are %v, want one", r.PartialFingerprints)
		}
		for _, f := range r.PartialFingerprints {
			list = append(list, f)
		}
	}
	return list
}

func TestFingerprintsOutliveLineShifts(t *testing.T) {
	before := fingerprints(t, sample())
	moved := sample()
	for i := range moved.RuleVerdicts {
		v := &moved.RuleVerdicts[i]
		v.RuleID = strings.Replace(v.RuleID, "4000", "4001", 1) // another corpus, seeded with the same rules
		if v.RuleSlug == "" {
			v.RuleSlug = sample().RuleVerdicts[i].RuleID
		}
		v.RuleVersion++
		for j := range v.Locations {
			v.Locations[j].StartLine += 100
			v.Locations[j].EndLine += 100
			v.Locations[j].Snippet = "  " + v.Locations[j].Snippet
		}
	}
	if diff := cmp.Diff(before, fingerprints(t, moved)); diff != "" {
		t.Errorf("fingerprints change when lines move (-before +after)\n%s", diff)
	}
	seen := map[string]bool{}
	for _, f := range before {
		if seen[f] {
			t.Errorf("two results share the fingerprint %s", f)
		}
		seen[f] = true
	}
	other := sample()
	other.RuleVerdicts[0].Locations[0].Snippet = "value = eval(more)"
	if after := fingerprints(t, other); after[0] == before[0] || after[1] != before[1] {
		t.Errorf("a change of one snippet changes %v to %v", before[:2], after[:2])
	}
}

func TestFingerprintsTellRepeatsApart(t *testing.T) {
	e := one(rule.Location{FilePath: "a", StartLine: 1, EndLine: 1, Snippet: "x"})
	e.RuleVerdicts[0].Locations = append(e.RuleVerdicts[0].Locations, rule.Location{FilePath: "a", StartLine: 9, EndLine: 9, Snippet: "x"})
	if f := fingerprints(t, e); len(f) != 2 || f[0] == f[1] {
		t.Errorf("fingerprints of the same line twice are %v, want two that differ", f)
	}
}

func TestSARIFPathsStayPaths(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"a/b.go", "a/b.go"},
		{"a b/ü.go", "a%20b/%C3%BC.go"},
		{"javascript:alert(1)", "javascript%3Aalert%281%29"},
		{"https://example.org/x", "https%3A//example.org/x"},
		{"//host/share", "file:///host/share"},
		{"/etc/passwd", "file:///etc/passwd"},
		{"a?b#c%d", "a%3Fb%23c%25d"},
		{"a\x00\xff", "a%00%EF%BF%BD"},
		{"", "subject"},
	} {
		run := readSARIF(t, write(t, report.SARIF, one(rule.Location{FilePath: tt.path, StartLine: 1, EndLine: 1}), report.Options{}))
		got := *run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI
		u, err := url.Parse(got)
		if err != nil || got != tt.want || u.Host != "" || (u.Scheme != "" && u.Scheme != "file") {
			t.Errorf("path %q becomes the URI %q (%v), want %q", tt.path, got, err, tt.want)
		}
	}
}

// junit reads back what a build server would.
type junit struct {
	Suites []struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			File    string    `xml:"file,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	for _, tt := range []struct {
		confirmFails bool
		outcome      string // of each rule in order: pass, fail, error, skip
		counts       [4]int // tests, failures, errors, skipped
	}{
		{false, "fail fail skip skip skip skip pass pass", [4]int{8, 2, 0, 4}},
		{true, "fail fail skip error error error pass pass", [4]int{8, 2, 3, 1}},
	} {
		var doc junit
		if err := xml.Unmarshal([]byte(write(t, report.JUnit, sample(), report.Options{ConfirmFails: tt.confirmFails})), &doc); err != nil {
			t.Fatal(err)
		}
		s := doc.Suites[0]
		if got := [4]int{s.Tests, s.Failures, s.Errors, s.Skipped}; got != tt.counts {
			t.Errorf("ConfirmFails %v: tests, failures, errors, skipped are %v, want %v", tt.confirmFails, got, tt.counts)
		}
		var outcome []string
		for _, c := range s.Cases {
			switch {
			case c.Failure != nil:
				outcome = append(outcome, "fail")
			case c.Error != nil:
				outcome = append(outcome, "error")
			case c.Skipped != nil:
				outcome = append(outcome, "skip")
			default:
				outcome = append(outcome, "pass")
			}
		}
		if got := strings.Join(outcome, " "); got != tt.outcome {
			t.Errorf("ConfirmFails %v: outcomes are %s, want %s", tt.confirmFails, got, tt.outcome)
		}
		if s.Cases[0].Name != "PY-003: Do not run text as code." || s.Cases[0].File != "app/main.py" {
			t.Errorf("the first case is %q in %q", s.Cases[0].Name, s.Cases[0].File)
		}
	}
}

// workflowCommand is a line as GitHub's runner reads it.
var workflowCommand = regexp.MustCompile(`^::(error|warning|notice) ([^:]*)::(.*)$`)

// readGitHub splits a report into commands as the runner does, and undoes the escapes.
func readGitHub(t testing.TB, text string) (commands []map[string]string) {
	t.Helper()
	property := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	message := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	for l := range strings.Lines(text) {
		m := workflowCommand.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			t.Fatalf("a line is no workflow command: %q", l)
		}
		c := map[string]string{"kind": m[1], "message": message.Replace(m[3])}
		for p := range strings.SplitSeq(m[2], ",") {
			key, value, _ := strings.Cut(p, "=")
			c[key] = property.Replace(value)
		}
		commands = append(commands, c)
	}
	return commands
}

func TestGitHub(t *testing.T) {
	commands := readGitHub(t, write(t, report.GitHub, sample(), report.Options{}))
	kinds := ""
	for _, c := range commands {
		kinds += c["kind"] + " "
	}
	// FIN-001, two places of PY-003, GO-009 in shadow, the rule under warn, the DOC rules together, the summary.
	if want := "error error error notice warning warning notice "; kinds != want {
		t.Errorf("commands are %s, want %s", kinds, want)
	}
	want := map[string]string{
		"kind": "error", "file": "app/main.py", "line": "30", "endLine": "31", "title": "PY-003 HIGH",
		"message": "Do not run text as code.\neval runs any text as code.\nFix: Parse the text, for example with ast.literal_eval.",
	}
	if diff := cmp.Diff(want, commands[2]); diff != "" {
		t.Errorf("the second place of PY-003 (-want +got)\n%s", diff)
	}
	if last := commands[len(commands)-1]; !strings.HasPrefix(last["message"], "DENY: 3 violated, 3 to be confirmed, 2 passed (1 in shadow, not counted)\n") {
		t.Errorf("the summary is %q", last["message"])
	}
	for _, c := range readGitHub(t, write(t, report.GitHub, sample(), report.Options{ConfirmFails: true})) {
		if c["kind"] == "warning" {
			t.Errorf("a warning stands where NEEDS_CONFIRMATION fails: %v", c)
		}
	}
}
