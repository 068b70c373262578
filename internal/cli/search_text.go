package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/search"
)

// longestText is how many characters of a statement or rationale a list of results shows.
const longestText = 500

// printFound shows what a search has found.
func (s *session) printFound(f client.Found) error {
	if f.Degraded != nil {
		s.note("%s", line(f.Degraded.Reason))
	}
	if len(f.Items) == 0 {
		if f.Total > 0 {
			s.note("there is no page %d; %d rules are found", f.Page, f.Total)
		} else {
			s.note("no rule is found")
		}
		return nil
	}
	var b strings.Builder
	for _, item := range f.Items {
		s.heading(&b, &item.Rule)
		b.WriteString("  ")
		s.marked(&b, item.Rule.Statement, "statement", item.Highlights)
		if slices.ContainsFunc(item.Highlights, func(h search.Highlight) bool { return h.Field == "rationale" }) {
			fmt.Fprintf(&b, "  %s ", s.dim("because"))
			s.marked(&b, item.Rule.Rationale, "rationale", item.Highlights)
		}
		if item.Reason != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim("matters"), line(item.Reason))
		}
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return err
	}
	if shown := (f.Page-1)*f.PageSize + len(f.Items); shown < f.Total {
		s.note("%d of %d rules; --page %d shows more", shown, f.Total, f.Page+1)
	}
	return nil
}

// heading is the line above a rule's text.
func (s *session) heading(b *strings.Builder, r *rule.Rule) {
	about := []string{string(r.Severity), string(r.Modality), string(r.Status)}
	if len(r.Scope) > 0 {
		about = append(about, strings.Join(r.Scope, ", "))
	}
	fmt.Fprintf(b, "%s  %s\n", s.bold(line(label(r.Slug, r.ID))), s.dim(line(strings.Join(about, "  "))))
}

// marked writes a text with its highlighted places in colour.
func (s *session) marked(b *strings.Builder, text, field string, places []search.Highlight) {
	runes := []rune(line(text))
	rest := ""
	if len(runes) > longestText {
		runes, rest = runes[:longestText], "…"
	}
	at := 0
	for _, h := range places {
		from, to := max(h.Start, at), min(h.End, len(runes))
		if h.Field != field || from >= to {
			continue
		}
		b.WriteString(string(runes[at:from]) + s.style("1;33", string(runes[from:to])))
		at = to
	}
	b.WriteString(string(runes[at:]) + rest + "\n")
}

// printConflicts shows the rules that conflict with one.
func (s *session) printConflicts(f client.Conflicts) error {
	if len(f.Conflicts) == 0 {
		s.note("no conflict is known")
		return nil
	}
	var b strings.Builder
	for _, c := range f.Conflicts {
		s.heading(&b, &c.Rule)
		b.WriteString("  ")
		s.marked(&b, c.Rule.Statement, "", nil)
		noted := "since " + c.DetectedAt.Format("2006-01-02")
		if c.Reason != "" {
			noted = line(c.Reason) + ", " + noted
		}
		word := "conflicts"
		if c.State == "suggested" {
			word, noted = "may conflict", fmt.Sprintf("%s (%s, confidence %.2f)", noted, c.ConflictID, c.Confidence)
		}
		fmt.Fprintf(&b, "  %s %s\n", s.yellow(word), noted)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
