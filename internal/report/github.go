package report

import (
	"bytes"
	"fmt"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// writeGitHub writes workflow commands, which GitHub Actions shows next to the lines they name. GitHub shows only the
// first ten errors and ten warnings of a step, so the most severe rules come first and verdicts without a place that
// share their reason are one command.
func writeGitHub(b *bytes.Buffer, e *rule.Evaluation, o Options) {
	f := sortFindings(e, o)
	for _, list := range [][]*rule.RuleVerdict{f.denied, f.open} {
		for _, group := range byReason(list) {
			annotate(b, group, o)
		}
	}
	for _, notice := range e.Notices {
		kind := "warning"
		switch {
		case rule.UnknownName(notice):
			kind = "notice"
		case e.OverallVerdict == rule.Deny || (e.OverallVerdict != rule.Allow && o.ConfirmFails):
			kind = "error"
		}
		command(b, kind, nil, "Tenet policy", cleanText(notice))
	}
	for _, v := range append(f.waived, f.known...) {
		why := "known from the base"
		if v.Waiver != nil {
			why = waiver(v.Waiver)
		}
		command(b, "notice", nil, clean(name(v))+" does not count", headline(v.RuleStatement, 200)+"\n"+cleanText(why))
	}
	lines := append([]string{string(e.OverallVerdict) + ": " + counts(f)}, account(e, o)...)
	for i, line := range lines {
		lines[i] = clean(line)
	}
	command(b, "notice", nil, "Tenet", strings.Join(lines, "\n"))
}

// annotate writes one command for each place of a verdict, or a single one if it has none.
func annotate(b *bytes.Buffer, group []*rule.RuleVerdict, o Options) {
	v := group[0]
	kind := annotation(v, o)
	if len(group) > 1 {
		message := cleanText(reason(v, o.Verbose))
		for _, v := range group {
			message += "\n- " + clean(name(v)) + ": " + headline(v.RuleStatement, 100)
		}
		command(b, kind, nil, fmt.Sprintf("%s: %s", clean(string(v.Verdict)), text.Plural(len(group), "rule")), message)
		return
	}
	message := cleanText(v.RuleStatement)
	for _, part := range append([]string{reason(v, o.Verbose)}, proof(v)...) {
		if strings.TrimSpace(part) != "" {
			message += "\n" + cleanText(part)
		}
	}
	if v.FixSuggestion != "" {
		message += "\nFix: " + cleanText(v.FixSuggestion)
	}
	title := clean(name(v)) + " " + clean(string(v.Severity))
	if len(v.Locations) == 0 {
		command(b, kind, nil, title, message)
	}
	for i := range v.Locations {
		command(b, kind, &v.Locations[i], title, message)
	}
}

// annotation returns the command for a verdict. Rules in shadow are reported and never fail a step.
func annotation(v *rule.RuleVerdict, o Options) string {
	switch {
	case v.Enforcement == rule.Shadow:
		return "notice"
	case v.Verdict == rule.Deny || o.ConfirmFails:
		return "error"
	}
	return "warning"
}

// GitHub's runner undoes these, and takes every other % literally.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// command writes one workflow command. It takes cleaned text, in which the only line ends are ours.
func command(b *bytes.Buffer, kind string, l *rule.Location, title, message string) {
	b.WriteString("::" + kind + " ")
	if l != nil {
		b.WriteString("file=" + escapeProperty.Replace(clean(l.FilePath)) + ",")
		if l.StartLine > 0 {
			fmt.Fprintf(b, "line=%d,endLine=%d,", l.StartLine, max(l.StartLine, l.EndLine))
		}
	}
	b.WriteString("title=" + escapeProperty.Replace(title) + "::" + escapeMessage.Replace(message) + "\n")
}
