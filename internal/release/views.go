package release

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// nothingDeployed is the error about an environment without an active snapshot, which it names twice.
const nothingDeployed = "nothing is deployed to %s; take a snapshot and deploy it: tenet snapshots create NAME, tenet snapshots deploy NAME %s; " +
	"or POST /api/v1/snapshots and POST /api/v1/snapshots/{id}/deploy"

// keptViews is how many snapshot views a node keeps. They share rules and indexes with the live view, so they are small;
// more than an active and a former snapshot per environment of a few projects are seldom asked for.
const maxViews = 16

// Views gives what evaluations with an environment need: which snapshots are active, and their views. It is safe for
// concurrent use.
type Views struct {
	releases store.ReleaseReader
	rules    store.RuleReader
	live     LiveViews
	// Explained, if not nil, returns an error unless the audit log explains the rows of a kind of [store.KindsInForce] with an id: a snapshot, or the
	// deployments of an environment. Set it before the first use.
	Explained func(ctx context.Context, projectID, kind, id string) error

	mu     sync.Mutex
	active map[string]activeAt // by project
	slots  []*slot             // the one used last at the end
}

// activeAt is which snapshot was active in each environment when the corpus had a version.
type activeAt struct {
	version int64
	ids     map[wire.Environment]string
}

// slot is the view of one snapshot, which is made once.
type slot struct {
	projectID, id string
	making        sync.Mutex
	view          *corpus.View
}

// NewViews makes Views.
func NewViews(releases store.ReleaseReader, rules store.RuleReader, live LiveViews) *Views {
	return &Views{releases: releases, rules: rules, live: live, active: map[string]activeAt{}}
}

// slot finds or makes the slot of a snapshot, and drops the one that was not used for longest.
func (v *Views) slot(projectID, id string) *slot {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.slots, func(s *slot) bool { return s.projectID == projectID && s.id == id })
	s := &slot{projectID: projectID, id: id}
	if at >= 0 {
		s = v.slots[at]
		v.slots = slices.Delete(v.slots, at, at+1)
	}
	v.slots = append(v.slots, s)
	if len(v.slots) > maxViews {
		v.slots = slices.Delete(v.slots, 0, 1)
	}
	return s
}

// drop forgets a slot, such as that of a snapshot that turned out not to exist.
func (v *Views) drop(s *slot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.slots = slices.DeleteFunc(v.slots, func(other *slot) bool { return other == s })
}

// Deployed returns the view of the snapshot that is active in an environment, and its id; conflict if nothing is deployed
// there: live rules never take the place of it.
func (v *Views) Deployed(ctx context.Context, projectID, environment string) (*corpus.View, string, error) {
	e, err := ParseEnvironment(environment)
	if err != nil {
		return nil, "", err
	}
	active, err := v.activeIn(ctx, projectID)
	if err != nil {
		return nil, "", err
	}
	id := active[e]
	if id == "" {
		return nil, "", rule.Errorf(rule.CodeConflict, nothingDeployed, e, e)
	}
	view, err := v.View(ctx, projectID, id)
	return view, id, err
}

// Deployed is [Views.Deployed].
func (r *Releases) Deployed(ctx context.Context, projectID, environment string) (*corpus.View, string, error) {
	return r.views.Deployed(ctx, projectID, environment)
}

// activeIn returns the active snapshots of a project by environment. Deployments raise the corpus version, so what was read at
// a version holds as long as the live view has it.
func (v *Views) activeIn(ctx context.Context, projectID string) (map[wire.Environment]string, error) {
	live, err := v.live.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	cached, ok := v.active[projectID]
	v.mu.Unlock()
	if ok && cached.version >= live.Version() {
		return cached.ids, nil
	}
	list, err := activeDeployments(ctx, v.releases, projectID)
	if err != nil {
		return nil, err
	}
	read := activeAt{version: live.Version(), ids: map[wire.Environment]string{}}
	for _, d := range list {
		read.ids[d.Environment] = d.SnapshotID
		if v.Explained != nil {
			if err := v.Explained(ctx, projectID, store.DeploymentInForce, string(d.Environment)); err != nil {
				return nil, err
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if now, ok := v.active[projectID]; !ok || now.version < read.version {
		v.active[projectID] = read
	}
	return read.ids, nil
}

// View returns the view of a snapshot.
func (v *Views) View(ctx context.Context, projectID, id string) (*corpus.View, error) {
	s := v.slot(projectID, id)
	s.making.Lock()
	defer s.making.Unlock()
	if s.view != nil {
		return s.view, nil
	}
	view, err := v.makeView(ctx, projectID, id)
	if err != nil {
		v.drop(s)
		return nil, err
	}
	s.view = view
	return view, nil
}

// makeView makes the view of a snapshot from the live one: rules that have not changed since are shared, the others are read.
func (v *Views) makeView(ctx context.Context, projectID, id string) (*corpus.View, error) {
	snapshot, m, err := manifestOf(ctx, v.releases, projectID, id)
	if err != nil {
		return nil, err
	}
	if v.Explained != nil {
		if err := v.Explained(ctx, projectID, store.SnapshotInForce, id); err != nil {
			return nil, err
		}
	}
	live, err := v.live.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]int, len(m.Items))
	for _, item := range m.Items {
		versions[item.RuleID] = item.Version
	}
	outgoing := map[string][]rule.Relationship{}
	for _, rel := range m.Relationships {
		outgoing[rel.FromID] = append(outgoing[rel.FromID], rel)
	}
	same := func(e *corpus.Entry) bool {
		return versions[e.Rule.ID] == e.Rule.Version && slices.Equal(e.Relationships, outgoing[e.Rule.ID])
	}
	var others []store.VersionRef
	for _, item := range m.Items {
		if e, ok := live.Get(item.RuleID); !ok || !same(e) {
			others = append(others, store.VersionRef(item))
		}
	}
	read, err := v.rules.AtVersions(ctx, projectID, others)
	if err != nil {
		return nil, err
	}
	states := make([]store.RuleState, 0, len(others))
	for _, ref := range others {
		one, ok := read[ref.RuleID]
		if !ok {
			return nil, rule.Errorf(rule.CodeInternal, "snapshot %s cannot be used: version %d of rule %s is not stored", id, ref.Version, ref.RuleID)
		}
		states = append(states, store.RuleState{Rule: one, Relationships: outgoing[ref.RuleID]})
	}
	view, err := live.Restrict(snapshot.CorpusVersion, m.Federation.tree(), same, states)
	if err != nil || v.Explained == nil || len(others) == 0 {
		return view, err
	}
	// Versions of the past are as the snapshot has them, or decide nothing.
	if _, root := capture(view); root != snapshot.ContentHash {
		return nil, rule.Errorf(rule.CodeUnavailable, "snapshot %s cannot be used: the stored versions of its rules are not those that were released. "+
			"Restore the database from a backup, or deploy another snapshot%w", id, store.ErrDamaged)
	}
	return view, nil
}
