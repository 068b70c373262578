package document

import (
	"context"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// maxIndexed is for how many projects is kept which rules refer to which documents.
const maxIndexed = 64

// sources knows which rules refer to which documents. It looks through a project's rules once for each of their states.
type sources struct {
	views    Views
	mu       sync.Mutex
	projects map[string]sourceIndex
}

// sourceIndex is the rules that refer to each document, by the document's id, in the order they were made.
type sourceIndex struct {
	version int64 // of the corpus; the view itself would be kept from being dropped
	rules   map[string][]*rule.Rule
}

func newSources(v Views) *sources { return &sources{views: v, projects: map[string]sourceIndex{}} }

// of returns the rules of a project by the documents they refer to.
func (s *sources) of(ctx context.Context, projectID string) (map[string][]*rule.Rule, error) {
	view, err := s.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.projects[projectID]; ok && known.version == view.Version() {
		return known.rules, nil
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

// documentsOf are the ids of the documents that a rule refers to, each once.
func documentsOf(r *rule.Rule) []string {
	var ids []string
next:
	for _, ref := range r.SourceRefs {
		id := strings.ToLower(ref.DocumentID)
		if id == "" {
			continue
		}
		for _, have := range ids {
			if have == id {
				continue next
			}
		}
		ids = append(ids, id)
	}
	return ids
}

// Sourced is a document with a page of the rules that refer to it.
type Sourced struct {
	Document Document
	Rules    []rule.Rule
	Total    int // rules on all pages
}

// BySource returns a document and the rules whose source_refs name it, superseded and retired ones aside, in the order they
// were made; not_found without the document.
func (d *Documents) BySource(ctx context.Context, projectID, id string, p Page) (Sourced, error) {
	document, err := d.Get(ctx, projectID, id)
	if err != nil {
		return Sourced{}, err
	}
	rules, err := d.sources.of(ctx, projectID)
	if err != nil {
		return Sourced{}, err
	}
	all := rules[document.ID]
	s := Sourced{Document: document, Rules: []rule.Rule{}, Total: len(all)}
	for _, r := range part(all, p) {
		s.Rules = append(s.Rules, *r)
	}
	return s, nil
}

// part is a page of a list; empty beyond the end.
func part[T any](all []T, p Page) []T {
	from := min(p.offset(), len(all))
	return all[from:min(from+p.Size, len(all))]
}
