package release

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Times of bundles.
const (
	// lookEvery bounds how long a bundle is given out without a look at what it holds.
	lookEvery = 500 * time.Millisecond
	// signEvery is how often the server vouches again that a bundle is the newest.
	signEvery = 5 * time.Second
	// keepBundles is how many bundles of an environment are stored, so that an edge that has one of them gets a delta.
	keepBundles = 5
)

// BundlesConfig sets up [NewBundles]. All fields are required.
type BundlesConfig struct {
	Updater  store.Updater
	Bundles  store.BundleReader
	Releases store.ReleaseReader
	Rules    store.RuleReader
	Projects store.ProjectReader
	Waivers  store.WaiverReader
	Agents   store.AgentReader
	Keys     store.KeyReader
	// Required reports whether callers of the server must say who they are; then those of edges must too.
	Required func(ctx context.Context) (bool, error)
	// Signing returns what signs, and the base of the names of keys; nil if the server signs nothing.
	Signing func() (checkpoint.Signer, string)
	Now     func() time.Time
}

// Bundles writes the deployed rules of environments as signed files. It is safe for concurrent use.
type Bundles struct {
	cfg BundlesConfig

	mu       sync.Mutex
	prepared map[string]*prepared // by project and environment
	watches  map[string]*watch    // the same
	ended    chan struct{}
}

// prepared is the newest bundle of an environment. making is held while it is looked after.
type prepared struct {
	making sync.Mutex
	mark   string      // what it was made of
	looked time.Time   // when that was last compared
	due    atomic.Bool // see [Bundles.Look]
	stored store.Bundle
	head   bundle.Head
	file   bundle.File
	texts  map[string]deltaOf // deltas by the hash of their base
}

type deltaOf struct {
	head bundle.Head
	file bundle.File
}

// NewBundles makes Bundles.
func NewBundles(cfg BundlesConfig) *Bundles {
	return &Bundles{cfg: cfg, prepared: map[string]*prepared{}, watches: map[string]*watch{}, ended: make(chan struct{})}
}

// Look has the bundle of an environment compared with what it is made of at its next use, and at once where callers wait for a newer one: something was
// deployed by this node. What other nodes deploy is found by looking from time to time.
func (b *Bundles) Look(projectID string, environment wire.Environment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := projectID + " " + string(environment)
	if p := b.prepared[name]; p != nil {
		p.due.Store(true)
	}
	if w := b.watches[name]; w != nil {
		select {
		case w.soon <- struct{}{}:
		default: // it looks soon anyway
		}
	}
}

// End ends the streams of news. It may be called once.
func (b *Bundles) End() { close(b.ended) }

// Bundle is a bundle as it is sent.
type Bundle struct {
	Head bundle.Head
	bundle.File
}

// Latest returns the newest bundle of an environment. base is the hash of the text that the caller has; where the change from it is smaller, the
// bundle is a delta. It is a conflict if nothing is deployed there, and unavailable if the server has no key to sign with.
func (b *Bundles) Latest(ctx context.Context, projectID string, environment wire.Environment, base string) (Bundle, error) {
	signer, origin := b.cfg.Signing()
	if signer == nil {
		return Bundle{}, rule.Errorf(rule.CodeUnavailable, "this server signs nothing, so it gives out no bundles; set audit_folder")
	}
	b.mu.Lock()
	name := projectID + " " + string(environment)
	p := b.prepared[name]
	if p == nil {
		p = &prepared{}
		b.prepared[name] = p
	}
	b.mu.Unlock()
	p.making.Lock()
	defer p.making.Unlock()
	now := b.cfg.Now()
	due := p.due.Swap(false)
	if due || p.looked.IsZero() || now.Sub(p.looked) >= lookEvery || now.Before(p.looked) {
		if err := b.look(ctx, p, projectID, environment); err != nil {
			if due {
				p.due.Store(true)
			}
			if rule.CodeOf(err) == rule.CodeNotFound { // made-up projects take no memory
				b.mu.Lock()
				delete(b.prepared, name)
				b.mu.Unlock()
			}
			return Bundle{}, err
		}
		p.looked = now
	}
	if err := b.sign(ctx, p, signer, origin, rule.Instant(now)); err != nil {
		return Bundle{}, err
	}
	if base == "" || base == p.stored.RawHash {
		return Bundle{p.head, p.file}, nil
	}
	return b.delta(ctx, p, signer, base)
}

// look makes the bundle of an environment again if what it holds has changed, and stores it under the next number.
func (b *Bundles) look(ctx context.Context, p *prepared, projectID string, environment wire.Environment) error {
	c := &bundle.Contents{}
	var err error
	if c.Project, err = b.cfg.Projects.Get(ctx, projectID); err != nil {
		return err
	}
	steps, err := b.cfg.Releases.Deployments(ctx, projectID, string(environment))
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return rule.Errorf(rule.CodeConflict, nothingDeployed, environment, environment)
	}
	if err := b.collect(ctx, c, projectID); err != nil {
		return err
	}
	last := steps[len(steps)-1]
	mark := fmt.Sprintf("%d %s %s", last.Seq, last.SnapshotID, marked(c))
	if p.mark == mark {
		return nil
	}
	if err := b.load(ctx, c, projectID, last.SnapshotID); err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	stored, err := b.store(ctx, c, text, projectID, environment, last)
	if err != nil {
		return err
	}
	p.mark, p.stored, p.head, p.file, p.texts = mark, stored, bundle.Head{}, bundle.File{}, map[string]deltaOf{}
	return nil
}

// collect reads what a bundle holds beside the snapshot.
func (b *Bundles) collect(ctx context.Context, c *bundle.Contents, projectID string) (err error) {
	c.Project.CorpusVersion = 0 // it is that of rules that are not deployed
	if c.Waivers, err = b.cfg.Waivers.ListLive(ctx, projectID, b.cfg.Now()); err != nil {
		return err
	}
	for i := range c.Waivers {
		c.Waivers[i].Status = ""
	}
	suspended, err := b.cfg.Agents.Suspended(ctx)
	if err != nil {
		return err
	}
	for _, s := range suspended {
		if s.ProjectID == projectID || s.ProjectID == store.AllProjects {
			c.Suspensions = append(c.Suspensions, s)
		}
	}
	keys, err := b.cfg.Keys.ListAll(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys { // expired ones too: an edge must not open itself as time passes
		if (k.ProjectID == projectID || k.ProjectID == store.AllProjects) && k.RevokedAt == nil {
			c.Keys = append(c.Keys, k)
		}
	}
	c.KeysRequired, err = b.cfg.Required(ctx) // also where all keys are of other projects, or people sign in
	return err
}

// marked returns a text that differs where what a bundle holds beside the snapshot does.
func marked(c *bundle.Contents) string {
	beside := *c
	beside.Snapshot.ID = "none"
	text, err := beside.Encode()
	if err != nil {
		return err.Error() // the bundle cannot be made either, and says why
	}
	return string(text)
}

// load reads the snapshot with its rules.
func (b *Bundles) load(ctx context.Context, c *bundle.Contents, projectID, id string) error {
	s, m, err := manifestOf(ctx, b.cfg.Releases, projectID, id)
	if err != nil {
		return err
	}
	c.Snapshot, c.Relationships, c.Nodes, c.Attachments = s, m.Relationships, m.Federation.Nodes, m.Federation.Attachments
	rules, err := b.cfg.Rules.AtVersions(ctx, projectID, m.refs())
	if err != nil {
		return err
	}
	c.Rules = make([]rule.Rule, len(m.Items))
	for i, item := range m.Items {
		one, ok := rules[item.RuleID]
		if !ok {
			return rule.Errorf(rule.CodeInternal, "snapshot %s cannot be bundled: version %d of rule %s is not stored", id, item.Version, item.RuleID)
		}
		c.Rules[i] = one
	}
	slices.SortFunc(c.Rules, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	if root := RootOf(c); root != s.ContentHash {
		return rule.Errorf(rule.CodeInternal, "snapshot %s cannot be bundled: its rules have the Merkle root %s, not %s", id, root, s.ContentHash)
	}
	return nil
}

// store stores a bundle under the next number, unless the newest has the same text.
func (b *Bundles) store(ctx context.Context, c *bundle.Contents, text []byte, projectID string, environment wire.Environment, last store.Deployment) (store.Bundle, error) {
	h := &bundle.Head{}
	body, err := bundle.Pack(h, text)
	if err != nil {
		return store.Bundle{}, err
	}
	made := store.Bundle{
		ProjectID: projectID, Environment: string(environment), Action: last.Action, SnapshotID: c.Snapshot.ID, Root: c.Snapshot.ContentHash, Rules: len(c.Rules),
		At: rule.Instant(b.cfg.Now()), RawHash: h.RawHash, RawSize: h.RawSize, Hash: h.Hash, Body: body,
	}
	err = b.cfg.Updater.Update(ctx, func(tx store.Tx) error {
		before, err := tx.Bundles.Latest(ctx, projectID, string(environment))
		if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
			return err
		}
		if err == nil && before.RawHash == made.RawHash && before.Action == made.Action {
			made = before
			return nil
		}
		made.Seq = before.Seq + 1
		return tx.Bundles.Insert(ctx, made, keepBundles)
	})
	return made, err
}

// sign completes the head of a bundle and signs it, if the last signature is old.
func (b *Bundles) sign(ctx context.Context, p *prepared, signer checkpoint.Signer, origin string, now time.Time) error {
	if p.file.Note != "" && now.Sub(p.head.Signed) < signEvery && !now.Before(p.head.Signed) {
		return nil
	}
	s := &p.stored
	p.head = bundle.Head{
		Name: bundle.NameOf(origin, s.ProjectID, s.Environment), Project: s.ProjectID, Environment: s.Environment, Seq: s.Seq, Action: s.Action, Snapshot: s.SnapshotID, Root: s.Root,
		Rules: s.Rules, Built: s.At, Signed: now, Size: int64(len(s.Body)), Hash: s.Hash, RawSize: s.RawSize, RawHash: s.RawHash,
	}
	note, err := p.head.Sign(ctx, signer)
	if err != nil {
		return fmt.Errorf("release: signing a bundle: %w", err)
	}
	p.file = bundle.File{Note: note, Body: s.Body}
	for base, d := range p.texts { // deltas vouch for the same time
		d.head.Signed = now
		if d.file.Note, err = d.head.Sign(ctx, signer); err != nil {
			return fmt.Errorf("release: signing a bundle: %w", err)
		}
		p.texts[base] = d
	}
	return nil
}

// delta returns the change from the bundle whose text has a hash, or the whole where that is smaller or the base is not stored any more.
func (b *Bundles) delta(ctx context.Context, p *prepared, signer checkpoint.Signer, base string) (Bundle, error) {
	whole := Bundle{p.head, p.file}
	if d, ok := p.texts[base]; ok {
		return Bundle{d.head, d.file}, nil
	}
	old, err := b.cfg.Bundles.WithHash(ctx, p.stored.ProjectID, p.stored.Environment, base)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return whole, nil
	}
	if err != nil {
		return whole, err
	}
	before, err := bundle.Unpack(old.Body, old.RawSize)
	if err != nil {
		return whole, err
	}
	after, err := bundle.Unpack(p.stored.Body, p.stored.RawSize)
	if err != nil {
		return whole, err
	}
	h, body, err := bundle.PackDelta(p.head, old.Seq, before, after)
	if err != nil {
		return whole, err
	}
	if len(body) >= len(p.stored.Body) {
		return whole, nil
	}
	note, err := h.Sign(ctx, signer)
	if err != nil {
		return whole, err
	}
	p.texts[base] = deltaOf{*h, bundle.File{Note: note, Body: bytes.Clone(body)}}
	return Bundle{*h, p.texts[base].file}, nil
}

// Newest returns the number and the hash of the newest bundle of an environment.
func (b *Bundles) Newest(ctx context.Context, projectID string, environment wire.Environment) (int64, string, error) {
	latest, err := b.Latest(ctx, projectID, environment, "")
	return latest.Head.Seq, latest.Head.RawHash, err
}

// Head returns the signed head of the newest bundle of an environment.
func (b *Bundles) Head(ctx context.Context, projectID string, environment wire.Environment) (string, error) {
	latest, err := b.Latest(ctx, projectID, environment, "")
	return latest.Note, err
}

// Keys returns the verifier keys of an environment's bundles.
func (b *Bundles) Keys(ctx context.Context, projectID string, environment wire.Environment) ([]string, error) {
	signer, origin := b.cfg.Signing()
	if signer == nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "this server signs nothing, so it gives out no bundles; set audit_folder")
	}
	keys, _, err := signer.Keys(ctx, bundle.NameOf(origin, projectID, string(environment)))
	return keys, err
}

// RootOf computes the Merkle root of the snapshot in a bundle from its rules.
func RootOf(c *bundle.Contents) string {
	m := Manifest{Relationships: c.Relationships, Federation: Federation{c.Nodes, c.Attachments}}
	at := make(map[string]int, len(c.Rules))
	for i := range c.Rules {
		at[c.Rules[i].ID] = i
	}
	leaves := leavesOf(len(c.Rules), func(i int) Leaf {
		r := &c.Rules[i]
		return RuleLeaf(wire.ContentHash(r), r.Slug, r.Status)
	})
	return m.root(leaves, at)
}

// ManifestOf returns the manifest of the snapshot in a bundle, as the server has stored it.
func ManifestOf(c *bundle.Contents) ([]byte, error) {
	m := Manifest{Items: make([]Item, len(c.Rules)), Relationships: c.Relationships, Federation: Federation{c.Nodes, c.Attachments}}
	for i := range c.Rules {
		m.Items[i] = Item{RuleID: c.Rules[i].ID, Version: c.Rules[i].Version}
	}
	return m.Encode()
}
