package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// projectsCommands are `tenet projects ...`.
type projectsCommands struct {
	List   projectsListCommand   `cmd:"" data:"read" help:"List projects."`
	Show   projectsShowCommand   `cmd:"" data:"read" help:"Show a project with its policy."`
	Create projectsCreateCommand `cmd:"" help:"Make a project."`
	Edit   projectsEditCommand   `cmd:"" help:"Change a project or its policy."`
}

type projectsListCommand struct {
	output
}

func (k *projectsListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	projects, err := client.All(ctx, c, op.ListProjects)
	return show(s, k.output, projects, err, func(s *session, projects []rule.Project) error {
		return list(s, "there are no projects", "PROJECT\tNAME\tTWO PERSONS\tTESTS\tPOLICY\tMADE\tDESCRIPTION", projects, func(p *rule.Project) []any {
			policy := "default"
			if !p.Policy.IsZero() {
				policy = "own"
			}
			return []any{p.ID, p.Name, yesNo(p.TwoPerson), yesNo(p.TestsRequired), policy, day(p.CreatedAt), p.Description}
		})
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// projectArg names a project; the global flag does, too.
type projectArg struct {
	ID string `arg:"" optional:"" help:"Id of the project; default is that of --project, or the project default."`
}

func (a *projectArg) id(s *session) string { return cmp.Or(a.ID, s.project(), rule.DefaultProject) }

type projectsShowCommand struct {
	projectArg
	output
}

func (projectsShowCommand) Help() string {
	return `
    tenet projects show payments
    tenet projects show payments --format json`
}

func (k *projectsShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	p, err := client.Get(ctx, c, op.GetProject.At(k.id(s)))
	return show(s, k.output, p, err, printProject)
}

func printProject(s *session, p rule.Project) error {
	err := s.table("", [][]any{
		{s.bold(line(p.ID)), line(p.Name)},
		{"description", orDash(p.Description)},
		{"two_person_approval", yesNo(p.TwoPerson)},
		{"tests_required", yesNo(p.TestsRequired)},
		{"corpus version", p.CorpusVersion},
		{"made", p.CreatedAt.Format(time.DateTime)},
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out); err != nil {
		return err
	}
	return printPolicy(s, p.Policy)
}

type projectsCreateCommand struct {
	ID            string `arg:"" help:"1 to 63 lower-case letters, digits, - and _, beginning with a letter or digit."`
	Name          string `placeholder:"TEXT" help:"Display name; default is the id."`
	Description   string `placeholder:"TEXT" help:"What the project is for."`
	TwoPerson     bool   `help:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired bool   `help:"Refuse to publish a rule unless it has test cases and all of them pass."`
	output
}

func (projectsCreateCommand) Help() string {
	return `
    tenet projects create payments --name Payments --two-person
    tenet keys create --project payments --name ci --role evaluator`
}

func (k *projectsCreateCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, needsData, func(c *client.Client) error {
		p, err := client.Call(ctx, c, op.CreateProject, wire.CreateProject{
			ID: k.ID, Name: k.Name, Description: k.Description, TwoPerson: k.TwoPerson, TestsRequired: k.TestsRequired,
		})
		return noted(s, k.output, p, err, func(p rule.Project) string {
			return fmt.Sprintf("project %s is made; tenet keys create --project %s makes keys for it", p.ID, p.ID)
		})
	})
}

type projectsEditCommand struct {
	projectArg
	policyFlags

	Name          *string `placeholder:"TEXT" help:"Display name."`
	Description   *string `placeholder:"TEXT" help:"What the project is for; empty clears it."`
	TwoPerson     string  `placeholder:"YES|NO" enum:",yes,no" default:"" help:"yes: refuse an approval by the author of the rule's last content change."`
	TestsRequired string  `placeholder:"YES|NO" enum:",yes,no" default:"" help:"yes: refuse to publish a rule unless it has test cases and all of them pass."`
	output
}

func (projectsEditCommand) Help() string {
	return `What is not named stays as it is. A change that loosens the policy needs --reason.

    tenet projects edit payments --two-person yes --tests-required yes
    tenet projects edit payments --uncovered action=deny --severity-min MEDIUM
    tenet projects edit payments --name "Payments and treasury"`
}

func (k *projectsEditCommand) Run(ctx context.Context, s *session) error {
	if err := k.check(); err != nil {
		return err
	}
	var change wire.ChangeProject
	for from, to := range map[*string]*wire.Optional[string]{k.Name: &change.Name, k.Description: &change.Description} {
		if from != nil {
			*to = wire.Some(*from)
		}
	}
	if k.TwoPerson != "" {
		change.TwoPerson = wire.Some(k.TwoPerson == "yes")
	}
	if k.TestsRequired != "" {
		change.TestsRequired = wire.Some(k.TestsRequired == "yes")
	}
	plain := change.Name.Set || change.Description.Set || change.TwoPerson.Set || change.TestsRequired.Set
	if !plain && !k.given() {
		return errors.New("nothing to change; name a setting, such as --two-person yes")
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		project := k.id(s)
		if k.given() {
			now, err := client.Get(ctx, c, op.GetProject.At(project))
			if err != nil {
				return err
			}
			policy := k.change(now.Policy)
			change.Policy = &policy
		}
		p, err := client.Call(ctx, c, op.ChangeProject.At(project), change)
		return show(s, k.output, p, err, printProject)
	})
}
