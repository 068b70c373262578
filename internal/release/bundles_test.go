package release_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// failing is a reader of projects that fails while err is set.
type failing struct {
	store.ProjectReader

	err error
}

func (f *failing) Get(ctx context.Context, id string) (rule.Project, error) {
	if f.err != nil {
		return rule.Project{}, f.err
	}
	return f.ProjectReader.Get(ctx, id)
}

// A look that fails is made again at the next use: what was deployed is not forgotten until the time of the next look.
func TestALookThatFailsIsMadeAgain(t *testing.T) {
	each(t, func(w *world) {
		now := time.Now()
		keys, err := checkpoint.OpenKeys(filepath.Join(w.TempDir(), "key"), "example.com", now)
		if err != nil {
			w.Fatal(err)
		}
		projects := &failing{ProjectReader: w.store.Projects}
		s := w.store
		bundles := release.NewBundles(release.BundlesConfig{
			Updater: s, Bundles: s.Bundles, Releases: s.Releases, Rules: s.Rules, Projects: projects, Waivers: s.Waivers, Agents: s.Agents, Keys: s.Keys,
			Now:      func() time.Time { return now }, // no time passes
			Required: func(context.Context) (bool, error) { return false, nil }, Signing: func() (checkpoint.Signer, string) { return keys, "example.com" },
		})
		deploy := func(name string) {
			w.Helper()
			if _, err := w.releases.Deploy(w.ctx, project, w.snapshot(name).ID, wire.Production, "", ""); err != nil {
				w.Fatal(err)
			}
		}
		rules := func() int {
			w.Helper()
			made, err := bundles.Latest(w.ctx, project, wire.Production, "")
			if err != nil {
				w.Fatal(err)
			}
			return made.Head.Rules
		}
		w.create("A-1", "Say please.")
		deploy("first")
		if n := rules(); n != 1 {
			w.Fatalf("%d rules, want 1", n)
		}
		w.create("A-2", "Say thanks.")
		deploy("second")
		bundles.Look(project, wire.Production)
		projects.err = errors.New("the database is away")
		if _, err := bundles.Latest(w.ctx, project, wire.Production, ""); !errors.Is(err, projects.err) {
			w.Errorf("error %v, want %v", err, projects.err)
		}
		projects.err = nil
		if n := rules(); n != 2 {
			w.Errorf("%d rules after a look that failed, want 2", n)
		}
	})
}
