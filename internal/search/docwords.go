package search

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/store"
)

// documentWords keeps indexes of the words of documents in memory, within a limit over all projects, so that they are ranked as rules are. The
// database knows when an index is out of date: each search asks it, and takes in what has come and gone, on this node or another.
type documentWords struct {
	store store.DocumentReader
	limit int64 // characters of text

	mu       sync.Mutex
	projects map[string]*projectWords
}

// projectWords is the index of a project.
type projectWords struct {
	used       time.Time // guarded by documentWords.mu
	characters int64     // likewise; of the documents in the index

	mu    sync.Mutex // held while the index is brought up to date
	state store.DocumentState
	index *corpus.Passages
	have  map[string]bool
}

const (
	defaultDocumentText = 32 << 20
	documentPage        = 500 // documents, and pieces, that are read at a time
)

func newDocumentWords(s store.DocumentReader, limit int64) *documentWords {
	return &documentWords{store: s, limit: limit, projects: map[string]*projectWords{}}
}

// index returns the index of a project, or nil if its documents have more text than memory may hold.
func (w *documentWords) index(ctx context.Context, projectID string) (*corpus.Passages, error) {
	state, err := w.store.State(ctx, projectID)
	if err != nil {
		return nil, err
	}
	p := w.project(projectID, state.Characters)
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index != nil && p.state == state {
		return p.index, nil
	}
	if err := p.follow(ctx, w.store, projectID); err != nil {
		return nil, err
	}
	p.state = state
	return p.index, nil
}

// project returns the place of a project's index, in place of those not used for longest if it needs room; nil if it does not fit.
func (w *documentWords) project(projectID string, characters int64) *projectWords {
	w.mu.Lock()
	defer w.mu.Unlock()
	if characters > w.limit {
		delete(w.projects, projectID)
		return nil
	}
	p := w.projects[projectID]
	if p == nil {
		p = &projectWords{}
		w.projects[projectID] = p
	}
	p.used, p.characters = time.Now(), characters
	for {
		sum, oldest := int64(0), ""
		for id, other := range w.projects {
			sum += other.characters
			if id != projectID && (oldest == "" || other.used.Before(w.projects[oldest].used)) {
				oldest = id
			}
		}
		if sum <= w.limit || oldest == "" {
			return p
		}
		delete(w.projects, oldest)
	}
}

// follow brings the index up to date.
func (p *projectWords) follow(ctx context.Context, s store.DocumentReader, projectID string) error {
	now := map[string]bool{}
	var add []corpus.Passage
	for offset := 0; ; offset += documentPage {
		list, _, err := s.List(ctx, projectID, offset, documentPage)
		if err != nil {
			return err
		}
		for i := range list {
			d := &list[i]
			now[d.ID] = true
			if p.have[d.ID] {
				continue
			}
			if add, err = appendPassages(ctx, s, add, d); err != nil {
				return err
			}
		}
		if len(list) < documentPage {
			break
		}
	}
	index := p.index
	if index == nil {
		index = corpus.NewPassages()
	}
	index, err := index.With(add, func(document string) bool { return now[document] })
	if err != nil {
		return err
	}
	p.index, p.have = index, now
	return nil
}

// appendPassages reads the pieces of a document. One without text is found by its names.
func appendPassages(ctx context.Context, s store.DocumentReader, list []corpus.Passage, d *store.Document) ([]corpus.Passage, error) {
	names := strings.Join(slices.DeleteFunc([]string{d.Title, d.Filename}, func(s string) bool { return s == "" }), "\n")
	from := len(list)
	for after := 0; ; {
		chunks, err := s.Chunks(ctx, d.ProjectID, d.ID, after, documentPage)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			list = append(list, corpus.Passage{Document: d.ID, N: c.N, Names: names, Text: c.Text})
			after = c.N
		}
		if len(chunks) < documentPage {
			break
		}
	}
	if len(list) == from {
		list = append(list, corpus.Passage{Document: d.ID, N: 1, Names: names})
	}
	return list, nil
}
