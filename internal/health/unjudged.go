package health

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// unjudged remembers, by project, the repository globs of federation nodes of which nothing was judged. Its zero value is ready to use.
type unjudged struct {
	mu sync.Mutex
	of map[string]unjudgedGlobs
}

// unjudgedGlobs are the globs of a tree while so many repositories were judged: few changes of one leave the other as it is.
type unjudgedGlobs struct {
	tree   *federation.Tree
	judged int
	at     time.Time
	globs  []federation.Glob
}

const (
	maxUnjudged = 1000        // projects in memory
	unjudgedFor = time.Minute // for as many repositories other ones may have been judged
)

// globs lists the globs of a project of which nothing was judged; judged is how many repositories were.
func (all *unjudged) globs(ctx context.Context, cfg *Config, view *corpus.View, projectID string, judged int) ([]federation.Glob, error) {
	now, tree := cfg.Now(), view.Federation()
	all.mu.Lock()
	u, ok := all.of[projectID]
	all.mu.Unlock()
	if ok && u.tree == tree && u.judged == judged && now.Sub(u.at) < unjudgedFor {
		return u.globs, nil
	}
	list, _, err := cfg.Store.Counts.Repositories(ctx, store.RepositoryFilter{ProjectID: projectID, Order: store.RepositoriesByName, Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Repository
	}
	u = unjudgedGlobs{tree, judged, now, tree.Unmatched(names)}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.of) >= maxUnjudged || all.of == nil {
		all.of = map[string]unjudgedGlobs{}
	}
	all.of[projectID] = u
	return u.globs, nil
}

func unjudgedFigures(view *corpus.View, globs []federation.Glob) []wire.UnjudgedRepository {
	list := make([]wire.UnjudgedRepository, len(globs))
	for i, g := range globs {
		list[i] = wire.UnjudgedRepository{
			Repository: g.Text, Pattern: !g.Exact, NodeID: g.NodeID, NodeName: nodeName(view, g.NodeID), NodePath: view.Federation().Path(g.NodeID),
		}
	}
	return list
}

// ofNode returns the globs of a node; nil means all.
func ofNode(globs []federation.Glob, node *string) []federation.Glob {
	if node == nil {
		return globs
	}
	return slices.DeleteFunc(slices.Clone(globs), func(g federation.Glob) bool { return g.NodeID != *node })
}

// Unjudged lists the repositories and patterns that federation nodes are bound to and of which nothing was judged.
func Unjudged(ctx context.Context, m *Monitor, projectID string, q *wire.UnjudgedQuery) (page wire.Page[wire.UnjudgedRepository], err error) {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return page, err
	}
	node, err := nodeOf(view, q.NodeID)
	if err != nil {
		return page, err
	}
	if _, _, err := m.bringUp(ctx, projectID); err != nil {
		return page, err
	}
	_, judged, err := m.cfg.Store.Counts.Repositories(ctx, store.RepositoryFilter{ProjectID: projectID})
	if err != nil {
		return page, err
	}
	globs, err := m.unjudged.globs(ctx, &m.cfg, view, projectID, judged)
	if err != nil {
		return page, err
	}
	globs = ofNode(globs, chosen(node))
	if words := strings.ToLower(strings.TrimSpace(q.Words)); words != "" {
		globs = slices.DeleteFunc(slices.Clone(globs), func(g federation.Glob) bool { return !strings.Contains(strings.ToLower(g.Text), words) })
	}
	page = wire.Page[wire.UnjudgedRepository]{Total: len(globs), Page: q.Page, PageSize: q.PageSize}
	globs = globs[min(q.Offset(), len(globs)):]
	page.Items = unjudgedFigures(view, globs[:min(q.PageSize, len(globs))])
	return page, nil
}
