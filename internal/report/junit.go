package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// JUnit XML in the form that build servers share. A DENY is a failure. A NEEDS_CONFIRMATION is a skipped test: nobody
// has found the rule broken, and nobody has found it kept; with [Options.ConfirmFails] it is an error. Rules in shadow
// are skipped tests with every verdict, unless they pass. A rule that does not concern the subject is a skipped test, and a
// policy that does not allow the evaluation, or a subject that no rule covers, is a test case of its own.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suite junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"` // seconds
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Output     junitOutput     `xml:"system-out"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitProblem `xml:"skipped"`
}

type junitOutput struct {
	Text string `xml:",cdata"` // cleaned, because character data of this kind is written unchanged
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"` // cleaned, as above
}

func writeJUnit(b *bytes.Buffer, e *rule.Evaluation, o Options) error {
	suite := junitSuite{
		Name: "tenet", Timestamp: e.Timestamp.UTC().Format("2006-01-02T15:04:05"), Properties: junitProperties(e),
	}
	for i := range e.RuleVerdicts {
		suite.add(&e.RuleVerdicts[i], o)
	}
	suite.addPolicy(e, o)
	suite.Time = strconv.FormatFloat(float64(e.TotalLatencyMS)/1000, 'f', 3, 64)
	lines := append([]string{string(e.OverallVerdict) + ": " + counts(sortFindings(e, o))}, account(e, o)...)
	for _, line := range lines {
		suite.Output.Text += clean(line) + "\n"
	}
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(b)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Name: "tenet", junitCounts: suite.junitCounts, Suite: suite}); err != nil {
		return fmt.Errorf("encode JUnit report: %w", err)
	}
	b.WriteByte('\n')
	return nil
}

func (s *junitSuite) add(v *rule.RuleVerdict, o Options) {
	c := junitCase{
		Class: "tenet." + clean(strings.ToLower(string(v.Severity))), Name: clean(name(v)) + ": " + headline(v.RuleStatement, 200),
		Time: "0",
	}
	if len(v.Locations) > 0 {
		c.File = clean(v.Locations[0].FilePath)
	}
	problem := &junitProblem{Message: headline(reason(v, o.Verbose), 500), Type: clean(string(v.Verdict)), Text: junitText(v, o)}
	s.Tests++
	switch {
	case v.Verdict == rule.Allow && v.Concerned:
	case v.Verdict == rule.Allow:
		problem.Message = strings.TrimSuffix("not concerned: "+problem.Message, ": ")
		c.Skipped = problem
		s.Skipped++
	case v.Waiver != nil:
		problem.Message = headline(waiver(v.Waiver), 500)
		c.Skipped = problem
		s.Skipped++
	case o.Known[v]:
		problem.Message = "known from the base: " + problem.Message
		c.Skipped = problem
		s.Skipped++
	case v.Enforcement == rule.Shadow:
		problem.Message = "in shadow, not counted: " + problem.Message
		c.Skipped = problem
		s.Skipped++
	case v.Verdict == rule.Deny:
		c.Failure = problem
		s.Failures++
	case o.ConfirmFails:
		c.Error = problem
		s.Errors++
	default:
		c.Skipped = problem
		s.Skipped++
	}
	if c.Skipped != nil {
		c.Skipped.Type = "" // the common schema knows none there
	}
	s.Cases = append(s.Cases, c)
}

// addPolicy adds a test case for what the project's policy makes of the evaluation, if it says anything.
func (s *junitSuite) addPolicy(e *rule.Evaluation, o Options) {
	if len(e.Notices) == 0 {
		return
	}
	c := junitCase{Class: "tenet.policy", Name: "the project's policy", Time: "0"}
	text := strings.Join(e.Notices, "\n")
	problem := &junitProblem{Message: headline(text, 500), Type: clean(string(e.OverallVerdict)), Text: cleanText(text)}
	s.Tests++
	switch {
	case e.Suspended != nil, e.Coverage.Uncovered == rule.UncoveredDeny:
		c.Failure = problem
		s.Failures++
	case o.ConfirmFails && (e.BelowFloor() || e.Coverage.Uncovered == rule.UncoveredConfirm):
		c.Error = problem
		s.Errors++
	default:
		problem.Type = ""
		c.Skipped = problem
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// junitText lists all locations and reasons of a verdict.
func junitText(v *rule.RuleVerdict, o Options) string {
	parts := []string{v.RuleStatement}
	for i := range v.Locations {
		parts = append(parts, clean(Place(&v.Locations[i])), v.Locations[i].Snippet)
	}
	parts = append(parts, reason(v, o.Verbose))
	parts = append(parts, proof(v)...)
	if v.FixSuggestion != "" {
		parts = append(parts, "Fix: "+v.FixSuggestion)
	}
	var b strings.Builder
	for _, part := range parts {
		if strings.TrimSpace(part) != "" {
			b.WriteString("\n" + cleanText(part))
		}
	}
	return b.String() + "\n"
}

func junitProperties(e *rule.Evaluation) []junitProperty {
	snapshot := ""
	if e.SnapshotID != nil {
		snapshot = *e.SnapshotID
	}
	return []junitProperty{
		{"evaluation_id", clean(e.EvaluationID)},
		{"project_id", clean(e.ProjectID)},
		{"overall_verdict", clean(string(e.OverallVerdict))},
		{"mode", clean(string(e.Mode))},
		{"corpus_version", strconv.FormatInt(e.CorpusVersion, 10)},
		{"snapshot_id", clean(snapshot)},
	}
}
