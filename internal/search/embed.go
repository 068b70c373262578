package search

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tenet/internal/corpus"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// EmbedKind is the kind of the jobs that embed the rules of a project.
const EmbedKind = "rules.embed"

// Sizes of the work on embeddings.
const (
	embedBatch    = 64 // texts of one call and one transaction
	embedParallel = 4  // calls at once
	// After refusedInRow single texts of a refused batch were refused too, the model is to blame and not the texts.
	refusedInRow = 5
	// keptTexts is how many embeddings of texts that no rule has any more are kept: people undo edits.
	keptTexts = 1000
)

// Embeddings stores the vectors of rules.
type Embeddings struct {
	store    store.Updater
	stored   store.EmbeddingReader
	views    corpus.LiveViews
	embedder llm.Embedder
	redactor *redact.Redactor
	log      *slog.Logger
}

// NewEmbeddings makes the keeper of the vectors that an embedder gives. The views must load those of the same model.
func NewEmbeddings(s store.Updater, stored store.EmbeddingReader, views corpus.LiveViews, e llm.Embedder, log *slog.Logger) *Embeddings {
	return &Embeddings{store: s, stored: stored, views: views, embedder: e, redactor: redact.New(), log: log}
}

// Missing reports whether rules of a project have no vector of the embedder's model.
func (e *Embeddings) Missing(ctx context.Context, projectID string) (bool, error) {
	view, err := e.views.Refresh(ctx, projectID)
	if err != nil {
		return false, err
	}
	_, have, of := view.Vectors()
	return have < of, nil
}

// EmbedRules embeds the rules of a project that have no vector of the embedder's model, and those that get a new text
// meanwhile. Rules with equal texts share a vector, so a text is embedded once; what has been stored when it ends early need not
// be done again. Done and total count texts. A text that the model refuses is left out. When nothing is missing any more, the
// vectors of other models are removed, and those of texts that are long gone.
func (e *Embeddings) EmbedRules(ctx context.Context, projectID string, progress func(done, total int)) error {
	w := &embedding{Embeddings: e, projectID: projectID, progress: progress, refused: map[string]bool{}, stored: map[string]bool{}}
	for {
		view, err := e.views.Refresh(ctx, projectID)
		if err != nil {
			return err
		}
		texts, err := w.missing(view)
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			return e.tidy(ctx, projectID, view, len(w.refused) == 0)
		}
		w.total += len(texts)
		progress(w.done, w.total)
		var calls errgroup.Group
		calls.SetLimit(embedParallel)
		for batch := range slices.Chunk(texts, embedBatch) {
			calls.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return w.embed(ctx, batch)
			})
		}
		if err := calls.Wait(); err != nil {
			return err
		}
	}
}

// embedding is one run over a project.
type embedding struct {
	*Embeddings
	projectID string
	progress  func(done, total int)

	mu          sync.Mutex
	done, total int
	refused     map[string]bool // hashes of texts
	stored      map[string]bool
}

// ruleText is a text that needs a vector.
type ruleText struct{ hash, text string }

// missing lists the texts without a vector, each once. A text that has been stored and is missing still would be paid for
// again and again.
func (w *embedding) missing(view *corpus.View) ([]ruleText, error) {
	var list []ruleText
	seen := map[string]bool{}
	for entry := range view.WithoutVector() {
		t := ruleText{corpus.TextHash(entry.Rule), corpus.EmbeddingText(entry.Rule)}
		if w.stored[t.hash] {
			return nil, fmt.Errorf("search: the view does not show the vectors of %s that are stored", w.embedder.ID())
		}
		if !seen[t.hash] && !w.refused[t.hash] {
			seen[t.hash] = true
			list = append(list, t)
		}
	}
	return list, nil
}

// embed embeds and stores one batch.
func (w *embedding) embed(ctx context.Context, batch []ruleText) error {
	texts := make([]string, len(batch))
	for i, t := range batch {
		texts[i] = t.text
	}
	vectors, err := vectorsFrom(ctx, w.embedder, w.redactor, texts)
	switch {
	case err == nil:
	case rule.CodeOf(err) != rule.CodeInvalid:
		return err
	case len(batch) > 1:
		return w.embedEach(ctx, batch, err)
	default:
		w.refuse(ctx, batch[0], err)
		return nil
	}
	rows := make([]store.Embedding, len(batch))
	for i, t := range batch {
		rows[i] = store.Embedding{Model: w.embedder.ID(), TextHash: t.hash, Vector: vectors[i]}
	}
	err = w.store.Update(ctx, func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(ctx, w.projectID)
		if err != nil {
			return err
		}
		return tx.Embeddings.Put(ctx, w.projectID, cv, rows)
	})
	if err != nil {
		return err
	}
	w.mu.Lock()
	for _, t := range batch {
		w.stored[t.hash] = true
	}
	w.mu.Unlock()
	w.count(len(batch))
	return nil
}

// embedEach embeds the texts of a refused batch one by one: one of them may have caused the refusal. If the first ones are all
// refused, the model is wrong, and the error is that of the batch.
func (w *embedding) embedEach(ctx context.Context, batch []ruleText, cause error) error {
	for i := range batch {
		if err := w.embed(ctx, batch[i:i+1]); err != nil {
			return err
		}
		if i+1 == refusedInRow && w.allRefused(batch[:i+1]) {
			return cause
		}
	}
	return nil
}

func (w *embedding) allRefused(batch []ruleText) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(batch, func(t ruleText) bool { return !w.refused[t.hash] })
}

func (w *embedding) refuse(ctx context.Context, t ruleText, err error) {
	w.log.WarnContext(ctx, "the embedding model refuses the text of a rule",
		slog.String("project", w.projectID), slog.String("text_hash", t.hash), slog.Any("error", err))
	w.mu.Lock()
	w.refused[t.hash] = true
	w.mu.Unlock()
	w.count(1)
}

func (w *embedding) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += n
	w.progress(w.done, w.total)
}

// tidy removes vectors that nobody needs. The vectors of another model are kept as long as this one has not all, so that a
// mistaken setting can be taken back at no cost.
func (e *Embeddings) tidy(ctx context.Context, projectID string, view *corpus.View, complete bool) error {
	model := e.embedder.ID()
	hashes, err := e.stored.Hashes(ctx, projectID, model)
	if err != nil {
		return err
	}
	used := make(map[string]bool, view.Len())
	for entry := range view.All() {
		used[corpus.TextHash(entry.Rule)] = true
	}
	unused := slices.DeleteFunc(hashes, func(h string) bool { return used[h] })
	if !complete && len(unused) <= keptTexts {
		return nil
	}
	return e.store.Update(ctx, func(tx store.Tx) error {
		if complete {
			if _, err := tx.Embeddings.DeleteOther(ctx, projectID, model); err != nil {
				return err
			}
		}
		if len(unused) <= keptTexts {
			return nil
		}
		_, err := tx.Embeddings.Delete(ctx, projectID, model, unused)
		return err
	})
}
