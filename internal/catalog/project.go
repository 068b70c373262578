package catalog

import (
	"context"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// ProjectInput is a project as its admin writes it. On an update, absent fields stay as they are.
type ProjectInput struct {
	Name          *string
	Description   *string
	TwoPerson     *bool
	TestsRequired *bool
}

// Projects lists all projects by id.
func (c *Catalog) Projects(ctx context.Context) ([]rule.Project, error) { return c.store.Projects(ctx) }

// Project returns one project.
func (c *Catalog) Project(ctx context.Context, id string) (rule.Project, error) {
	return c.store.Project(ctx, id)
}

// CreateProject makes a project; conflict if its id is taken.
func (c *Catalog) CreateProject(ctx context.Context, id string, in ProjectInput) (rule.Project, error) {
	now := c.instant()
	p := rule.Project{ID: id, Name: id, CreatedAt: now, UpdatedAt: now}
	in.apply(&p)
	if err := validateProject(p); err != nil {
		return rule.Project{}, err
	}
	return p, c.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.CreateProject(ctx, p); err != nil {
			return err
		}
		return c.noteProject(ctx, tx, "created", p)
	})
}

// UpdateProject changes a project.
func (c *Catalog) UpdateProject(ctx context.Context, id string, in ProjectInput) (rule.Project, error) {
	var p rule.Project
	err := c.store.Update(ctx, func(tx store.Tx) error {
		var err error
		if p, err = tx.Project(ctx, id); err != nil {
			return err
		}
		in.apply(&p)
		p.UpdatedAt = c.instant()
		if err := validateProject(p); err != nil {
			return err
		}
		if err := tx.UpdateProject(ctx, p); err != nil {
			return err
		}
		return c.noteProject(ctx, tx, "changed", p)
	})
	return p, err
}

func (in *ProjectInput) apply(p *rule.Project) {
	set(&p.Name, in.Name)
	set(&p.Description, in.Description)
	set(&p.TwoPerson, in.TwoPerson)
	set(&p.TestsRequired, in.TestsRequired)
	p.Name, p.Description = strings.TrimSpace(p.Name), strings.TrimSpace(p.Description)
}

func validateProject(p rule.Project) error {
	var problems rule.Problems
	if !rule.ValidProjectID(p.ID) {
		problems.Add("id", "must have 1 to 63 lower-case letters, digits, - and _, and begin with a letter or digit")
	}
	if p.Name == "" || len(p.Name) > rule.MaxLabel {
		problems.Add("name", "must have 1 to %d bytes", rule.MaxLabel)
	}
	if len(p.Description) > rule.MaxRationale {
		problems.Add("description", "has %d bytes; at most %d are allowed", len(p.Description), rule.MaxRationale)
	}
	return problems.Err("the project is invalid")
}

func (c *Catalog) noteProject(ctx context.Context, tx store.Tx, action string, p rule.Project) error {
	return audit.Append(ctx, tx, p.ID, audit.Record{
		Kind: audit.KindProject, At: p.UpdatedAt, Actor: auth.ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{"action": action, "project": p}),
	})
}
