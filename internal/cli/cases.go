package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// casesCommands are `tenet cases ...`.
type casesCommands struct {
	List     casesListCommand     `cmd:"" help:"List the test cases of a rule."`
	Generate casesGenerateCommand `cmd:"" help:"Let the model write test cases for a rule."`
	Confirm  casesConfirmCommand  `cmd:"" help:"Stand by test cases that the model has written."`
	Delete   casesDeleteCommand   `cmd:"" help:"Delete test cases of a rule."`
}

// Help is the long help of the commands.
func (casesCommands) Help() string {
	return `What the model writes counts for nothing until a person stands by it:

    tenet cases generate PY-1
    tenet cases list PY-1
    tenet cases confirm PY-1 --all
    tenet test PY-1`
}

type casesListCommand struct {
	Rule   string `arg:"" help:"Id or slug of the rule."`
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Run lists test cases.
func (k *casesListCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, readsData, func(c *client.Client) error {
		list, err := c.TestCases(ctx, k.Rule)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, list)
		}
		if len(list) == 0 {
			s.note("%s has no test cases", k.Rule)
			return nil
		}
		t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "CASE\tNAME\tORIGIN\tEXPECTED\tLATEST RESULT")
		for i := range list {
			one := &list[i]
			origin, result := one.Origin, string(one.LastResult)
			if !one.Confirmed {
				origin += ", unconfirmed"
			}
			if one.Stale {
				result += " (stale)"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", one.ID, line(one.Name), origin, one.ExpectedVerdict, result)
		}
		return t.Flush()
	})
}

type casesGenerateCommand struct {
	Rule  string `arg:"" help:"Id or slug of the rule."`
	Count int    `default:"6" help:"How many, 1 to 50; half of them break the rule."`
}

// Run has test cases written.
func (k *casesGenerateCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, needsData, func(c *client.Client) error {
		done := s.progress("writing test cases")
		list, err := c.GenerateTestCases(ctx, k.Rule, k.Count)
		done()
		if err != nil {
			return err
		}
		for i := range list {
			if _, err := fmt.Fprintf(s.out, "%s  %s  %s\n", list[i].ID, list[i].ExpectedVerdict, line(list[i].Name)); err != nil {
				return err
			}
		}
		s.note("look at them with `tenet cases list %s --format json`, and confirm those that are right", k.Rule)
		return nil
	})
}

// chosenCases names test cases of a rule.
type chosenCases struct {
	Rule  string   `arg:"" help:"Id or slug of the rule."`
	Cases []string `arg:"" optional:"" name:"case" help:"Ids of test cases."`
	All   bool     `help:"All unconfirmed test cases of the rule."`
}

// each calls fn with the ids.
func (k *chosenCases) each(ctx context.Context, c *client.Client, fn func(id string) error) (int, error) {
	ids := k.Cases
	switch {
	case k.All && len(ids) > 0:
		return 0, errors.New("--all goes without ids")
	case k.All:
		list, err := c.TestCases(ctx, k.Rule)
		if err != nil {
			return 0, err
		}
		for i := range list {
			if !list[i].Confirmed {
				ids = append(ids, list[i].ID)
			}
		}
	case len(ids) == 0:
		return 0, rule.Errorf(rule.CodeInvalid, "name test cases by their ids, or give --all")
	}
	for i, id := range ids {
		if err := fn(id); err != nil {
			return i, err
		}
	}
	return len(ids), nil
}

type casesConfirmCommand struct{ chosenCases }

// Run confirms test cases.
func (k *casesConfirmCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		n, err := k.each(ctx, c, func(id string) error {
			_, err := c.ConfirmTestCase(ctx, k.Rule, id)
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s confirmed\n", amount(n, "case"))
		return err
	})
}

type casesDeleteCommand struct{ chosenCases }

// Run deletes test cases.
func (k *casesDeleteCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		n, err := k.each(ctx, c, func(id string) error { return c.DeleteTestCase(ctx, k.Rule, id) })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s deleted\n", amount(n, "case"))
		return err
	})
}
