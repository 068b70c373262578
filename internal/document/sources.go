package document

import (
	"context"
	"slices"
	"strings"
	"sync"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// maxIndexed bounds the projects whose rules are indexed by document.
const maxIndexed = 64

// sources indexes rules by the documents that they refer to, once for each state of a project.
type sources struct {
	views    corpus.Views
	mu       sync.Mutex
	projects map[string]sourceIndex
}

// sourceIndex is the rules that refer to each document, by the document's id, in the order of their creation.
type sourceIndex struct {
	version int64 // of the corpus; the view itself would stay in memory
	rules   map[string][]*rule.Rule
}

func newSources(v corpus.Views) *sources {
	return &sources{views: v, projects: map[string]sourceIndex{}}
}

// Sources returns the rules of a project by the documents they refer to, without superseded and retired ones.
func (d *Documents) Sources(ctx context.Context, projectID string) (map[string][]*rule.Rule, error) {
	return d.sources.of(ctx, projectID)
}

func (s *sources) of(ctx context.Context, projectID string) (map[string][]*rule.Rule, error) {
	view, err := s.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if index, ok := s.projects[projectID]; ok && index.version == view.Version() {
		return index.rules, nil
	}
	if len(s.projects) >= maxIndexed {
		clear(s.projects)
	}
	made := sourceIndex{view.Version(), map[string][]*rule.Rule{}}
	for e := range view.All() {
		if e.Rule.Status == rule.Superseded || e.Rule.Status == rule.Retired {
			continue
		}
		for _, id := range documentsOf(e.Rule) {
			made.rules[id] = append(made.rules[id], e.Rule)
		}
	}
	s.projects[projectID] = made
	return made.rules, nil
}

// documentsOf returns the ids of the documents that a rule refers to, each once.
func documentsOf(r *rule.Rule) []string {
	var ids []string
	for _, ref := range r.SourceRefs {
		if id := strings.ToLower(ref.DocumentID); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Sourced is a document with a page of the rules that refer to it.
type Sourced struct {
	Document wire.Document
	Rules    []rule.Rule
	Total    int // rules on all pages
}

// BySource returns a document and the rules whose source_refs name it, in the order of their creation, without superseded and
// retired ones; not_found without the document.
func (d *Documents) BySource(ctx context.Context, projectID, id string, p rule.Page) (Sourced, error) {
	document, err := d.Get(ctx, projectID, id)
	if err != nil {
		return Sourced{}, err
	}
	rules, err := d.Sources(ctx, projectID)
	if err != nil {
		return Sourced{}, err
	}
	all := rules[document.ID]
	s := Sourced{Document: document, Rules: []rule.Rule{}, Total: len(all)}
	from := min(p.Offset(), len(all))
	for _, r := range all[from:min(from+p.Size, len(all))] {
		s.Rules = append(s.Rules, *r)
	}
	return s, nil
}
