package report

import (
	"bytes"
	"fmt"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// Bounds of a comment, which says that it leaves something out.
const (
	maxComment  = 65_536 // characters that GitHub takes
	commentTail = 2_000  // of them, reserved for the end
	maxCell     = 300    // characters of one text
)

// Marker is at the top of a comment, so that the next run finds and replaces it.
const Marker = "<!-- tenet -->"

// writeMarkdown writes the body of a comment: the findings, most severe first, and the coverage. Every text is hostile, so
// all that Markdown or HTML could take for its own is escaped.
func writeMarkdown(b *bytes.Buffer, e *rule.Evaluation, o Options) {
	f := sortFindings(e, o)
	fmt.Fprintf(b, "%s\n### Tenet: %s\n\n%s: %s\n", Marker, heading(e, f), overall(e.OverallVerdict), escapeMarkdown(counts(f)))
	left := 0
	for _, section := range []struct {
		title string
		list  []*rule.RuleVerdict
	}{{"Violated", f.denied}, {"To be confirmed", f.open}, {"Waived", f.waived}, {"Known from the base", f.known}} {
		if len(section.list) == 0 {
			continue
		}
		var s strings.Builder
		fmt.Fprintf(&s, "\n#### %s\n\n", section.title)
		for _, v := range section.list {
			item := markdownItem(v, o.Files)
			if b.Len()+s.Len()+len(item) > maxComment-commentTail { // bytes, of which there are at least as many as characters
				left++
				continue
			}
			s.WriteString(item)
		}
		b.WriteString(s.String())
	}
	if left > 0 {
		fmt.Fprintf(b, "\nLeft out, because a comment has a limit: %s.\n", text.Plural(left, "finding"))
	}
	b.WriteString("\n")
	for _, line := range account(e, o) {
		if item := "<sub>" + markdownText(line) + "</sub>\n"; b.Len()+len(item) < maxComment {
			b.WriteString(item)
		}
	}
}

// overall names a verdict. An unknown one counts as NEEDS_CONFIRMATION.
func overall(v rule.Verdict) rule.Verdict {
	if known, ok := rule.Parse(string(v), rule.Verdicts); ok {
		return known
	}
	return rule.NeedsConfirmation
}

func heading(e *rule.Evaluation, f findings) string {
	switch {
	case e.EvaluationID == "" && len(e.RuleVerdicts) == 0:
		return "nothing to judge"
	case e.Suspended != nil:
		return "the agent is suspended"
	case len(f.denied) > f.shadow:
		return "rules are broken"
	case len(f.open) > 0:
		return "confirmation is needed"
	case e.OverallVerdict == rule.Deny:
		return "no rule covers this, and the project's policy denies it"
	case e.Coverage.Uncovered != "" && e.OverallVerdict == rule.Allow:
		return "no rule covers this"
	case e.Coverage.Uncovered != "" || e.BelowFloor():
		return "confirmation is needed"
	case e.OverallVerdict == rule.Allow || len(f.known) > 0:
		return "no new findings"
	}
	return "could not be judged"
}

func markdownItem(v *rule.RuleVerdict, files string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "- **%s** %s: %s", markdownText(name(v)), markdownText(string(v.Severity)), markdownText(v.RuleStatement))
	switch {
	case v.Waiver != nil:
		fmt.Fprintf(&s, " _%s_", markdownText(waiver(v.Waiver)))
	case v.Enforcement == rule.Shadow:
		s.WriteString(" _in shadow, not counted_")
	}
	s.WriteString("\n")
	for i := range v.Locations {
		if i == textPlaces {
			fmt.Fprintf(&s, "  - and %s\n", text.Plural(len(v.Locations)-i, "more place"))
			break
		}
		fmt.Fprintf(&s, "  - %s\n", markdownPlace(&v.Locations[i], files))
	}
	if why := reason(v, false); why != "" {
		fmt.Fprintf(&s, "  - %s\n", markdownText(why))
	}
	if v.FixSuggestion != "" {
		fmt.Fprintf(&s, "  - Fix: %s\n", markdownText(v.FixSuggestion))
	}
	return s.String()
}

// markdownPlace is a location, with a link to its lines if the address of the files is known.
func markdownPlace(l *rule.Location, files string) string {
	shown := markdownText(Place(l))
	uri := fileURI(l.FilePath)
	if files == "" || strings.HasPrefix(uri, "file:") || uri == wholeSubject || strings.HasPrefix(uri, "..") || strings.Contains(uri, "/../") {
		return shown
	}
	anchor := ""
	if l.StartLine > 0 {
		anchor = fmt.Sprintf("#L%d", l.StartLine)
	}
	return "[" + shown + "](<" + strings.TrimRight(files, "/") + "/" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(uri) + anchor + ">)"
}

// Inline writes a hostile text on one line of Markdown in which it means nothing, cut to so many characters.
func Inline(s string, longest int) string { return escapeMarkdown(Line(s, longest)) }

// markdownText is a hostile text on one line that means nothing to Markdown.
func markdownText(s string) string { return escapeMarkdown(Line(s, maxCell)) }

// escapeMarkdown escapes every ASCII mark, which Markdown allows for all of them; those of HTML, and those by which GitHub finds
// people, issues and addresses, become entities.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("<>&@#:", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r < 0x80 && strings.ContainsRune("\\`*_{}[]()+-.!|~$\"'=/^", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
