package app

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/corpus"
	"tenet/internal/edge"
	"tenet/internal/evaluate"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Edge makes a node evaluate from bundles. All fields but MaxAge, Server and Spool are required.
type Edge struct {
	Name    string // of the edge in its fleet
	Place   place.Place
	Trusted []string // verifier keys
	Every   time.Duration
	// MaxAge is the age of a bundle from which on Fail says what the edge does; 0 means that it may have any.
	MaxAge time.Duration
	Fail   rule.StaleModes
	// Server gets the records and the reports; nil for none.
	Server *client.Client
	// Spool is how many bytes of records may wait for the server until Fail says what the edge does; 0 means any.
	Spool int64
	// Keep is how many bytes of records that the server has stay here; 0 means all.
	Keep int64
}

// outpost is the state of a node that is an edge.
type outpost struct {
	Edge

	corpus   *edge.Corpus
	follower *edge.Follower
	ship     *shipping
}

// openEdge reads rules from a bundle instead of the database from now on.
func openEdge(ctx context.Context, a *App, o *Edge, now func() time.Time) error {
	e := &outpost{Edge: *o, corpus: &edge.Corpus{}}
	folder := a.cfg.Data
	if folder == "" {
		return rule.Errorf(rule.CodeInvalid, "an edge needs a folder of its own for its records; name it with --data")
	}
	if a.cfg.FirstKey != "" {
		return rule.Errorf(rule.CodeInvalid, "first_key is for servers: the keys of an edge are in its bundle")
	}
	local := a.store
	a.store.Readers = e.corpus.Readers(local.Readers)
	a.store.Lagging = a.store.Readers
	own := filepath.Join(folder, "edge")
	e.follower = edge.NewFollower(edge.FollowConfig{
		Place: o.Place, Trusted: o.Trusted, Folder: own, Every: o.Every, Corpus: e.corpus, Manifest: release.ManifestOf, Root: release.RootOf,
		Logger: a.log, Now: now, Taken: func(ctx context.Context) { showBundle(ctx, a) },
	})
	if err := e.follower.Start(ctx); err != nil {
		return err
	}
	a.edge = e
	e.ship = &shipping{
		edge: e, folder: own, server: o.Server, signer: func() checkpoint.Signer { return a.parts.book.Signer }, audit: local.Audit, edges: local.Edges, updater: a.store, version: a.version, log: a.log, now: now,
		started: now(), filled: make(chan struct{}, 1), model: func() string { return modelStatus(a) },
	}
	if err := e.ship.restore(); err != nil {
		return err
	}
	head, _ := e.corpus.Head()
	// Records are of the project, so the database must know it.
	return a.store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Projects.Get(ctx, head.Project)
		if rule.CodeOf(err) != rule.CodeNotFound {
			return err
		}
		at := rule.Instant(now())
		return tx.Projects.Create(ctx, rule.Project{ID: head.Project, Name: head.Project, CreatedAt: at, UpdatedAt: at})
	})
}

// showBundle brings the views up to a bundle that was taken.
func showBundle(ctx context.Context, a *App) {
	if a.live == nil || a.edge == nil {
		return // the node is being made
	}
	head, _ := a.edge.corpus.Head()
	if _, err := a.live.Refresh(context.WithoutCancel(ctx), head.Project); err != nil {
		a.log.WarnContext(ctx, "the rules of the new bundle cannot be shown yet", "error", err)
		return
	}
	_, _, _ = a.parts.releases.Deployed(ctx, head.Project, head.Environment) // the next request finds the view made
}

// bundle says by which bundle the edge evaluates now.
func (e *outpost) bundle() evaluate.Bundle {
	head, _ := e.corpus.Head()
	b := evaluate.Bundle{Name: head.RawHash, Environment: head.Environment, Age: e.follower.Age(), Fail: e.Fail}
	if e.MaxAge > 0 && b.Age > e.MaxAge {
		b.Stale = "The rules may be out of date: for " + b.Age.Round(time.Second).String() + " no server has vouched for the bundle of this edge, which may be " + e.MaxAge.String() + " old"
	}
	if b.Stale == "" {
		b.Stale = e.ship.full()
	}
	return b
}

// headers names the bundle and its age in the headers of an answer: some answers, such as lists of rules, have no place for them in their bodies.
func (e *outpost) headers(h http.Header) {
	head, _ := e.corpus.Head()
	h.Set(wire.BundleHeader, head.RawHash)
	h.Set(wire.BundleAgeHeader, strconv.FormatInt(int64(e.follower.Age().Seconds()), 10))
}

// evaluatesAtEdge are operations that change nothing but records, beside those that ask for an evaluation.
var evaluatesAtEdge = []string{"/api/v1/evaluate/applicable-rules/explain", "/agent/ask", "/agent/check", "/agent/review", "/replay"}

// refuse refuses what only a server can do.
func (e *outpost) refuse(r *http.Request, reads bool) error {
	path := r.URL.Path
	if reads || slices.ContainsFunc(evaluatesAtEdge, func(p string) bool { return strings.HasSuffix(path, p) }) {
		return nil
	}
	head, _ := e.corpus.Head()
	return rule.Errorf(rule.CodeConflict, "this is the edge %s: it evaluates by the bundle %d of %s, and changes nothing; send the request to the server", e.Name, head.Seq, head.Environment)
}

// modelStatus is the state of the model that judges; empty without one.
func modelStatus(a *App) string {
	if a.models.judge == nil {
		return ""
	}
	return string(a.watch.State().Status)
}

// BundleOf returns the head of the bundle of a node that is an edge, and its age.
func BundleOf(a *App) (bundle.Head, time.Duration, bool) {
	if a.edge == nil {
		return bundle.Head{}, 0, false
	}
	head, ok := a.edge.corpus.Head()
	return head, a.edge.follower.Age(), ok
}

// Settle waits until the words of the rules that the node loads first are read, which goes on in the background after the node is ready, or ctx ends.
func Settle(ctx context.Context, a *App) error {
	view, err := a.live.View(ctx, a.edge.project())
	if err != nil {
		return err
	}
	return corpus.AwaitWords(ctx, view)
}

// project is the project whose rules the node loads first. The node may be a server, which has no outpost.
func (e *outpost) project() string {
	if e == nil {
		return rule.DefaultProject
	}
	head, _ := e.corpus.Head()
	return head.Project
}
