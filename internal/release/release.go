package release

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Limits of a snapshot's texts, in characters.
const (
	MaxName        = 200
	MaxDescription = 4000
)

// LiveViews gives the live corpus views of projects; corpus.Live is one.
type LiveViews interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
	Refresh(ctx context.Context, projectID string) (*corpus.View, error)
}

// Releases takes snapshots and deploys them. It is safe for concurrent use.
type Releases struct {
	comparer
	environments

	store    Store
	views    *Views
	replayer Replayer
	now      func() time.Time
	runs     job.Runs[wire.SimulateRequest, wire.Simulation]
	publish  func(ctx context.Context, tx store.Tx, e rule.Event) error
	deployed func(projectID string)
}

// Store holds the parts of the database that this package uses.
type Store struct {
	store.Updater
	Jobs      store.JobReader
	Releases  store.ReleaseReader
	Rules     store.RuleReader
	Runs      store.RunReader
	TestCases store.TestCaseReader
}

// Config sets up [New]. All fields but Publish and Deployed are required; Queue is that of the jobs which HandleSimulation does.
type Config struct {
	Store    Store
	Views    *Views
	Replayer Replayer
	Queue    job.Queue
	Now      func() time.Time
	// Publish publishes deployments and rollbacks, in their transaction; nil publishes none.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	// Deployed is called after each deployment and rollback; it may be nil.
	Deployed func(projectID string)
}

// New makes Releases.
func New(c Config) *Releases {
	r := &Releases{
		comparer:     comparer{releases: c.Store.Releases, rules: c.Store.Rules, live: c.Views.live},
		environments: environments{releases: c.Store.Releases, now: c.Now},
		store:        c.Store, views: c.Views, replayer: c.Replayer, now: c.Now, publish: c.Publish, deployed: c.Deployed,
	}
	r.runs = job.Runs[wire.SimulateRequest, wire.Simulation]{
		Kind: SimulateKind, Name: "simulation", Store: job.RunStore{Updater: c.Store, Runs: c.Store.Runs, Jobs: c.Store.Jobs}, Queue: c.Queue, Now: c.Now,
		Do: func(ctx context.Context, projectID string, q wire.SimulateRequest, progress func(done, total int)) (wire.Simulation, error) {
			s, err := r.Simulate(ctx, projectID, q, progress)
			if err != nil {
				return wire.Simulation{}, err
			}
			return *s, nil
		},
	}
	return r
}

func (r *Releases) instant() time.Time { return rule.Instant(r.now()) }

// Create takes a snapshot of the live corpus of a project.
func (r *Releases) Create(ctx context.Context, projectID, name, description string) (wire.Snapshot, error) {
	name = strings.TrimSpace(name)
	var p rule.Problems
	if name == "" {
		p.Add("name", "must not be empty")
	}
	tooLong(&p, "name", name, MaxName)
	tooLong(&p, "description", description, MaxDescription)
	if err := p.Err("the snapshot is invalid"); err != nil {
		return wire.Snapshot{}, err
	}
	// What others have written before this call must be in it.
	view, err := r.views.live.Refresh(ctx, projectID)
	if err != nil {
		return wire.Snapshot{}, err
	}
	manifest, root := capture(view)
	encoded, err := manifest.Encode()
	if err != nil {
		return wire.Snapshot{}, err
	}
	s := store.Snapshot{
		ProjectID: projectID, ID: audit.NewID(), Name: name, Description: description, RuleCount: len(manifest.Items), ContentHash: root,
		CorpusVersion: view.Version(), CreatedAt: r.instant(), CreatedBy: auth.ActorFrom(ctx).Name, Manifest: encoded,
	}
	err = r.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Releases.InsertSnapshot(ctx, s); err != nil {
			return err
		}
		err := note(ctx, tx, projectID, s.CreatedAt, map[string]any{
			"action": "snapshot", "snapshot_id": s.ID, "name": s.Name, "rule_count": s.RuleCount, "content_hash": s.ContentHash,
		})
		if err != nil {
			return err
		}
		return r.publishRequest(ctx, tx, &s)
	})
	return snapshotOf(s, nil), err
}

func tooLong(p *rule.Problems, field, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		p.Add(field, "has %d characters; at most %d are allowed", n, limit)
	}
}

// note appends a release action to the audit chain.
func note(ctx context.Context, tx store.Tx, projectID string, at time.Time, body map[string]any) error {
	return audit.Append(ctx, tx, projectID, audit.Record{
		Kind: audit.KindRelease, At: at, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}

// inSnapshot reports whether a rule belongs into a snapshot. Retired rules are gone for good.
func inSnapshot(r *rule.Rule) bool { return r.Status != rule.Retired }

// capture makes the manifest of a view and its Merkle root.
func capture(view *corpus.View) (*Manifest, string) {
	m, entries, at := list(view)
	leaves := leavesOf(len(entries), func(i int) Leaf {
		e := entries[i]
		return RuleLeaf(e.ContentHash(), e.Rule.Slug, e.Rule.Status)
	})
	return m, m.root(leaves, at)
}

// list makes the manifest of a view, with the rules in it, in its order, and their places by id.
func list(view *corpus.View) (m *Manifest, entries []*corpus.Entry, at map[string]int) {
	m = &Manifest{Items: make([]Item, 0, view.Len()), Relationships: []rule.Relationship{}}
	entries = make([]*corpus.Entry, 0, view.Len())
	at = make(map[string]int, view.Len())
	for e := range view.All() {
		if inSnapshot(e.Rule) {
			at[e.Rule.ID] = len(entries)
			entries = append(entries, e)
			m.Items = append(m.Items, Item{RuleID: e.Rule.ID, Version: e.Rule.Version})
		}
	}
	for _, e := range entries {
		for _, rel := range e.Relationships {
			if _, ok := at[rel.ToID]; ok {
				m.Relationships = append(m.Relationships, rel)
			}
		}
	}
	for _, n := range view.Federation().Nodes() {
		m.Federation.Nodes = append(m.Federation.Nodes, *n.Node)
		for _, a := range n.Attached {
			m.Federation.Attachments = append(m.Federation.Attachments, *a)
		}
	}
	return m, entries, at
}

// root returns the Merkle root over the leaves of the rules, whose places at gives by rule id, and over what ties them.
func (m *Manifest) root(leaves []Leaf, at map[string]int) string {
	all := slices.Clone(leaves)
	for i := range m.Relationships {
		rel := &m.Relationships[i]
		from, okFrom := at[rel.FromID]
		to, okTo := at[rel.ToID]
		if okFrom && okTo {
			all = append(all, RelationshipLeaf(rel, leaves[from], leaves[to]))
		}
	}
	return Root(append(all, m.Federation.leaves(leaves, at)...))
}

// leavesOf hashes n things on all processors.
func leavesOf(n int, leaf func(i int) Leaf) []Leaf {
	leaves := make([]Leaf, n)
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				leaves[i] = leaf(i)
			}
		})
	}
	wg.Wait()
	return leaves
}

func snapshotOf(s store.Snapshot, history []store.Deployment) wire.Snapshot {
	return wire.Snapshot{
		ID: s.ID, ProjectID: s.ProjectID, Name: s.Name, Description: s.Description, RuleCount: s.RuleCount, ContentHash: s.ContentHash,
		CorpusVersion: s.CorpusVersion, CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, Deployments: places(s.ID, history),
	}
}

// places lists where a snapshot is or was active, newest first. history is ordered by environment and number.
func places(id string, history []store.Deployment) []wire.SnapshotPlace {
	out := []wire.SnapshotPlace{}
	for i, d := range history {
		if d.SnapshotID == id {
			last := i+1 == len(history) || history[i+1].Environment != d.Environment
			out = append(out, wire.SnapshotPlace{Environment: wire.Environment(d.Environment), DeployedAt: d.At, Active: last})
		}
	}
	sortNewest(out, func(p wire.SnapshotPlace) time.Time { return p.DeployedAt })
	return out
}

// Get returns a snapshot.
func (r *Releases) Get(ctx context.Context, projectID, id string) (wire.Snapshot, error) {
	id = strings.ToLower(id)
	found, err := r.store.Releases.Named(ctx, projectID, []string{id})
	if err != nil {
		return wire.Snapshot{}, err
	}
	s, ok := found[id]
	if !ok {
		return wire.Snapshot{}, rule.NotFound("snapshot", id)
	}
	history, err := r.store.Releases.Deployments(ctx, projectID, "")
	if err != nil {
		return wire.Snapshot{}, err
	}
	out := snapshotOf(s, history)
	out.Approvals, err = approvals(ctx, r.store.Releases, projectID, s.ID)
	return out, err
}

// List returns a page of snapshots, newest first, and the number of all.
func (r *Releases) List(ctx context.Context, projectID string, offset, limit int) ([]wire.Snapshot, int, error) {
	list, total, err := r.store.Releases.Snapshots(ctx, projectID, offset, limit)
	if err != nil {
		return nil, 0, err
	}
	history, err := r.store.Releases.Deployments(ctx, projectID, "")
	out := make([]wire.Snapshot, len(list))
	for i, s := range list {
		out[i] = snapshotOf(s, history)
	}
	return out, total, err
}

// Verify computes the Merkle root of a snapshot again from the stored rules.
func (r *Releases) Verify(ctx context.Context, projectID, id string) (wire.Verification, error) {
	s, m, err := manifestOf(ctx, r.store.Releases, projectID, id)
	if err != nil {
		return wire.Verification{}, err
	}
	rules, err := r.store.Rules.AtVersions(ctx, projectID, m.refs())
	if err != nil {
		return wire.Verification{}, err
	}
	v := wire.Verification{SnapshotID: s.ID, ContentHash: s.ContentHash, Missing: []string{}}
	at := make(map[string]int, len(m.Items))
	var stored []rule.Rule
	for _, item := range m.Items {
		one, ok := rules[item.RuleID]
		if !ok {
			v.Missing = append(v.Missing, item.RuleID)
			continue
		}
		at[item.RuleID] = len(stored)
		stored = append(stored, one)
	}
	leaves := leavesOf(len(stored), func(i int) Leaf { return RuleLeaf(stored[i].ContentHash(), stored[i].Slug, stored[i].Status) })
	v.Computed = m.root(leaves, at)
	v.Valid = len(v.Missing) == 0 && v.Computed == s.ContentHash
	return v, nil
}

func (m *Manifest) refs() []store.VersionRef {
	refs := make([]store.VersionRef, len(m.Items))
	for i, item := range m.Items {
		refs[i] = store.VersionRef{RuleID: item.RuleID, Version: item.Version}
	}
	return refs
}

// manifestOf reads a snapshot with its manifest.
func manifestOf(ctx context.Context, from store.ReleaseReader, projectID, id string) (store.Snapshot, *Manifest, error) {
	s, err := from.Snapshot(ctx, projectID, id)
	if err != nil {
		return s, nil, err
	}
	m, err := DecodeManifest(s.Manifest)
	return s, m, err
}
