package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const documentColumns = "project_id, id, filename, mime_type, title, document_type, sha256, size_bytes, uploaded_by, uploaded_at, " +
	"pages, characters, chunks, embedding_model"

func scanDocument(scan func(...any) error) (store.Document, error) {
	var d store.Document
	var at int64
	err := scan(&d.ProjectID, &d.ID, &d.Filename, &d.MIMEType, &d.Title, &d.DocumentType, &d.SHA256, &d.SizeBytes, &d.UploadedBy, &at,
		&d.Pages, &d.Characters, &d.Chunks, &d.EmbeddingModel)
	d.UploadedAt = fromMicros(at)
	return d, err
}

// Document implements store.DocumentReader.
func (r *reader) Document(ctx context.Context, projectID, id string) (store.Document, error) {
	d, err := r.document(ctx, "id = ?", projectID, canonical(id))
	return d, missing(err, "document", id)
}

// DocumentBySum implements store.DocumentReader.
func (r *reader) DocumentBySum(ctx context.Context, projectID, sha256 string) (store.Document, error) {
	d, err := r.document(ctx, "sha256 = ?", projectID, sha256)
	return d, missing(err, "document with the SHA-256", sha256)
}

func (r *reader) document(ctx context.Context, condition string, args ...any) (store.Document, error) {
	if err := r.hold(ctx, documentsOf(args[0].(string))); err != nil {
		return store.Document{}, err
	}
	return scanDocument(func(dest ...any) error {
		return r.row(ctx, "document", "SELECT "+documentColumns+" FROM documents WHERE project_id = ? AND "+condition, args, dest...)
	})
}

// DocumentsByID implements store.DocumentReader.
func (r *reader) DocumentsByID(ctx context.Context, projectID string, ids []string) (map[string]store.Document, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return nil, err
	}
	in, list := r.d.in("id", ids)
	found := make(map[string]store.Document, len(ids))
	err := r.each(ctx, "documents", "SELECT "+documentColumns+" FROM documents WHERE project_id = ? AND "+in, []any{projectID, list},
		func(rows *sql.Rows) error {
			d, err := scanDocument(rows.Scan)
			found[d.ID] = d
			return err
		})
	return found, err
}

// Documents implements store.DocumentReader.
func (r *reader) Documents(ctx context.Context, projectID string, offset, limit int) ([]store.Document, int, error) {
	list, total := []store.Document{}, 0
	err := r.holding(ctx, documentsOf(projectID), func(r *reader) error {
		if err := r.row(ctx, "count documents", "SELECT COUNT(*) FROM documents WHERE project_id = ?", []any{projectID}, &total); err != nil {
			return err
		}
		return r.each(ctx, "documents",
			"SELECT "+documentColumns+" FROM documents WHERE project_id = ? ORDER BY uploaded_at DESC, id DESC LIMIT ? OFFSET ?",
			[]any{projectID, max(limit, 0), max(offset, 0)}, func(rows *sql.Rows) error {
				d, err := scanDocument(rows.Scan)
				list = append(list, d)
				return err
			})
	})
	return list, total, err
}

// DocumentContent implements store.DocumentReader.
func (r *reader) DocumentContent(ctx context.Context, projectID, id string) ([]byte, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return nil, err
	}
	var content []byte
	err := r.row(ctx, "document content", "SELECT content FROM document_contents WHERE project_id = ? AND document_id = ?",
		[]any{projectID, canonical(id)}, &content)
	return content, missing(err, "document", id)
}

const chunkColumns = "n, section, page, line, text"

func scanChunk(scan func(...any) error) (store.DocumentChunk, error) {
	var c store.DocumentChunk
	err := scan(&c.N, &c.Section, &c.Page, &c.Line, &c.Text)
	return c, err
}

// DocumentChunks implements store.DocumentReader.
func (r *reader) DocumentChunks(ctx context.Context, projectID, id string, after, limit int) ([]store.DocumentChunk, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.DocumentChunk{}
	err := r.each(ctx, "document chunks",
		"SELECT "+chunkColumns+" FROM document_chunks WHERE project_id = ? AND document_id = ? AND n > ? ORDER BY n LIMIT ?",
		[]any{projectID, canonical(id), max(after, 0), max(limit, 0)}, func(rows *sql.Rows) error {
			c, err := scanChunk(rows.Scan)
			list = append(list, c)
			return err
		})
	return list, err
}

// DocumentChunk implements store.DocumentReader.
func (r *reader) DocumentChunk(ctx context.Context, projectID, id string, n int) (store.DocumentChunk, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return store.DocumentChunk{}, err
	}
	c, err := scanChunk(func(dest ...any) error {
		return r.row(ctx, "document chunk", "SELECT "+chunkColumns+" FROM document_chunks WHERE project_id = ? AND document_id = ? AND n = ?",
			[]any{projectID, canonical(id), n}, dest...)
	})
	return c, missing(err, "chunk of the document", id)
}

// InsertDocument implements store.DocumentTx.
func (t *tx) InsertDocument(ctx context.Context, d store.Document, content []byte, chunks []store.DocumentChunk) error {
	// Projects are never deleted, so that its rules need not be locked all the while.
	var one int
	if err := t.row(ctx, "project", "SELECT 1 FROM projects WHERE project_id = ?", []any{d.ProjectID}, &one); err != nil {
		return missing(err, "project", d.ProjectID)
	}
	if err := t.hold(ctx, documentsOf(d.ProjectID)); err != nil {
		return err
	}
	n, err := t.exec(ctx, "insert document",
		"INSERT INTO documents ("+documentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		d.ProjectID, canonical(d.ID), d.Filename, d.MIMEType, d.Title, d.DocumentType, d.SHA256, d.SizeBytes, d.UploadedBy, micros(d.UploadedAt),
		d.Pages, d.Characters, d.Chunks, d.EmbeddingModel)
	if err != nil {
		return err
	}
	if n == 0 {
		return rule.Errorf(rule.CodeConflict, "the project has this document already")
	}
	if content == nil {
		content = []byte{}
	}
	if _, err := t.exec(ctx, "insert document content", "INSERT INTO document_contents (project_id, document_id, content) VALUES (?, ?, ?)",
		d.ProjectID, canonical(d.ID), content); err != nil {
		return err
	}
	return t.d.fullText.insert(ctx, t, d.ProjectID, canonical(d.ID), chunks)
}

// DeleteDocument implements store.DocumentTx.
func (t *tx) DeleteDocument(ctx context.Context, projectID, id string) error {
	if _, err := t.Document(ctx, projectID, id); err != nil {
		return err
	}
	id = canonical(id)
	if err := t.d.fullText.remove(ctx, t, projectID, id); err != nil {
		return err
	}
	for _, table := range []string{"document_vectors", "document_chunks", "document_contents"} {
		if _, err := t.exec(ctx, "delete "+table, "DELETE FROM "+table+" WHERE project_id = ? AND document_id = ?", projectID, id); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, "delete document", "DELETE FROM documents WHERE project_id = ? AND id = ?", projectID, id)
	return err
}

// DocumentVectorKeys implements store.DocumentReader.
func (r *reader) DocumentVectorKeys(ctx context.Context, projectID, model string) ([]store.DocumentVectors, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return nil, err
	}
	list := []store.DocumentVectors{}
	err := r.each(ctx, "document vectors",
		"SELECT document_id, n FROM document_vectors WHERE project_id = ? AND model = ? ORDER BY document_id, n",
		[]any{projectID, model}, func(rows *sql.Rows) error {
			var v store.DocumentVectors
			err := rows.Scan(&v.DocumentID, &v.N)
			list = append(list, v)
			return err
		})
	return list, err
}

// EachDocumentVectors implements store.DocumentReader.
func (r *reader) EachDocumentVectors(ctx context.Context, projectID, model string, documentIDs []string, fn func(store.DocumentVectors) error) error {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return err
	}
	for part := range slices.Chunk(documentIDs, pageSize) {
		in, list := r.d.in("document_id", part)
		err := r.each(ctx, "document vectors",
			"SELECT document_id, n, vectors FROM document_vectors WHERE project_id = ? AND model = ? AND "+in,
			[]any{projectID, model, list}, func(rows *sql.Rows) error {
				var v store.DocumentVectors
				var raw sql.RawBytes
				if err := rows.Scan(&v.DocumentID, &v.N, &raw); err != nil {
					return err
				}
				var err error
				if v.Vectors, err = decodeVectors(raw); err != nil {
					return err
				}
				return fn(v)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// UnembeddedDocuments implements store.DocumentReader.
func (r *reader) UnembeddedDocuments(ctx context.Context, projectID, model string) ([]string, error) {
	if err := r.hold(ctx, documentsOf(projectID)); err != nil {
		return nil, err
	}
	list := []string{}
	err := r.each(ctx, "documents without vectors",
		"SELECT id FROM documents WHERE project_id = ? AND embedding_model <> ? ORDER BY uploaded_at, id", []any{projectID, model},
		func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, err
}

// PutDocumentVectors implements store.DocumentTx.
func (t *tx) PutDocumentVectors(ctx context.Context, projectID, model string, v store.DocumentVectors) error {
	if _, err := t.Document(ctx, projectID, v.DocumentID); err != nil {
		return err
	}
	if len(v.Vectors) == 0 || len(v.Vectors)%store.Dimensions != 0 {
		return rule.Errorf(rule.CodeInvalid, "vectors have %d numbers; a multiple of %d is needed", len(v.Vectors), store.Dimensions)
	}
	for one := range slices.Chunk(v.Vectors, store.Dimensions) {
		if err := validVector(one); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, "put document vectors", `INSERT INTO document_vectors (project_id, model, document_id, n, vectors) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (project_id, model, document_id, n) DO UPDATE SET vectors = excluded.vectors`,
		projectID, model, canonical(v.DocumentID), v.N, encodeVector(v.Vectors))
	return err
}

// MarkEmbedded implements store.DocumentTx.
func (t *tx) MarkEmbedded(ctx context.Context, projectID, id, model string) error {
	if _, err := t.Document(ctx, projectID, id); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "delete document vectors", "DELETE FROM document_vectors WHERE project_id = ? AND document_id = ? AND model <> ?",
		projectID, canonical(id), model); err != nil {
		return err
	}
	_, err := t.exec(ctx, "mark document", "UPDATE documents SET embedding_model = ? WHERE project_id = ? AND id = ?", model, projectID, canonical(id))
	return err
}

// decodeVectors reads vectors that are stored after one another.
func decodeVectors(b []byte) ([]float32, error) {
	if len(b) == 0 || len(b)%(4*store.Dimensions) != 0 {
		return nil, fmt.Errorf("sqlstore: stored vectors have %d bytes, not a multiple of %d", len(b), 4*store.Dimensions)
	}
	list := make([]float32, 0, len(b)/4)
	for one := range slices.Chunk(b, 4*store.Dimensions) {
		v, err := decodeVector(one)
		if err != nil {
			return nil, err
		}
		list = append(list, v...)
	}
	return list, nil
}
