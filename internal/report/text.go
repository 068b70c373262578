package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// textPlaces is how many locations of one verdict the text shows; it gives the number of the rest.
const textPlaces = 10

// ANSI colours.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[1;31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

// shortFingerprint is how many characters of a fingerprint people are shown: enough that no two violations of a project begin alike.
const shortFingerprint = 12

// ShortFingerprint returns the beginning of a fingerprint by which people name a violation; tenet waive takes it.
func ShortFingerprint(fingerprint string) string {
	return clean(fingerprint[:min(len(fingerprint), shortFingerprint)])
}

// textReport writes for people.
type textReport struct {
	*bytes.Buffer
	o Options
}

func writeText(b *bytes.Buffer, e *rule.Evaluation, o Options) {
	t := textReport{b, o}
	f := sortFindings(e, o)
	for _, group := range byReason(f.denied) {
		t.group(group)
	}
	for _, group := range byReason(f.open) {
		t.group(group)
	}
	t.set(f.waived, "waived")
	t.set(f.known, "known from the base")
	if o.Verbose {
		t.passed(f.passed, "")
		t.passed(f.beside, "not concerned")
	}
	t.summary(e, f, o)
}

// paint colours s. It takes only cleaned text, so that no text can end its colour early.
func (t textReport) paint(color, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return color + s + reset
}

// verdict writes a verdict in its colour. An unknown one counts as NEEDS_CONFIRMATION.
func (t textReport) verdict(v rule.Verdict) string {
	switch v {
	case rule.Allow:
		return t.paint(green, string(v))
	case rule.Deny:
		return t.paint(red, string(v))
	default:
		return t.paint(yellow, string(rule.NeedsConfirmation))
	}
}

// group writes verdicts that share their reason, or a single one with all that belongs to it.
func (t textReport) group(group []*rule.RuleVerdict) {
	v := group[0]
	if len(group) > 1 {
		t.heading(v, text.Plural(len(group), "rule"))
		t.reasons(v)
		for _, v := range group {
			fmt.Fprintf(t, "    %s  %s  %s\n", t.paint(bold, clean(name(v))), clean(string(v.Severity)), headline(v.RuleStatement, 100))
		}
		t.WriteByte('\n')
		return
	}
	t.heading(v, clean(name(v)), clean(string(v.Severity)))
	for _, line := range cleanLines(v.RuleStatement) {
		t.line("  ", line)
	}
	t.places(v)
	t.reasons(v)
	t.WriteByte('\n')
}

func (t textReport) heading(v *rule.RuleVerdict, about ...string) {
	note := ""
	switch {
	case v.Enforcement == rule.Shadow:
		note = "in shadow, not counted"
	case v.Enforcement == rule.Warn && v.Verdict == rule.NeedsConfirmation && v.DecidedBy != rule.ByNone:
		note = "under enforcement warn"
	}
	if note != "" {
		note = "  " + t.paint(faint, note)
	}
	fmt.Fprintf(t, "%s  %s%s\n", t.verdict(v.Verdict), t.paint(bold, strings.Join(about, "  ")), note)
}

func (t textReport) reasons(v *rule.RuleVerdict) {
	if !slices.Contains(rule.Verdicts, v.Verdict) {
		t.labelled("verdict", fmt.Sprintf("%q, which this version does not know", string(v.Verdict)))
	}
	t.labelled("why", reason(v, t.o.Verbose))
	t.labelled("evidence", strings.Join(proof(v), "\n"))
	t.labelled("fix", v.FixSuggestion)
	if v.Fingerprint != "" && v.Waiver == nil {
		t.labelled("fingerprint", ShortFingerprint(v.Fingerprint))
	}
	if t.o.Verbose {
		t.labelled("decided by", fmt.Sprintf("%s, confidence %.2f, rule version %d", v.DecidedBy, v.Confidence, v.RuleVersion))
	}
}

// labelled writes a text under a label, all its lines indented so that none can pass for a heading.
func (t textReport) labelled(label, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for i, line := range cleanLines(text) {
		if i == 0 {
			line = t.paint(faint, label+":") + " " + line
		} else {
			line = "  " + line
		}
		t.line("  ", line)
	}
}

func (t textReport) line(indent, s string) {
	if s != "" {
		t.WriteString(indent + s)
	}
	t.WriteByte('\n')
}

func (t textReport) places(v *rule.RuleVerdict) {
	for i := range v.Locations {
		if i == textPlaces {
			t.line("  ", "and "+text.Plural(len(v.Locations)-i, "more place"))
			return
		}
		l := &v.Locations[i]
		where := "--> " + t.paint(bold, clean(Place(l)))
		if l.FunctionName != "" {
			where += "  " + t.paint(faint, headline(l.FunctionName, 80))
		}
		t.line("  ", where)
		lines, more := excerpt(l, v.Evidence)
		for _, x := range lines {
			t.excerpt(x)
		}
		if more > 0 {
			t.line("  ", t.paint(faint, fmt.Sprintf("%6s | ", ""))+"and "+text.Plural(more, "more line"))
		}
	}
}

// excerpt writes a line of the subject behind its number and, where a part of it is marked, carets below.
func (t textReport) excerpt(x excerptLine) {
	text := x.text
	if x.to > 0 {
		r := []rune(text)
		text = string(r[:x.from]) + t.paint(red, string(r[x.from:x.to])) + string(r[x.to:])
	}
	t.line("  ", t.paint(faint, fmt.Sprintf("%6s |", x.number))+strings.TrimRight(" "+text, " "))
	if x.to > 0 {
		t.line("  ", t.paint(faint, fmt.Sprintf("%6s | ", ""))+strings.Repeat(" ", x.from)+t.paint(red, strings.Repeat("^", x.to-x.from)))
	}
}

// passed lists verdicts that are ALLOW, a line for each, with a note before the statement.
func (t textReport) passed(list []*rule.RuleVerdict, note string) {
	if note != "" {
		note = t.paint(faint, note) + "  "
	}
	for _, v := range list {
		fmt.Fprintf(t, "%s  %s  %s  %s%s\n", t.verdict(v.Verdict), t.paint(bold, clean(name(v))), clean(string(v.Severity)), note, headline(v.RuleStatement, 100))
	}
	if len(list) > 0 {
		t.WriteByte('\n')
	}
}

// set lists denials that do not count, a line for each.
func (t textReport) set(list []*rule.RuleVerdict, note string) {
	for _, v := range list {
		if v.Waiver != nil {
			note = waiver(v.Waiver)
		}
		fmt.Fprintf(t, "%s  %s  %s  %s  %s\n", t.verdict(v.Verdict), t.paint(bold, clean(name(v))), clean(string(v.Severity)),
			t.paint(faint, headline(note, 160)), headline(v.RuleStatement, 100))
	}
	if len(list) > 0 {
		t.WriteByte('\n')
	}
}

func (t textReport) summary(e *rule.Evaluation, f findings, o Options) {
	if len(e.RuleVerdicts) == 0 {
		fmt.Fprintf(t, "%s  no rule was selected for this subject\n", t.verdict(e.OverallVerdict))
	} else {
		fmt.Fprintf(t, "%s  %s\n", t.verdict(e.OverallVerdict), counts(f))
	}
	for _, line := range account(e, o) {
		t.line("", t.paint(faint, clean(line)))
	}
}
