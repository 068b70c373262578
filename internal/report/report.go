// Package report writes an evaluation for people and for the tools that they already have: a terminal, JSON, SARIF for
// code scanners, JUnit for build servers, workflow commands for GitHub Actions.
//
// Statements, paths and quoted lines come from rules, diffs and models, and any of them may be hostile. No format lets
// them leave their place: terminal controls, text direction marks and line ends are written as visible escapes.
package report

import (
	"bytes"
	"io"

	"tenet/internal/rule"
)

// Format names a way of writing an evaluation.
type Format string

// Formats that [Write] knows.
const (
	Text   Format = "text"   // for people
	JSON   Format = "json"   // the evaluation as the HTTP API answers it, indented
	SARIF  Format = "sarif"  // SARIF 2.1.0
	JUnit  Format = "junit"  // JUnit XML, one test case per rule
	GitHub Format = "github" // GitHub Actions workflow commands

	Markdown Format = "markdown" // the body of a comment on a pull request, of at most 65,536 characters
)

// Formats lists all formats.
var Formats = []Format{Text, JSON, SARIF, JUnit, GitHub, Markdown}

// Options select what is written. The zero value is plain text without passed rules.
type Options struct {
	// Color marks text up with ANSI colours; other formats never have any.
	Color bool
	// Version is the version of Tenet, for SARIF.
	Version string
	// Verbose lists passed rules too, and the reasoning behind every verdict, in text.
	Verbose bool
	// ConfirmFails is for callers that take NEEDS_CONFIRMATION as a failure: it is then an error in JUnit instead of a
	// skipped test, and an error in GitHub instead of a warning, so that these agree with the exit code.
	ConfirmFails bool
	// NotKept says that the record was thrown away, so that its id leads nowhere.
	NotKept bool
	// Files is the address of the files of the judged commit at a forge, for links to lines, such as https://github.com/acme/pay/blob/COMMIT; empty
	// without one.
	Files string
	// Server is the address of the server that has judged, for links to its console; empty without one.
	Server string
	// Rules are rules that gave verdicts, by id, for their rationale, sources and tags; those that are absent have none.
	Rules map[string]*rule.Rule
	// Known are verdicts of the evaluation that the base of the change has already: they are listed apart and are no findings.
	Known map[*rule.RuleVerdict]bool
}

// Write writes e to w in one piece. It fails with code invalid for an unknown format, and with the error of w.
func Write(w io.Writer, format Format, e *rule.Evaluation, o Options) error {
	var b bytes.Buffer
	var err error
	switch format {
	case Text:
		writeText(&b, e, o)
	case JSON:
		err = writeJSON(&b, e)
	case SARIF:
		err = writeSARIF(&b, e, o)
	case JUnit:
		err = writeJUnit(&b, e, o)
	case GitHub:
		writeGitHub(&b, e, o)
	case Markdown:
		writeMarkdown(&b, e, o)
	default:
		return rule.Errorf(rule.CodeInvalid, "unknown report format %q; use one of %s", string(format), rule.Names(Formats))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
