package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Test is the outcome of one test case of a rule.
type Test struct {
	Rule   string        `json:"rule"`
	Name   string        `json:"name"`
	Passed bool          `json:"passed"`
	Want   string        `json:"want"`
	Got    string        `json:"got"`
	Reason string        `json:"reason,omitempty"`
	Took   time.Duration `json:"-"`
}

// WriteTests writes the outcomes of test cases as JUnit XML, in which every failed case is a failure.
func WriteTests(w io.Writer, tests []Test, took time.Duration) error {
	suite := junitSuite{Name: "tenet test"}
	for i := range tests {
		t := &tests[i]
		c := junitCase{Class: "tenet." + clean(t.Rule), Name: clean(t.Name), Time: seconds(t.Took)}
		suite.Tests++
		if !t.Passed {
			suite.Failures++
			message := "want " + t.Want + ", got " + t.Got
			c.Failure = &junitProblem{Message: headline(message, 500), Type: clean(t.Got), Text: "\n" + cleanText(t.Reason) + "\n"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = seconds(took)
	suite.Timestamp = time.Now().UTC().Format("2006-01-02T15:04:05")
	suite.Output.Text = fmt.Sprintf("%d cases, %d failed\n", suite.Tests, suite.Failures)
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Name: "tenet", junitCounts: suite.junitCounts, Suite: suite}); err != nil {
		return fmt.Errorf("encode JUnit report: %w", err)
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
