package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const documentColumns = "project_id, id, filename, mime_type, title, document_type, sha256, size_bytes, uploaded_by, uploaded_at, " +
	"pages, characters, chunks, embedding_model, unread"

func documentFields(d *store.Document) []any {
	return []any{
		&d.ProjectID, &d.ID, &d.Filename, &d.MIMEType, &d.Title, &d.DocumentType, &d.SHA256, &d.SizeBytes, &d.UploadedBy,
		timeColumn{&d.UploadedAt},
		&d.Pages, &d.Characters, &d.Chunks, &d.EmbeddingModel, &d.Unread,
	}
}

// Get implements store.DocumentReader.
func (t documentTable) Get(ctx context.Context, projectID, id string) (store.Document, error) {
	d, err := t.document(ctx, "id = ?", projectID, canonical(id))
	return d, notFound(err, "document", id)
}

// GetBySum implements store.DocumentReader.
func (t documentTable) GetBySum(ctx context.Context, projectID, sha256 string) (store.Document, error) {
	d, err := t.document(ctx, "sha256 = ?", projectID, sha256)
	return d, notFound(err, "document with the SHA-256", sha256)
}

func (t documentTable) document(ctx context.Context, condition string, args ...any) (store.Document, error) {
	return one(ctx, t.session, documentsOf(args[0].(string)), "document", "SELECT "+documentColumns+" FROM documents WHERE project_id = ? AND "+condition, args, documentFields)
}

// State implements store.DocumentReader.
func (t documentTable) State(ctx context.Context, projectID string) (store.DocumentState, error) {
	return one(ctx, t.session, documentsOf(projectID), "documents",
		"SELECT COUNT(*), COALESCE(MAX(id), ''), CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT), CAST(COALESCE(SUM(characters), 0) AS BIGINT) FROM documents WHERE project_id = ?",
		[]any{projectID}, func(s *store.DocumentState) []any { return []any{&s.Documents, &s.Newest, &s.SizeBytes, &s.Characters} })
}

// GetMany implements store.DocumentReader.
func (t documentTable) GetMany(ctx context.Context, projectID string, ids []string) (map[string]store.Document, error) {
	in, names := t.d.in("id", ids)
	list, err := many(ctx, t.session, documentsOf(projectID), "documents", "SELECT "+documentColumns+" FROM documents WHERE project_id = ? AND "+in,
		[]any{projectID, names}, documentFields)
	found := make(map[string]store.Document, len(list))
	for _, d := range list {
		found[d.ID] = d
	}
	return found, err
}

// List implements store.DocumentReader.
func (t documentTable) List(ctx context.Context, projectID string, offset, limit int) ([]store.Document, int, error) {
	return page(ctx, t.session, documentsOf(projectID), "documents", documentColumns, "FROM documents WHERE project_id = ?", "uploaded_at DESC, id DESC",
		[]any{projectID}, window{offset, limit}, documentFields)
}

// Content implements store.DocumentReader.
func (t documentTable) Content(ctx context.Context, projectID, id string) ([]byte, error) {
	content, err := one(ctx, t.session, documentsOf(projectID), "document content",
		"SELECT content FROM document_contents WHERE project_id = ? AND document_id = ?", []any{projectID, canonical(id)},
		bytesFields)
	return content, notFound(err, "document", id)
}

const chunkColumns = "n, section, page, line, text"

func chunkFields(c *store.DocumentChunk) []any {
	return []any{&c.N, &c.Section, &c.Page, &c.Line, &c.Text}
}

// Chunks implements store.DocumentReader.
func (t documentTable) Chunks(ctx context.Context, projectID, id string, after, limit int) ([]store.DocumentChunk, error) {
	return many(ctx, t.session, documentsOf(projectID), "document chunks",
		"SELECT "+chunkColumns+" FROM document_chunks WHERE project_id = ? AND document_id = ? AND n > ? ORDER BY n LIMIT ?",
		[]any{projectID, canonical(id), max(after, 0), max(limit, 0)}, chunkFields)
}

// Chunk implements store.DocumentReader.
func (t documentTable) Chunk(ctx context.Context, projectID, id string, n int) (store.DocumentChunk, error) {
	c, err := one(ctx, t.session, documentsOf(projectID), "document chunk", "SELECT "+chunkColumns+" FROM document_chunks WHERE project_id = ? AND document_id = ? AND n = ?",
		[]any{projectID, canonical(id), n}, chunkFields)
	return c, notFound(err, "chunk of the document", id)
}

// Insert implements store.DocumentTx.
func (t documentTable) Insert(ctx context.Context, d store.Document, content []byte, chunks []store.DocumentChunk) error {
	// Projects are never deleted, so the corpus needs no lock.
	if err := t.exists(ctx, "project", d.ProjectID, "SELECT 1 FROM projects WHERE project_id = ?", d.ProjectID); err != nil {
		return err
	}
	n, err := t.lockedExec(ctx, documentsOf(d.ProjectID), "insert document",
		"INSERT INTO documents ("+documentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		d.ProjectID, canonical(d.ID), d.Filename, d.MIMEType, d.Title, d.DocumentType, d.SHA256, d.SizeBytes, d.UploadedBy, micros(d.UploadedAt),
		d.Pages, d.Characters, d.Chunks, d.EmbeddingModel, d.Unread)
	if err := unlessNone(n, err, rule.Errorf(rule.CodeConflict, "the project has this document already")); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "insert document content", "INSERT INTO document_contents (project_id, document_id, content) VALUES (?, ?, ?)",
		d.ProjectID, canonical(d.ID), blob(content)); err != nil {
		return err
	}
	return t.d.fullText.insert(ctx, t.session, d.ProjectID, canonical(d.ID), chunks)
}

// Delete implements store.DocumentTx.
func (t documentTable) Delete(ctx context.Context, projectID, id string) error {
	if _, err := t.Get(ctx, projectID, id); err != nil {
		return err
	}
	id = canonical(id)
	if err := t.d.fullText.remove(ctx, t.session, projectID, id); err != nil {
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

// Keys implements store.VectorReader.
func (t vectorTable) Keys(ctx context.Context, projectID, model string) ([]store.DocumentVectors, error) {
	return many(ctx, t.session, documentsOf(projectID), "document vectors",
		"SELECT document_id, n FROM document_vectors WHERE project_id = ? AND model = ? ORDER BY document_id, n",
		[]any{projectID, model}, func(v *store.DocumentVectors) []any { return []any{&v.DocumentID, &v.N} })
}

// Each implements store.VectorReader.
func (t vectorTable) Each(ctx context.Context, projectID, model string, documentIDs []string, fn func(store.DocumentVectors) error) error {
	if err := t.lock(ctx, documentsOf(projectID)); err != nil {
		return err
	}
	for part := range slices.Chunk(documentIDs, pageSize) {
		in, list := t.d.in("document_id", part)
		err := t.each(ctx, "document vectors",
			"SELECT document_id, n, vectors FROM document_vectors WHERE project_id = ? AND model = ? AND "+in,
			[]any{projectID, model, list}, func(rows *sql.Rows) error {
				var v store.DocumentVectors
				if err := rows.Scan(&v.DocumentID, &v.N, vectorsColumn{&v.Vectors}); err != nil {
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

// Unembedded implements store.VectorReader.
func (t vectorTable) Unembedded(ctx context.Context, projectID, model string) ([]string, error) {
	return many(ctx, t.session, documentsOf(projectID), "documents without vectors",
		"SELECT id FROM documents WHERE project_id = ? AND embedding_model <> ? ORDER BY uploaded_at, id", []any{projectID, model}, textFields)
}

// Put implements store.VectorTx.
func (t vectorTable) Put(ctx context.Context, projectID, model string, v store.DocumentVectors) error {
	if _, err := documentTable(t).Get(ctx, projectID, v.DocumentID); err != nil {
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

// MarkEmbedded implements store.VectorTx.
func (t vectorTable) MarkEmbedded(ctx context.Context, projectID, id, model string) error {
	if _, err := documentTable(t).Get(ctx, projectID, id); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "delete document vectors", "DELETE FROM document_vectors WHERE project_id = ? AND document_id = ? AND model <> ?",
		projectID, canonical(id), model); err != nil {
		return err
	}
	_, err := t.exec(ctx, "mark document", "UPDATE documents SET embedding_model = ? WHERE project_id = ? AND id = ?", model, projectID, canonical(id))
	return err
}
