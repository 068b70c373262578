package sqlstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// GetMany implements store.EmbeddingReader.
func (t embeddingTable) GetMany(ctx context.Context, projectID, model string, hashes []string) ([]store.Embedding, error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.Embedding{}
	for part := range slices.Chunk(hashes, pageSize) {
		in, names := t.d.in("text_hash", part)
		found, err := t.embeddings(ctx, model, in, projectID, model, names)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// Changes implements store.EmbeddingReader.
func (t embeddingTable) Changes(ctx context.Context, projectID, model string, after int64, fn func(store.Embedding) error) error {
	return t.lockedSnapshot(ctx, corpusOf(projectID), func(r *session) error {
		if after > 0 {
			return embeddingTable{r}.embeddingsAfter(ctx, projectID, model, after, fn)
		}
		for last := ""; ; {
			page, err := embeddingTable{r}.embeddings(ctx, model, "text_hash > ? ORDER BY text_hash LIMIT ?", projectID, model, last, pageSize)
			if err != nil {
				return err
			}
			if err := callEach(page, nil, fn); err != nil || len(page) < pageSize {
				return err
			}
			last = page[len(page)-1].TextHash
		}
	})
}

// embeddingsAfter walks the embeddings that were stored after a corpus version.
func (t embeddingTable) embeddingsAfter(ctx context.Context, projectID, model string, after int64, fn func(store.Embedding) error) error {
	hashes, err := t.embeddingHashes(ctx, "corpus_version > ?", projectID, model, after)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(hashes, pageSize) {
		in, names := t.d.in("text_hash", part)
		page, err := t.embeddings(ctx, model, in+" ORDER BY text_hash", projectID, model, names)
		if err != nil {
			return err
		}
		if err := callEach(page, nil, fn); err != nil {
			return err
		}
	}
	return nil
}

// Hashes implements store.EmbeddingReader.
func (t embeddingTable) Hashes(ctx context.Context, projectID, model string) ([]string, error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	return t.embeddingHashes(ctx, "1 = 1", projectID, model)
}

// embeddingHashes lists the hashes of the embeddings that meet a condition, in order.
func (t embeddingTable) embeddingHashes(ctx context.Context, condition string, args ...any) ([]string, error) {
	hashes, err := many(ctx, t.session, unlocked, "embedding hashes",
		"SELECT text_hash FROM embeddings WHERE project_id = ? AND model = ? AND "+condition, args, textFields)
	slices.Sort(hashes)
	return hashes, err
}

// embeddings reads the embeddings of a model that meet a condition; args begin with the project and the model.
func (t embeddingTable) embeddings(ctx context.Context, model, condition string, args ...any) ([]store.Embedding, error) {
	return many(ctx, t.session, unlocked, "embeddings", "SELECT text_hash, vector FROM embeddings WHERE project_id = ? AND model = ? AND "+condition,
		args, func(e *store.Embedding) []any {
			e.Model = model
			return []any{&e.TextHash, vectorsColumn{&e.Vector}}
		})
}

// Put implements store.EmbeddingTx.
func (t embeddingTable) Put(ctx context.Context, projectID string, cv int64, embeddings []store.Embedding) error {
	if _, err := projectTable(t).Get(ctx, projectID); err != nil {
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

// Delete implements store.EmbeddingTx.
func (t embeddingTable) Delete(ctx context.Context, projectID, model string, hashes []string) (int, error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return 0, err
	}
	in, names := t.d.in("text_hash", hashes)
	n, err := t.exec(ctx, "delete embeddings", "DELETE FROM embeddings WHERE project_id = ? AND model = ? AND "+in, projectID, model, names)
	return int(n), err
}

// DeleteOther implements store.EmbeddingTx.
func (t embeddingTable) DeleteOther(ctx context.Context, projectID, model string) (int, error) {
	n, err := t.lockedExec(ctx, corpusOf(projectID), "delete other embeddings", "DELETE FROM embeddings WHERE project_id = ? AND model <> ?", projectID, model)
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

// encodeVector writes a vector as it is stored: its numbers in order, little-endian.
func encodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// vectorsColumn reads one or more concatenated vectors.
type vectorsColumn struct{ v *[]float32 }

// Scan implements sql.Scanner.
func (c vectorsColumn) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok || len(b) == 0 || len(b)%(4*store.Dimensions) != 0 {
		return fmt.Errorf("sqlstore: a stored vector (%T) has %d bytes, not a multiple of %d", value, len(b), 4*store.Dimensions)
	}
	*c.v = make([]float32, len(b)/4)
	for i := range *c.v {
		(*c.v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}
