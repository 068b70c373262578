package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// folderName is the name of a folder.
func folderName(dir string) string {
	full, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	name := filepath.Base(full)
	if name == string(os.PathSeparator) || name == "." {
		return ""
	}
	return name
}

// maxAnswer bounds what is typed in answer to a question, in bytes.
const maxAnswer = 64 << 10

// review asks about each candidate and carries out the answer. Anything else asks again; the end of the input quits.
func review(ctx context.Context, s *session, c *client.Client, list []wire.Candidate) error {
	in := bufio.NewReaderSize(s.in, 4096)
	approved, dismissed := 0, 0
	defer func() {
		s.note("%d approved, %d dismissed, %d left", approved, dismissed, len(list)-approved-dismissed)
	}()
	for i := range list {
		candidate := &list[i]
		if err := printCandidate(s, candidate); err != nil {
			return err
		}
		answer, err := askLetter(s, in, fmt.Sprintf("%d of %d: make it a rule? [y]es, [n]o, [e]dit, [s]kip, [q]uit: ", i+1, len(list)), "ynesq")
		if err != nil || answer == "q" {
			return err
		}
		switch answer {
		case "n":
			if _, err = client.Call(ctx, c, op.DismissCandidate.At(candidate.ID), wire.DismissCandidate{Reason: ""}); err == nil {
				dismissed++
			}
		case "y", "e":
			approval := wire.CandidateApproval{}
			if answer == "e" {
				var statement string
				statement, err = askLine(s, in, "statement (empty keeps it): ")
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if statement != "" {
					approval.Statement = &statement
				}
			}
			var done wire.Decided
			if done, err = client.Call(ctx, c, op.ApproveCandidate.At(candidate.ID), approval); err == nil {
				approved++
				fmt.Fprintf(s.out, "  rule %s\n\n", done.RuleID)
			}
		}
		if code := rule.CodeOf(err); code == rule.CodeConflict || code == rule.CodeInvalid {
			printError(s, err) // of this one; the others go on
		} else if err != nil {
			return err
		}
	}
	return nil
}

// askLetter asks until one of some letters is given; the end of the input is q.
func askLetter(s *session, in *bufio.Reader, question, letters string) (string, error) {
	for {
		text, err := askLine(s, in, question)
		if errors.Is(err, io.EOF) {
			return "q", nil
		}
		if err != nil {
			return "", err
		}
		if text = strings.ToLower(text); text != "" && strings.Contains(letters, text[:1]) {
			return text[:1], nil
		}
	}
}

// askLine asks and reads a line.
func askLine(s *session, in *bufio.Reader, question string) (string, error) {
	fmt.Fprint(s.err, question)
	var b strings.Builder
	for {
		part, more, err := in.ReadLine()
		if err != nil {
			return "", err
		}
		if b.Len()+len(part) > maxAnswer {
			return "", errors.New("the answer is too long")
		}
		b.Write(part)
		if !more {
			return strings.TrimSpace(b.String()), nil
		}
	}
}

// printCandidate shows a candidate for people; what is empty is left out.
func printCandidate(s *session, c *wire.Candidate) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.bold(line(c.Statement)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-11s", name)), line(value))
		}
	}
	m := &c.SuggestedMetadata
	row("id", c.ID)
	if c.Status != wire.CandidateUndecided {
		row("status", strings.TrimSpace(string(c.Status)+" by "+c.DecidedBy+" "+c.RuleID+" "+c.Reason))
	}
	row("confidence", fmt.Sprintf("%.2f, %s", c.Confidence, c.Method))
	row("suggested", strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Modality, m.Severity, m.Scope)))
	row("tags", strings.Join(m.Tags, ", "))
	if m.AppliesTo != nil {
		row("paths", strings.Join(m.AppliesTo.Paths, ", "))
	}
	for _, e := range m.Exceptions {
		row("exception", e)
	}
	if m.Check != nil {
		text := m.Check.CEL
		if m.Check.Pattern != nil {
			text = m.Check.Pattern.Regex
		}
		row("check", text)
	}
	for _, p := range c.Places {
		row("place", strings.TrimSuffix(placeOf(p.SourceFile, p.SourceLine)+", "+p.Section, ", "))
		row("quote", strings.Join(strings.Fields(p.Quote), " "))
	}
	row("note", c.Note)
	for _, r := range c.SimilarRules {
		word := "like"
		if r.Contradicts {
			word = "contradicts"
		}
		row(word, fmt.Sprintf("%s (%.2f): %s %s", cmp.Or(r.Slug, r.RuleID), r.Similarity, r.Statement, r.Reason))
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
