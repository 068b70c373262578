// Package edge evaluates from bundles instead of a database of rules: it follows a place of bundles, keeps the last good one on disk, and
// gives the rest of Tenet the readers that a database would give. Records stay in a database of the edge's own.
package edge

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"tenet/internal/bundle"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Corpus holds the contents of the newest bundle, and is read as a database is. It is safe for concurrent use. It is empty until the first
// Put.
type Corpus struct {
	mu      sync.RWMutex
	version int64
	held    *held
}

// held are contents with what finds things in them. It never changes.
type held struct {
	*bundle.Contents

	head     bundle.Head
	manifest []byte
	at       map[string]int // places of rules by id
	slugs    map[string]int
	outgoing map[string][]rule.Relationship
	tally    store.Tally
	// rulesChanged are the versions at which rules were last changed, in the order of Rules. changed has the same of rules that are gone, nodes and attachments, by
	// id; gone are those that are no longer there.
	rulesChanged []int64
	changed      map[string]int64
	goneRules    map[string]rule.Rule
	goneNodes    map[string]rule.Node
	goneAttach   map[string]rule.Attachment
}

// Keys of things in held.changed.
func nodeKey(id string) string                { return "node " + id }
func attachmentKey(a *rule.Attachment) string { return "attachment " + a.NodeID + " " + a.RuleID }

// Put takes the contents of a bundle in place of those before. manifest is that of its snapshot, as package release stores it.
func (c *Corpus) Put(head bundle.Head, contents *bundle.Contents, manifest []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.version + 1
	h := &held{
		Contents: contents, head: head, manifest: manifest, at: make(map[string]int, len(contents.Rules)), slugs: make(map[string]int, len(contents.Rules)),
		outgoing: map[string][]rule.Relationship{}, tally: store.Tally{Version: version, Rules: len(contents.Rules), Digest: head.RawHash},
		rulesChanged: make([]int64, len(contents.Rules)), changed: map[string]int64{},
		goneRules: map[string]rule.Rule{}, goneNodes: map[string]rule.Node{}, goneAttach: map[string]rule.Attachment{},
	}
	for i := range contents.Rules {
		r := &contents.Rules[i]
		h.at[r.ID] = i
		if r.Slug != "" {
			h.slugs[r.Slug] = i
		}
	}
	for _, rel := range contents.Relationships {
		h.outgoing[rel.FromID] = append(h.outgoing[rel.FromID], rel)
	}
	h.compare(c.held, version)
	c.held, c.version = h, version
}

// compare finds what has changed since the contents before, so that views change by that alone.
func (h *held) compare(before *held, version int64) {
	if before == nil {
		before = &held{Contents: &bundle.Contents{}}
	}
	mark := func(key string, same bool) {
		h.changed[key] = version
		if same {
			h.changed[key] = before.changed[key]
		}
	}
	for id, r := range before.goneRules {
		h.goneRules[id], h.changed[id] = r, before.changed[id]
	}
	for i := range h.Rules {
		r := &h.Rules[i]
		h.rulesChanged[i] = version
		if len(before.at) == 0 {
			continue
		}
		if at, ok := before.at[r.ID]; ok && equal(&before.Rules[at], r) && slices.Equal(before.outgoing[r.ID], h.outgoing[r.ID]) {
			h.rulesChanged[i] = before.rulesChanged[at]
		}
	}
	for i := range before.Rules {
		if r := before.Rules[i]; !has(h.at, r.ID) {
			r.Status = rule.Retired
			r.Version++
			h.goneRules[r.ID], h.changed[r.ID] = r, version
		}
	}
	maps.DeleteFunc(h.goneRules, func(id string, _ rule.Rule) bool { return has(h.at, id) })
	old := map[string]rule.Node{}
	for _, n := range before.Nodes {
		old[n.ID] = n
	}
	for id, n := range before.goneNodes {
		h.goneNodes[id], h.changed[nodeKey(id)] = n, before.changed[nodeKey(id)]
	}
	for _, n := range h.Nodes {
		was, ok := old[n.ID]
		mark(nodeKey(n.ID), ok && reflect.DeepEqual(was, n))
		delete(old, n.ID)
		delete(h.goneNodes, n.ID)
	}
	for id, n := range old {
		h.goneNodes[id], h.changed[nodeKey(id)] = n, version
	}
	attached := map[string]rule.Attachment{}
	for _, a := range before.Attachments {
		attached[attachmentKey(&a)] = a
	}
	for key, a := range before.goneAttach {
		h.goneAttach[key], h.changed[key] = a, before.changed[key]
	}
	for _, a := range h.Attachments {
		key := attachmentKey(&a)
		was, ok := attached[key]
		mark(key, ok && reflect.DeepEqual(was, a))
		delete(attached, key)
		delete(h.goneAttach, key)
	}
	for key, a := range attached {
		h.goneAttach[key], h.changed[key] = a, version
	}
}

func has(m map[string]int, key string) bool {
	_, ok := m[key]
	return ok
}

// equal compares two rules as they are sent.
func equal(a, b *rule.Rule) bool {
	if a.Version != b.Version || a.Status != b.Status || a.Statement != b.Statement {
		return false
	}
	if reflect.DeepEqual(a, b) { // as nearly all rules of a new bundle are; encoding them takes several times as long
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Head returns the head of the newest bundle; false without one.
func (c *Corpus) Head() (bundle.Head, bool) {
	h, _ := c.now()
	if h == nil {
		return bundle.Head{}, false
	}
	return h.head, true
}

func (c *Corpus) now() (*held, int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.held, c.version
}

// of returns the contents if they are those of a project, else not_found.
func (c *Corpus) of(projectID string) (*held, error) {
	h, _ := c.now()
	if h == nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "this edge has no bundle yet")
	}
	if h.Project.ID != projectID {
		return nil, rule.NotFound("project", projectID)
	}
	return h, nil
}

// Readers returns the readers of a database with those of the corpus in place of what bundles hold.
func (c *Corpus) Readers(local store.Readers) store.Readers {
	local.Projects = projects{c}
	local.Rules = rules{c}
	local.Federation = federation{c}
	local.Waivers = waivers{c}
	local.Keys = keys{c}
	local.Releases = releases{c}
	local.Agents = agents{local.Agents, c}
	return local
}

type projects struct{ c *Corpus }

// List implements [store.ProjectReader].
func (p projects) List(context.Context) ([]rule.Project, error) {
	h, version := p.c.now()
	if h == nil {
		return []rule.Project{}, nil
	}
	project := h.Project
	project.CorpusVersion = version
	return []rule.Project{project}, nil
}

// Get implements [store.ProjectReader].
func (p projects) Get(_ context.Context, id string) (rule.Project, error) {
	h, err := p.c.of(id)
	if err != nil {
		return rule.Project{}, err
	}
	_, version := p.c.now()
	project := h.Project
	project.CorpusVersion = version
	return project, nil
}

// CorpusSum implements [store.ProjectReader].
func (p projects) CorpusSum(context.Context) (int64, error) {
	_, version := p.c.now()
	return version, nil
}

// CorpusVersions implements [store.ProjectReader].
func (p projects) CorpusVersions(context.Context) (map[string]int64, error) {
	h, version := p.c.now()
	if h == nil {
		return map[string]int64{}, nil
	}
	return map[string]int64{h.Project.ID: version}, nil
}

type federation struct{ c *Corpus }

// Follow implements [store.FederationReader].
func (f federation) Follow(_ context.Context, projectID string, after int64, onRule func(store.RuleState) error, onNode func(store.NodeState) error,
	onAttachment func(store.AttachmentState) error,
) (int64, error) {
	f.c.mu.RLock()
	h, version := f.c.held, f.c.version
	f.c.mu.RUnlock()
	if h == nil || h.Project.ID != projectID {
		_, err := f.c.of(projectID)
		return 0, err
	}
	if err := h.eachRule(after, onRule); err != nil {
		return 0, err
	}
	for _, n := range h.Nodes {
		if h.changed[nodeKey(n.ID)] > after {
			if err := onNode(store.NodeState{Node: n}); err != nil {
				return 0, err
			}
		}
	}
	for id, n := range h.goneNodes {
		if after > 0 && h.changed[nodeKey(id)] > after {
			if err := onNode(store.NodeState{Node: n, Removed: true}); err != nil {
				return 0, err
			}
		}
	}
	for _, a := range h.Attachments {
		if h.changed[attachmentKey(&a)] > after {
			if err := onAttachment(store.AttachmentState{Attachment: a}); err != nil {
				return 0, err
			}
		}
	}
	for key, a := range h.goneAttach {
		if after > 0 && h.changed[key] > after {
			if err := onAttachment(store.AttachmentState{Attachment: a, Removed: true}); err != nil {
				return 0, err
			}
		}
	}
	return version, nil
}

// eachRule calls fn for the rules that have changed after a version, in order of id.
func (h *held) eachRule(after int64, fn func(store.RuleState) error) error {
	var gone []string
	for id := range h.goneRules {
		if after > 0 && h.changed[id] > after {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	before := func(id string) error { // calls fn for the rules that are gone, with ids before this one
		for len(gone) > 0 && gone[0] < id {
			if err := fn(store.RuleState{Rule: h.goneRules[gone[0]]}); err != nil {
				return err
			}
			gone = gone[1:]
		}
		return nil
	}
	for i := range h.Rules {
		if h.rulesChanged[i] <= after {
			continue
		}
		r := &h.Rules[i]
		if err := before(r.ID); err != nil {
			return err
		}
		if err := fn(store.RuleState{Rule: *r, Relationships: h.outgoing[r.ID]}); err != nil {
			return err
		}
	}
	for _, id := range gone {
		if err := fn(store.RuleState{Rule: h.goneRules[id]}); err != nil {
			return err
		}
	}
	return nil
}

type rules struct{ c *Corpus }

// AtVersions implements [store.RuleReader]. An edge has the versions of its bundle alone.
func (r rules) AtVersions(_ context.Context, projectID string, refs []store.VersionRef) (map[string]rule.Rule, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return nil, err
	}
	found := make(map[string]rule.Rule, len(refs))
	for _, ref := range refs {
		if i, ok := h.at[ref.RuleID]; ok && h.Rules[i].Version == ref.Version {
			found[ref.RuleID] = h.Rules[i]
		}
	}
	return found, nil
}

// Get implements [store.RuleReader].
func (r rules) Get(_ context.Context, projectID, ref string) (rule.Rule, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return rule.Rule{}, err
	}
	if i, ok := h.find(ref); ok {
		return h.Rules[i], nil
	}
	return rule.Rule{}, rule.NotFound("rule", ref)
}

func (h *held) find(ref string) (int, bool) {
	if i, ok := h.at[strings.ToLower(ref)]; ok {
		return i, true
	}
	i, ok := h.slugs[ref]
	return i, ok
}

// GetMany implements [store.RuleReader].
func (r rules) GetMany(_ context.Context, projectID string, refs []string) (map[string]rule.Rule, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return nil, err
	}
	found := map[string]rule.Rule{}
	for _, ref := range refs {
		if i, ok := h.find(ref); ok {
			found[ref] = h.Rules[i]
		}
	}
	return found, nil
}

// Version implements [store.RuleReader].
func (r rules) Version(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error) {
	found, err := r.Get(ctx, projectID, ruleID)
	if err == nil && found.Version != version {
		err = rule.Errorf(rule.CodeNotFound, "this edge has version %d of rule %s alone; ask the server for others", found.Version, ruleID)
	}
	return found, err
}

// Versions implements [store.RuleReader].
func (r rules) Versions(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Rule, int, error) {
	found, err := r.Get(ctx, projectID, ruleID)
	if err != nil {
		return nil, 0, err
	}
	return window([]rule.Rule{found}, offset, limit), 1, nil
}

// window returns a page of a list.
func window[T any](list []T, offset, limit int) []T {
	offset = min(max(offset, 0), len(list))
	return list[offset:min(len(list), offset+max(limit, 0))]
}

// Changes implements [store.RuleReader].
func (r rules) Changes(_ context.Context, projectID string, after int64, fn func(store.RuleState) error) (int64, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return 0, err
	}
	return h.tally.Version, h.eachRule(after, fn)
}

// Tally implements [store.RuleReader].
func (r rules) Tally(_ context.Context, projectID string) (store.Tally, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return store.Tally{}, err
	}
	return h.tally, nil
}

// Relationships implements [store.RuleReader].
func (r rules) Relationships(_ context.Context, projectID, ruleID string) ([]rule.Relationship, error) {
	h, err := r.c.of(projectID)
	if err != nil {
		return nil, err
	}
	list := []rule.Relationship{}
	for _, rel := range h.Contents.Relationships {
		if rel.FromID == ruleID || rel.ToID == ruleID {
			list = append(list, rel)
		}
	}
	slices.SortStableFunc(list, func(a, b rule.Relationship) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}
