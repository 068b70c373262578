package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/packs"
)

// seed makes the project default with the starter packs, or those given, unless it exists.
func (a *App) seed(ctx context.Context, o Options) error {
	if _, err := a.store.Project(ctx, rule.DefaultProject); rule.CodeOf(err) != rule.CodeNotFound {
		return err
	}
	files := o.Rules
	if files == nil && !a.cfg.NoSeed {
		var err error
		if files, err = starterPacks(!o.NoCases); err != nil {
			return err
		}
	}
	ctx = auth.WithActor(ctx, auth.Local("tenet"))
	_, err := a.catalog.Seed(ctx, rule.DefaultProject, files)
	return err
}

// starterPacks reads the packs, each by itself: a hook on a fresh machine waits for them.
func starterPacks(withCases bool) ([]*catalog.File, error) {
	all, err := packs.All()
	if err != nil {
		return nil, err
	}
	files := make([]*catalog.File, len(all), 2*len(all))
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
