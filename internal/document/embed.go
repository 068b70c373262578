package document

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/job"
	"tenet/internal/poll"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// EmbedKind is the kind of the jobs that embed the chunks of one document. [Documents.EmbedJob] carries them out.
const EmbedKind = "document.embed"

// embedArgs are the arguments of such a job.
type embedArgs struct {
	DocumentID string `json:"document_id"`
	Model      string `json:"model"`
}

// otherModel is after how long a job is left to a node with another model once more: while the setting is changed, nodes
// differ.
const otherModel = 5 * time.Second

// embedBatch is how many chunks are embedded in one call and stored in one transaction.
const embedBatch = 64

// enqueue enqueues the job that embeds a document, as part of a transaction. Without an embedding service it does nothing.
func (d *Documents) enqueue(ctx context.Context, tx store.Tx, projectID, id string) error {
	if d.cfg.Embedder == nil || d.cfg.Queue == nil {
		return nil
	}
	model := d.cfg.Embedder.ID()
	_, err := d.cfg.Queue.Enqueue(ctx, tx, EmbedKind, projectID, embedArgs{id, model}, job.Options{UniqueKey: id + " " + model, Priority: job.Last})
	return err
}

// EnqueueMissing enqueues the jobs for all documents without vectors of the embedder's model, after a change of the model or of
// uploads without one. Without an embedding service it does nothing.
func (d *Documents) EnqueueMissing(ctx context.Context) error {
	if d.cfg.Embedder == nil || d.cfg.Queue == nil {
		return nil
	}
	projects, err := d.store.Projects.List(ctx)
	if err != nil {
		return err
	}
	for _, p := range projects {
		ids, err := d.store.Vectors.Unembedded(ctx, p.ID, d.cfg.Embedder.ID())
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		err = d.store.Update(ctx, func(tx store.Tx) error {
			for _, id := range ids {
				if err := d.enqueue(ctx, tx, p.ID, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// missingEvery is the time between checks for documents without vectors: a job may have been given up while the service was
// away.
const missingEvery = 10 * time.Minute

// Follow enqueues the jobs for documents without vectors, at the start and at intervals, until ctx ends.
func (d *Documents) Follow(ctx context.Context) {
	poll.Every(ctx, missingEvery, d.cfg.Logger, "cannot ask for the vectors of documents; trying again later", d.EnqueueMissing)
}

// EmbedJob is the [job.Handler] of [EmbedKind].
func (d *Documents) EmbedJob(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var args embedArgs
	if err := job.DecodeArgs(&j, &args); err != nil {
		return err
	}
	if d.cfg.Embedder != nil && args.Model != d.cfg.Embedder.ID() {
		return job.RetryIn(otherModel, rule.Errorf(rule.CodeUnavailable, "the node embeds with %s; one with %s has to do this", d.cfg.Embedder.ID(), args.Model))
	}
	return d.EmbedDocument(ctx, j.ProjectID, args.DocumentID, progress)
}

// EmbedDocument makes the vectors of a document's chunks that are missing, and then removes those of other models. What has
// been stored when it ends early need not be done again. Done and total count chunks. A document that is gone needs nothing.
func (d *Documents) EmbedDocument(ctx context.Context, projectID, id string, progress func(done, total int)) error {
	if d.cfg.Embedder == nil {
		return rule.Errorf(rule.CodeUnavailable, "the node has no embedding service; name its model in TENET_EMBEDDING_MODEL")
	}
	model := d.cfg.Embedder.ID()
	document, err := d.store.Documents.Get(ctx, projectID, id)
	if gone(err) || (err == nil && document.EmbeddingModel == model) {
		return nil
	}
	if err != nil {
		return err
	}
	have, err := d.embedded(ctx, projectID, document.ID, model)
	if err != nil {
		return err
	}
	for after := 0; after < document.Chunks; after += embedBatch {
		progress(after, document.Chunks)
		if have[after+1] {
			continue
		}
		if err := d.embedChunks(ctx, document, after); err != nil {
			if gone(err) {
				return nil
			}
			return err
		}
	}
	err = d.store.Update(ctx, func(tx store.Tx) error { return tx.Vectors.MarkEmbedded(ctx, projectID, document.ID, model) })
	if err != nil && !gone(err) {
		return err
	}
	progress(document.Chunks, document.Chunks)
	return nil
}

func gone(err error) bool { return rule.CodeOf(err) == rule.CodeNotFound }

// embedded returns the batches of a document that have vectors, by the number of their first chunk.
func (d *Documents) embedded(ctx context.Context, projectID, id, model string) (map[int]bool, error) {
	keys, err := d.store.Vectors.Keys(ctx, projectID, model)
	have := map[int]bool{}
	for _, k := range keys {
		if k.DocumentID == id {
			have[k.N] = true
		}
	}
	return have, err
}

// keyChunks is how many chunks before a batch are read with it, for a private key that begins in them: eight kilobytes of text.
const keyChunks = 8

// embedChunks makes and stores the vectors of one batch. The service sees the chunks without the secrets in them, and without
// those that begin in one chunk and end in another.
func (d *Documents) embedChunks(ctx context.Context, document store.Document, after int) error {
	start := max(0, after-keyChunks)
	chunks, err := d.store.Documents.Chunks(ctx, document.ProjectID, document.ID, start, after-start+embedBatch)
	if err != nil || len(chunks) <= after-start {
		return err
	}
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = strings.TrimSpace(c.Section + "\n" + c.Text)
	}
	texts = d.redactor.Texts(texts)[after-start:]
	made, err := d.cfg.Embedder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	v := store.DocumentVectors{DocumentID: document.ID, N: after + 1, Vectors: make([]float32, 0, len(made)*store.Dimensions)}
	for _, one := range made {
		v.Vectors = append(v.Vectors, one...)
	}
	if len(v.Vectors) != len(texts)*store.Dimensions {
		return fmt.Errorf("document: the embedder gave %d numbers for %d texts", len(v.Vectors), len(texts))
	}
	return d.store.Update(ctx, func(tx store.Tx) error {
		return tx.Vectors.Put(ctx, document.ProjectID, d.cfg.Embedder.ID(), v)
	})
}
