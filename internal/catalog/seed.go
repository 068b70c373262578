package catalog

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Seed makes a project with the rules of files, in one transaction, unless the project exists already; it reports
// whether it made it. Several nodes may seed at once: one does it.
func (c *Catalog) Seed(ctx context.Context, projectID string, files []*File) (bool, error) {
	seeded := false
	err := c.store.Update(ctx, func(tx store.Tx) error {
		seeded = false
		switch _, err := tx.Project(ctx, projectID); {
		case err == nil:
			return nil
		case rule.CodeOf(err) != rule.CodeNotFound:
			return err
		}
		now := c.instant()
		project := rule.Project{ID: projectID, Name: projectID, CreatedAt: now, UpdatedAt: now}
		if err := tx.CreateProject(ctx, project); err != nil {
			return err
		}
		if err := c.noteProject(ctx, tx, "created", project); err != nil {
			return err
		}
		seeded = true
		if len(files) == 0 {
			return nil
		}
		return c.seedRules(ctx, tx, project, files)
	})
	if rule.CodeOf(err) == rule.CodeConflict {
		if _, known := c.store.Project(ctx, projectID); known == nil {
			return false, nil // another node was faster
		}
	}
	return seeded, err
}

func (c *Catalog) seedRules(ctx context.Context, tx store.Tx, project rule.Project, files []*File) error {
	cv, err := tx.RaiseCorpus(ctx, project.ID)
	if err != nil {
		return err
	}
	var inputs []Input
	all := &File{}
	for _, f := range files {
		part, err := prepare(f, ImportOptions{})
		if err != nil {
			return err
		}
		inputs = append(inputs, part...)
		all.Cases, all.Federation = append(all.Cases, f.Cases...), append(all.Federation, f.Federation...)
	}
	im := c.newImport(ctx, tx, project, cv, ImportOptions{})
	if err := im.run(ctx, inputs, compileAll(inputs), all); err != nil {
		return err
	}
	if c.changed != nil {
		if err := c.changed(ctx, tx, project.ID); err != nil {
			return err
		}
	}
	return im.note(ctx)
}
