package cli

import (
	"context"
	"errors"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// casesCommands are `tenet cases ...`.
type casesCommands struct {
	List     casesListCommand     `cmd:"" data:"read" help:"List the test cases of a rule."`
	Generate casesGenerateCommand `cmd:"" data:"make" help:"Let the model write test cases for a rule."`
	Confirm  casesConfirmCommand  `cmd:"" help:"Confirm test cases that the model has written."`
	Delete   casesDeleteCommand   `cmd:"" help:"Delete test cases of a rule."`
}

func (casesCommands) Help() string {
	return `Test cases that the model writes do not count until a person confirms them:

    tenet cases generate PY-1
    tenet cases list PY-1
    tenet cases confirm PY-1 --all
    tenet test PY-1`
}

type casesListCommand struct {
	Rule string `arg:"" help:"Id or slug of the rule."`
	output
}

func (k *casesListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	cases, err := client.Get(ctx, c, op.ListTestCases.At(k.Rule))
	return show(s, k.output, cases, err, func(s *session, cases []wire.Case) error {
		return list(s, k.Rule+" has no test cases", "CASE\tNAME\tORIGIN\tEXPECTED\tLATEST RESULT", cases, caseRow)
	})
}

func caseRow(c *wire.Case) []any {
	origin, result := c.Origin, string(c.Result())
	if !c.Confirmed {
		origin += ", unconfirmed"
	}
	if c.Stale {
		result += " (stale)"
	}
	return []any{c.ID, c.Name, origin, c.ExpectedVerdict, result}
}

type casesGenerateCommand struct {
	Rule  string `arg:"" help:"Id or slug of the rule."`
	Count int    `default:"6" help:"How many, 1 to 50; half of them break the rule."`
	output
}

func (k *casesGenerateCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	done := s.progress("writing test cases")
	list, err := client.Call(ctx, c, op.GenerateTestCases.At(k.Rule), wire.GenerateCases{Count: &k.Count})
	done()
	err = show(s, k.output, list, err, func(s *session, list []wire.Case) error {
		for i := range list {
			if _, err := fmt.Fprintf(s.out, "%s  %s  %s\n", list[i].ID, list[i].ExpectedVerdict, line(list[i].Name)); err != nil {
				return err
			}
		}
		s.note("look at them with `tenet cases list %s --format json`, and confirm those that are right", k.Rule)
		return nil
	})
	if err == nil {
		noteAddress(s, "", "rules", k.Rule)
	}
	return err
}

// chosenCases names test cases of a rule.
type chosenCases struct {
	Rule  string   `arg:"" help:"Id or slug of the rule."`
	Cases []string `arg:"" optional:"" name:"case" help:"Ids of test cases."`
	All   bool     `help:"All unconfirmed test cases of the rule."`
	output
}

// each calls fn with the ids.
func (k *chosenCases) each(ctx context.Context, c *client.Client, fn func(id string) error) error {
	ids := k.Cases
	switch {
	case k.All && len(ids) > 0:
		return errors.New("--all goes without ids")
	case k.All:
		list, err := client.Get(ctx, c, op.ListTestCases.At(k.Rule))
		if err != nil {
			return err
		}
		for i := range list {
			if !list[i].Confirmed {
				ids = append(ids, list[i].ID)
			}
		}
	case len(ids) == 0:
		return rule.Errorf(rule.CodeInvalid, "name test cases by their ids, or give --all")
	}
	for _, id := range ids {
		if err := fn(id); err != nil {
			return err
		}
	}
	return nil
}

type casesConfirmCommand struct{ chosenCases }

func (k *casesConfirmCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	confirmed := []wire.Case{}
	err := k.each(ctx, c, func(id string) error {
		one, err := client.Get(ctx, c, op.ConfirmTestCase.At(k.Rule, id))
		if err == nil {
			confirmed = append(confirmed, one)
		}
		return err
	})
	return show(s, k.output, confirmed, err, func(s *session, confirmed []wire.Case) error {
		_, err := fmt.Fprintf(s.out, "%s confirmed\n", amount(len(confirmed), "case"))
		return err
	})
}

type casesDeleteCommand struct{ chosenCases }

func (k *casesDeleteCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	gone := []ended{}
	err := k.each(ctx, c, func(id string) error {
		err := client.Run(ctx, c, op.DeleteTestCase.At(k.Rule, id))
		if err == nil {
			gone = append(gone, ended{"test_case", id, "deleted"})
		}
		return err
	})
	return show(s, k.output, gone, err, func(s *session, gone []ended) error {
		_, err := fmt.Fprintf(s.out, "%s deleted\n", amount(len(gone), "case"))
		return err
	})
}
