package release_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/checkpoint"
	"tenet/internal/corpus"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// BenchmarkReleases measures what a release of 100,000 rules costs, of which 1 % have changed since the one before.
func BenchmarkReleases(b *testing.B) {
	const n = 100_000
	quiet := slog.New(slog.DiscardHandler)
	s, err := sqlstore.OpenSQLite(b.Context(), b.TempDir(), sqlstore.Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	ctx := auth.WithActor(b.Context(), auth.Local("bench"))
	live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: quiet})
	if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(ctx, project, catalog.ProjectInput{}); err != nil {
		b.Fatal(err)
	}
	fill(b, s, n)
	r := release.New(release.Config{Store: release.Store{Updater: s, Jobs: s.Jobs, Releases: s.Releases, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Views: release.NewViews(s.Releases, s.Rules, live), Now: time.Now})
	first, err := r.Create(ctx, project, "first", "")
	if err != nil {
		b.Fatal(err)
	}
	revise(b, s, n/100, 2)
	second, err := r.Create(ctx, project, "second", "")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Create(ctx, project, "again", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("diff", func(b *testing.B) {
		for b.Loop() {
			if d, err := r.Diff(ctx, project, first.ID, second.ID, wire.DiffQuery{Limit: release.MaxDiff}); err != nil || d.RulesModified != n/100 {
				b.Fatal(d.RulesModified, err)
			}
		}
	})
	b.Run("first view", func(b *testing.B) {
		for b.Loop() {
			cold := release.NewViews(s.Releases, s.Rules, live)
			if v, err := cold.View(ctx, project, first.ID); err != nil || v.Len() != n {
				b.Fatal(err)
			}
		}
	})
	b.Run("view again", func(b *testing.B) {
		if _, err := r.Deploy(ctx, project, first.ID, wire.Production, "", ""); err != nil {
			b.Fatal(err)
		}
		views := release.NewViews(s.Releases, s.Rules, live)
		for b.Loop() {
			if _, _, err := views.Deployed(ctx, project, "production"); err != nil {
				b.Fatal(err)
			}
		}
	})
	keys, err := checkpoint.OpenKeys(filepath.Join(b.TempDir(), "key"), "example.com", time.Now())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bundle", func(b *testing.B) {
		if _, err := r.Deploy(ctx, project, first.ID, wire.Production, "", ""); err != nil {
			b.Fatal(err)
		}
		for b.Loop() { // read from the database, compared with the snapshot, encoded, compressed, stored and signed
			bundles := release.NewBundles(release.BundlesConfig{
				Updater: s, Bundles: s.Bundles, Releases: s.Releases, Rules: s.Rules, Projects: s.Projects, Waivers: s.Waivers, Agents: s.Agents, Keys: s.Keys, Now: time.Now,
				Required: func(context.Context) (bool, error) { return false, nil }, Signing: func() (checkpoint.Signer, string) { return keys, "example.com" },
			})
			if made, err := bundles.Latest(ctx, project, wire.Production, ""); err != nil || made.Head.Rules != n {
				b.Fatal(made.Head.Rules, err)
			}
		}
	})
}

// BenchmarkStorage measures what 20 snapshots of 100,000 rules take, 1 % of which change from one to the next, against the
// space of the rules themselves.
func BenchmarkStorage(b *testing.B) {
	const n, releases = 100_000, 20
	quiet := slog.New(slog.DiscardHandler)
	for b.Loop() {
		dir := b.TempDir()
		s, err := sqlstore.OpenSQLite(b.Context(), dir, sqlstore.Options{Logger: quiet})
		if err != nil {
			b.Fatal(err)
		}
		ctx := auth.WithActor(b.Context(), auth.Local("bench"))
		live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: quiet})
		if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(ctx, project, catalog.ProjectInput{}); err != nil {
			b.Fatal(err)
		}
		fill(b, s, n)
		r := release.New(release.Config{Store: release.Store{Updater: s, Jobs: s.Jobs, Releases: s.Releases, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Views: release.NewViews(s.Releases, s.Rules, live), Now: time.Now})
		rules := size(b, dir)
		for i := range releases {
			revise(b, s, n/100, i+2)
			if _, err := r.Create(ctx, project, "release", ""); err != nil {
				b.Fatal(err)
			}
		}
		grown := size(b, dir) - rules
		b.ReportMetric(float64(rules)/(1<<20), "MiB-rules")
		b.ReportMetric(100*float64(grown)/float64(rules)/releases, "%/snapshot")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// size is how many bytes the files of a folder have.
func size(b *testing.B, dir string) (total int64) {
	b.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			b.Fatal(err)
		}
		total += info.Size()
	}
	return total
}

func benchRule(i int) rule.Rule {
	r := rule.Rule{
		ID: fmt.Sprintf("0199f0a0-%04x-7%03x-8000-%012x", i>>8&0xffff, i&0xfff, i*2654435761&0xffffffffffff), ProjectID: project, Version: 1,
		Statement: fmt.Sprintf("Payments of kind %d above %d EUR must be approved by a second person of department %d.", i%97, i, i%13),
		Rationale: "Mistakes and fraud are found by a second pair of eyes.", Modality: rule.Must, Severity: rule.High, Status: rule.Effective,
		Enforcement: rule.Enforce, Tags: []string{"finance"}, CreatedAt: time.Unix(0, 0).UTC(), UpdatedAt: time.Unix(0, 0).UTC(),
	}
	r.Normalize()
	return r
}

func fill(b *testing.B, s store.Store, n int) {
	b.Helper()
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = benchRule(i)
	}
	err := s.Update(b.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(b.Context(), project)
		if err != nil {
			return err
		}
		return tx.Rules.Insert(b.Context(), cv, rules)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func revise(b *testing.B, s store.Store, n, version int) {
	b.Helper()
	rules := make([]rule.Rule, n)
	for i := range rules {
		rules[i] = benchRule(i * 100)
		rules[i].Version, rules[i].Statement = version, fmt.Sprintf("Payments must be approved %d times.", version)
	}
	err := s.Update(b.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(b.Context(), project)
		if err != nil {
			return err
		}
		return tx.Rules.Update(b.Context(), cv, rules)
	})
	if err != nil {
		b.Fatal(err)
	}
}
