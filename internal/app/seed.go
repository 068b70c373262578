package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/packs"
)

// seed makes the project default with the starter packs, or those given, unless it exists.
func seed(ctx context.Context, projects store.ProjectReader, rules *catalog.Catalog, cfg config.Config, o Options) error {
	if _, err := projects.Get(ctx, rule.DefaultProject); rule.CodeOf(err) != rule.CodeNotFound {
		return err
	}
	files := o.Rules
	if files == nil && !cfg.NoSeed {
		var err error
		if files, err = starterPacks(!o.NoCases); err != nil {
			return err
		}
	}
	// The tests of the starter packs compile their checks. A hook on a fresh machine waits for the few that apply to its subject only.
	_, err := rules.Seed(auth.WithActor(ctx, auth.Local("tenet")), rule.DefaultProject, files, o.Rules == nil)
	return err
}

// starterPacks reads the packs side by side: a hook on a fresh machine waits for them.
func starterPacks(withCases bool) ([]*wire.RuleFile, error) {
	all, err := packs.All()
	if err != nil {
		return nil, err
	}
	files := make([]*wire.RuleFile, len(all), 2*len(all))
	if withCases {
		files = files[:2*len(all)]
	}
	var reading errgroup.Group
	read := func(i int, what, name string, text []byte) {
		reading.Go(func() (err error) {
			if files[i], err = catalog.ParseYAML(text); err != nil {
				return fmt.Errorf("%s %s: %w", what, name, err)
			}
			return nil
		})
	}
	for i, p := range all {
		read(i, "starter pack", p.Name, p.Rules)
		if withCases {
			read(len(all)+i, "test cases of starter pack", p.Name, p.Cases)
		}
	}
	return files, reading.Wait()
}
