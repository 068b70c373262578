package catalog

import (
	"cmp"
	"context"

	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Seed makes a project with the rules of files, in one transaction, unless the project exists already; it reports
// whether it made it. Several nodes may seed at once: one does it. Compiled reports that all checks of the files are known to compile,
// as those of the starter packs are; Seed then does not compile them again.
func (c *Catalog) Seed(ctx context.Context, projectID string, files []*wire.RuleFile, compiled bool) (bool, error) {
	seeded := false
	err := c.store.Update(ctx, func(tx store.Tx) error {
		seeded = false
		switch _, err := tx.Projects.Get(ctx, projectID); {
		case err == nil:
			return nil
		case rule.CodeOf(err) != rule.CodeNotFound:
			return err
		}
		now := rule.Instant(c.now())
		project := rule.Project{ID: projectID, Name: projectID, CreatedAt: now, UpdatedAt: now}
		if err := tx.Projects.Create(ctx, project); err != nil {
			return err
		}
		if err := noteProject(ctx, tx, "created", nil, project, nil); err != nil {
			return err
		}
		seeded = true
		if len(files) == 0 {
			return nil
		}
		return c.changes.Join(ctx, tx, projectID, func(ch *change.Change) error { return c.seedRules(ctx, ch, files, compiled) })
	})
	if rule.CodeOf(err) == rule.CodeConflict {
		if _, known := c.store.Projects.Get(ctx, projectID); known == nil {
			return false, nil // another node was faster
		}
	}
	return seeded, err
}

func (c *Catalog) seedRules(ctx context.Context, ch *change.Change, files []*wire.RuleFile, compiled bool) error {
	var inputs []wire.RuleInput
	all := &wire.RuleFile{}
	for _, f := range files {
		part, wrong, err := prepare(f, &ImportOptions{})
		if err = cmp.Or(err, wrong); err != nil {
			return err
		}
		inputs = append(inputs, part...)
		all.Cases, all.Federation = append(all.Cases, f.Cases...), append(all.Federation, f.Federation...)
	}
	im := c.newImport(ch, ImportOptions{})
	uncompiled := make([]error, len(inputs))
	if !compiled {
		uncompiled = compileAll(inputs)
	}
	if err := im.run(ctx, inputs, uncompiled, all); err != nil {
		return err
	}
	return im.note(ctx)
}
