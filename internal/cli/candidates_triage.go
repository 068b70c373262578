package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// printCandidateDetail shows a candidate for people, with the lines of its source; those that it rests on are marked.
func printCandidateDetail(s *session, c *wire.CandidateDetail) error {
	if err := printCandidate(s, &c.Candidate); err != nil {
		return err
	}
	var b strings.Builder
	for i, l := range c.Excerpt.Lines {
		n := c.Excerpt.FirstLine + i
		mark := " "
		if n >= c.SourceLine && n <= c.SourceEndLine {
			mark = ">"
		}
		fmt.Fprintf(&b, "  %s %5d  %s\n", mark, n, strings.TrimRight(line(l), " "))
	}
	for _, m := range c.Merged {
		fmt.Fprintf(&b, "  merged: %s  %s\n", line(m.Statement), m.CandidateID)
	}
	for _, a := range c.Alike {
		fmt.Fprintf(&b, "  alike (%.2f): %s  %s  %s\n", a.Similarity, line(a.Statement), placeOf(a.SourceFile, a.SourceLine), a.CandidateID)
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

type candidatesMergeCommand struct {
	Candidates []string `arg:"" help:"Ids of candidates."`
	Into       string   `required:"" placeholder:"RULE" help:"Rule, by id or short name; with --candidate, the id of a candidate."`
	Candidate  bool     `help:"--into names a candidate that waits for a decision."`
	output
}

func (candidatesMergeCommand) Help() string {
	return `For candidates that say what a rule says already. The rule gets the places that they were found in as its sources:

    tenet candidates merge 0199... --into SEC-003
    tenet candidates merge 0199... --into 0199... --candidate    # what is decided of that one holds for both`
}

func (k *candidatesMergeCommand) Run(ctx context.Context, s *session) error {
	body := wire.MergeCandidate{RuleID: k.Into}
	if k.Candidate {
		body = wire.MergeCandidate{CandidateID: k.Into}
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return eachCandidate(s, k.output, k.Candidates, func(id string) (wire.Decided, error) { return client.Call(ctx, c, op.MergeCandidate.At(id), body) })
	})
}

type candidatesReopenCommand struct {
	Candidates []string `arg:"" help:"Ids of candidates."`
	output
}

func (candidatesReopenCommand) Help() string {
	return `The candidates wait for a decision again, and later scans find them. The rule of an approved one is retired, if nobody has changed it
since and it is not in force:

    tenet candidates reopen 0199...`
}

func (k *candidatesReopenCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return eachCandidate(s, k.output, k.Candidates, func(id string) (wire.Decided, error) { return client.Get(ctx, c, op.ReopenCandidate.At(id)) })
	})
}

// eachCandidate decides on candidates one by one; one that fails holds up no other.
func eachCandidate(s *session, o output, ids []string, one func(id string) (wire.Decided, error)) error {
	return (&chosen{Candidates: ids, output: o}).each(s, one, nil)
}

type candidatesNeverFromCommand struct {
	Path       string `arg:"" help:"Folder or file, relative to the root of the repository."`
	Repository string `placeholder:"NAME" help:"Repository, as its scans name it; default is every one of the project."`
	Reason     string `placeholder:"TEXT" help:"Why."`
	output
}

func (candidatesNeverFromCommand) Help() string {
	return `Later scans leave the folder out. Its candidates that wait for a decision, and were found nowhere else, are dismissed:

    tenet candidates never-from docs/manual --repository acme/payments --reason "the manual of the product"
    tenet candidates exclusions      # what is left out
    tenet candidates lift 0199...    # no longer`
}

func (k *candidatesNeverFromCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		made, err := client.Call(ctx, c, op.CreateExclusion, wire.CreateExclusion{Path: k.Path, Repository: k.Repository, Reason: k.Reason})
		return show(s, k.output, &made, err, func(s *session, e *wire.ExclusionMade) error {
			s.note("scans of %s leave out %s from now on; %d candidates were dismissed", cmp.Or(line(e.Repository), "every repository"), line(e.Path), e.Dismissed)
			_, err := fmt.Fprintln(s.out, e.ID)
			return err
		})
	})
}

type candidatesExclusionsCommand struct {
	Page int `default:"1" help:"Page of the list, from 1."`
	limit
	output
}

func (k *candidatesExclusionsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	page, err := client.Get(ctx, c, op.ListExclusions.Where(wire.PageQuery{Page: k.Page, PageSize: k.Limit}))
	return show(s, k.output, page, err, func(s *session, page wire.Page[wire.Exclusion]) error {
		if err := printExclusions(s, page.Items); err != nil {
			return err
		}
		s.nextPage("exclusions", k.Page, k.Limit, len(page.Items), page.Total)
		return nil
	})
}

func printExclusions(s *session, exclusions []wire.Exclusion) error {
	return list(s, "scans leave nothing out", "EXCLUSION\tREPOSITORY\tPATH\tSINCE\tBY\tREASON", exclusions, func(e *wire.Exclusion) []any {
		return []any{e.ID, cmp.Or(e.Repository, "*"), e.Path, e.CreatedAt.Format(time.DateTime), e.CreatedBy, e.Reason}
	})
}

// liftedExclusion is an exclusion that no scan heeds any more.
type liftedExclusion struct {
	ID string `json:"id"`
	wire.Lifted
}

type candidatesLiftCommand struct {
	Exclusions []string `arg:"" help:"Ids of exclusions, as exclusions lists them."`
	output
}

func (k *candidatesLiftCommand) Run(ctx context.Context, s *session) error {
	failed := false
	made := []liftedExclusion{}
	err := s.with(ctx, keepsData, func(c *client.Client) error {
		for _, id := range k.Exclusions {
			lifted, err := client.Get(ctx, c, op.DeleteExclusion.At(id))
			if rule.CodeOf(err) == rule.CodeNotFound {
				failed = true
				printError(s, err)
				continue
			}
			if err != nil {
				return err
			}
			made = append(made, liftedExclusion{id, lifted})
			if !k.json() {
				s.note("%s is lifted; %d candidates wait for a decision again", id, lifted.Reopened)
			}
		}
		if k.json() {
			return printJSON(s.out, made)
		}
		return nil
	})
	if err == nil && failed {
		return exit(exitFailed)
	}
	return err
}
