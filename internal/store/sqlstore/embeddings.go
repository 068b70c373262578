package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// EmbeddingsOf implements store.EmbeddingReader.
func (r *reader) EmbeddingsOf(ctx context.Context, projectID, model string, hashes []string) ([]store.Embedding, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.Embedding{}
	for part := range slices.Chunk(hashes, pageSize) {
		in, names := r.d.in("text_hash", part)
		found, err := r.embeddings(ctx, model, in, projectID, model, names)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// EmbeddingChanges implements store.EmbeddingReader.
func (r *reader) EmbeddingChanges(ctx context.Context, projectID, model string, after int64, fn func(store.Embedding) error) error {
	return r.holding(ctx, corpusOf(projectID), func(r *reader) error {
		if after > 0 {
			return r.embeddingsAfter(ctx, projectID, model, after, fn)
		}
		for last := ""; ; {
			page, err := r.embeddings(ctx, model, "text_hash > ? ORDER BY text_hash LIMIT ?", projectID, model, last, pageSize)
			if err != nil {
				return err
			}
			if err := eachOf(page, fn); err != nil || len(page) < pageSize {
				return err
			}
			last = page[len(page)-1].TextHash
		}
	})
}

// embeddingsAfter walks the embeddings that were stored after a corpus version.
func (r *reader) embeddingsAfter(ctx context.Context, projectID, model string, after int64, fn func(store.Embedding) error) error {
	hashes, err := r.embeddingHashes(ctx, "corpus_version > ?", projectID, model, after)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(hashes, pageSize) {
		in, names := r.d.in("text_hash", part)
		page, err := r.embeddings(ctx, model, in+" ORDER BY text_hash", projectID, model, names)
		if err != nil {
			return err
		}
		if err := eachOf(page, fn); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(page []store.Embedding, fn func(store.Embedding) error) error {
	for _, e := range page {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// EmbeddingHashes implements store.EmbeddingReader.
func (r *reader) EmbeddingHashes(ctx context.Context, projectID, model string) ([]string, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	return r.embeddingHashes(ctx, "1 = 1", projectID, model)
}

// embeddingHashes lists the hashes of the embeddings that meet a condition, in order.
func (r *reader) embeddingHashes(ctx context.Context, condition string, args ...any) ([]string, error) {
	hashes := []string{}
	err := r.each(ctx, "embedding hashes", "SELECT text_hash FROM embeddings WHERE project_id = ? AND model = ? AND "+condition,
		args, func(rows *sql.Rows) error {
			var hash string
			err := rows.Scan(&hash)
			hashes = append(hashes, hash)
			return err
		})
	slices.Sort(hashes)
	return hashes, err
}

// embeddings reads the embeddings of a model that meet a condition; args begin with the project and the model.
func (r *reader) embeddings(ctx context.Context, model, condition string, args ...any) ([]store.Embedding, error) {
	var list []store.Embedding
	var raw sql.RawBytes
	err := r.each(ctx, "embeddings", "SELECT text_hash, vector FROM embeddings WHERE project_id = ? AND model = ? AND "+condition,
		args, func(rows *sql.Rows) error {
			e := store.Embedding{Model: model}
			if err := rows.Scan(&e.TextHash, &raw); err != nil {
				return err
			}
			var err error
			e.Vector, err = decodeVector(raw)
			list = append(list, e)
			return err
		})
	return list, err
}

// PutEmbeddings implements store.EmbeddingWriter.
func (t *tx) PutEmbeddings(ctx context.Context, projectID string, cv int64, embeddings []store.Embedding) error {
	if _, err := t.Project(ctx, projectID); err != nil {
		return err
	}
	args := make([]any, 0, 5*len(embeddings))
	for _, e := range embeddings {
		if err := validVector(e.Vector); err != nil {
			return err
		}
		args = append(args, projectID, e.Model, e.TextHash, cv, encodeVector(e.Vector))
	}
	return t.execRows(ctx, "put embeddings", "INSERT INTO embeddings (project_id, model, text_hash, corpus_version, vector) VALUES ",
		5, " ON CONFLICT DO NOTHING", args)
}

// DeleteEmbeddings implements store.EmbeddingWriter.
func (t *tx) DeleteEmbeddings(ctx context.Context, projectID, model string, hashes []string) (int, error) {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return 0, err
	}
	in, names := t.d.in("text_hash", hashes)
	n, err := t.exec(ctx, "delete embeddings", "DELETE FROM embeddings WHERE project_id = ? AND model = ? AND "+in, projectID, model, names)
	return int(n), err
}

// DeleteOtherEmbeddings implements store.EmbeddingWriter.
func (t *tx) DeleteOtherEmbeddings(ctx context.Context, projectID, model string) (int, error) {
	if err := t.hold(ctx, corpusOf(projectID)); err != nil {
		return 0, err
	}
	n, err := t.exec(ctx, "delete other embeddings", "DELETE FROM embeddings WHERE project_id = ? AND model <> ?", projectID, model)
	return int(n), err
}

func validVector(v []float32) error {
	if len(v) != store.Dimensions {
		return rule.Errorf(rule.CodeInvalid,
			"a vector has %d dimensions; choose an embedding model that gives %d", len(v), store.Dimensions)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return rule.Errorf(rule.CodeInvalid, "a vector has %v at place %d; every number must be finite", x, i)
		}
	}
	return nil
}

// encodeVector writes a vector as it is stored: its numbers one after the other, the lowest byte of each first.
func encodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func decodeVector(b []byte) ([]float32, error) {
	if len(b) != 4*store.Dimensions {
		return nil, fmt.Errorf("sqlstore: a stored vector has %d bytes, not %d", len(b), 4*store.Dimensions)
	}
	v := make([]float32, store.Dimensions)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}
