package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// longestText is how many characters of a statement or rationale a list of results shows.
const longestText = 500

// printBox shows what a search in one box has found, and how it was read if not as words alone.
func printBox(s *session, f wire.FoundRules) error {
	if slices.ContainsFunc(f.Reading, func(r wire.Reading) bool { return r.Kind != wire.ReadWords }) {
		says := make([]string, len(f.Reading))
		for i, r := range f.Reading {
			says[i] = line(r.Says)
		}
		s.note("read as: %s; --plain reads all of it as words", strings.Join(says, "; "))
	}
	return printFound(s, f.RuleSearchPage)
}

// printFound shows what a search has found.
func printFound(s *session, f wire.RuleSearchPage) error {
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
		printHeading(s, &b, &item.Rule)
		b.WriteString("  ")
		printMarked(s, &b, item.Rule.Statement, "statement", item.Highlights)
		if slices.ContainsFunc(item.Highlights, func(h wire.Highlight) bool { return h.Field == "rationale" }) {
			fmt.Fprintf(&b, "  %s ", s.dim("because"))
			printMarked(s, &b, item.Rule.Rationale, "rationale", item.Highlights)
		}
		if item.Reason != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim("matters"), line(item.Reason))
		}
		for _, m := range item.Matched {
			if m.Kind != "words" { // the words are marked in the text
				fmt.Fprintf(&b, "  %s\n", s.dim(line(m.Text)))
			}
		}
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return err
	}
	s.nextPage("rules", f.Page, f.PageSize, len(f.Items), f.Total)
	return nil
}

// printHeading writes the line above a rule's text.
func printHeading(s *session, b *strings.Builder, r *rule.Rule) {
	about := []string{string(r.Severity), string(r.Modality), string(r.Status)}
	if len(r.Scope) > 0 {
		about = append(about, strings.Join(r.Scope, ", "))
	}
	fmt.Fprintf(b, "%s  %s\n", s.bold(line(cmp.Or(r.Slug, r.ID))), s.dim(line(strings.Join(about, "  "))))
}

// printMarked writes a text with its highlighted places in colour.
func printMarked(s *session, b *strings.Builder, text, field string, places []wire.Highlight) {
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
func printConflicts(s *session, f wire.RuleConflicts) error {
	if len(f.Conflicts) == 0 {
		s.note("no conflict is known")
		return nil
	}
	var b strings.Builder
	for _, c := range f.Conflicts {
		printHeading(s, &b, &c.Rule)
		b.WriteString("  ")
		printMarked(s, &b, c.Rule.Statement, "", nil)
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
