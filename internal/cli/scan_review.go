package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/client"
	"tenet/internal/discover"
	"tenet/internal/rule"
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

// review asks about each candidate and does as it is told. Whatever is not an answer asks again; the end of the input quits.
func (s *session) review(ctx context.Context, c *client.Client, list []discover.Candidate) error {
	in := bufio.NewReaderSize(s.in, 4096)
	approved, dismissed := 0, 0
	defer func() {
		s.note("%d approved, %d dismissed, %d left", approved, dismissed, len(list)-approved-dismissed)
	}()
	for i := range list {
		candidate := &list[i]
		if err := s.printCandidate(candidate); err != nil {
			return err
		}
		answer, err := s.answer(in, fmt.Sprintf("%d of %d: make it a rule? [y]es, [n]o, [e]dit, [s]kip, [q]uit: ", i+1, len(list)), "ynesq")
		if err != nil || answer == "q" {
			return err
		}
		switch answer {
		case "n":
			if _, err = c.DismissCandidate(ctx, candidate.ID, ""); err == nil {
				dismissed++
			}
		case "y", "e":
			approval := discover.CandidateApproval{}
			if answer == "e" {
				approval.Statement, err = s.line(in, "statement (empty keeps it): ")
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
			}
			var done discover.Decided
			if done, err = c.ApproveCandidate(ctx, candidate.ID, approval); err == nil {
				approved++
				fmt.Fprintf(s.out, "  rule %s\n\n", done.RuleID)
			}
		}
		if code := rule.CodeOf(err); code == rule.CodeConflict || code == rule.CodeInvalid {
			s.tell(err) // of this one; the others go on
		} else if err != nil {
			return err
		}
	}
	return nil
}

// answer asks until one of some letters is given; the end of the input is q.
func (s *session) answer(in *bufio.Reader, question, letters string) (string, error) {
	for {
		text, err := s.line(in, question)
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

// line asks and reads a line.
func (s *session) line(in *bufio.Reader, question string) (string, error) {
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
func (s *session) printCandidate(c *discover.Candidate) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.bold(line(c.Statement)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.dim(fmt.Sprintf("%-11s", name)), line(value))
		}
	}
	m := &c.SuggestedMetadata
	row("id", c.ID)
	if c.Status != discover.Undecided {
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
		row(word, fmt.Sprintf("%s (%.2f): %s %s", label(r.Slug, r.RuleID), r.Similarity, r.Statement, r.Reason))
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
