package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// fullText is a database's index of the words of documents. The words are normalised, so that both databases
// find the same; each ranks words in its own way.
type fullText interface {
	// insert stores the chunks of a document and indexes them.
	insert(ctx context.Context, t *session, projectID, documentID string, chunks []store.DocumentChunk) error
	// remove takes the chunks of a document out of the index, before they are deleted.
	remove(ctx context.Context, t *session, projectID, documentID string) error
	// hits returns the beginning of a query WITH ... hits (document_id, n, score), the chunks that match, with its arguments.
	hits(d *dialect, q store.DocumentQuery) (with string, args []any)
}

// ranked continues from hits: the score of a document is that of its best chunk plus that of its names (chunk 0).
const ranked = `,
	placed AS (
		SELECT document_id, n, score, ROW_NUMBER() OVER (PARTITION BY document_id, CASE WHEN n = 0 THEN 0 ELSE 1 END ORDER BY score DESC, n) AS place
		FROM hits
	),
	found AS (SELECT document_id, MAX(n) AS n, SUM(score) AS score FROM placed WHERE place = 1 GROUP BY document_id)
	SELECT document_id, n, score, COUNT(*) OVER () FROM found ORDER BY score DESC, document_id DESC LIMIT ? OFFSET ?`

// Find implements store.DocumentReader.
func (t documentTable) Find(ctx context.Context, q store.DocumentQuery) ([]store.DocumentMatch, int, error) {
	if len(q.Any) == 0 && len(q.Phrases) == 0 {
		return []store.DocumentMatch{}, 0, nil
	}
	with, args := t.d.fullText.hits(t.d, q)
	return t.matches(ctx, q, with, args)
}

// Scan implements store.DocumentReader.
func (t documentTable) Scan(ctx context.Context, q store.DocumentQuery) ([]store.DocumentMatch, int, error) {
	var patterns []string
	for _, word := range q.Any {
		if word != "" && text(word) { // no text that can be stored holds others
			patterns = append(patterns, "%"+likePattern(word)+"%")
		}
	}
	return t.matches(ctx, q, `WITH hits AS MATERIALIZED (
		SELECT c.document_id, c.n, CAST(COUNT(*) AS DOUBLE PRECISION) AS score
		FROM document_chunks c JOIN `+t.d.each+` ON LOWER(c.text) LIKE value ESCAPE '\'
		WHERE c.project_id = ? GROUP BY c.document_id, c.n
	)`, []any{t.d.list(patterns), q.ProjectID})
}

// likePattern returns the LIKE pattern of a word in text after LOWER, which changes ASCII letters only. Other letters with a
// case match any character.
func likePattern(word string) string {
	var b strings.Builder
	for _, c := range word {
		lower, upper := strings.ToLower(string(c)), strings.ToUpper(string(c))
		switch {
		case c == '%' || c == '_' || c == '\\':
			b.WriteString(`\` + string(c))
		case c >= 0x80 && lower != upper:
			b.WriteByte('_')
		default:
			b.WriteString(lower)
		}
	}
	return b.String()
}

// matches runs a query that begins with hits. Beyond the last page it runs it again for the total.
func (t documentTable) matches(ctx context.Context, q store.DocumentQuery, with string, args []any) ([]store.DocumentMatch, int, error) {
	list, total := []store.DocumentMatch{}, 0
	err := t.lockedSnapshot(ctx, documentsOf(q.ProjectID), func(r *session) error {
		page := func(limit, offset int) error {
			return r.each(ctx, "find documents", with+ranked, append(slices.Clip(args), limit, offset), func(rows *sql.Rows) error {
				var m store.DocumentMatch
				if err := rows.Scan(&m.DocumentID, &m.N, &m.Score, &total); err != nil {
					return err
				}
				list = append(list, m)
				return nil
			})
		}
		if err := page(max(q.Limit, 0), max(q.Offset, 0)); err != nil || len(list) > 0 {
			return err
		}
		err := page(1, 0)
		list = list[:0]
		return err
	})
	return list, total, err
}

// maxWord is the length in bytes of the longest word that is indexed unchanged. The indexes have their own limits.
const maxWord = 200

// plainTerm returns a word as both indexes store it: letters a to z and digits only, so that neither interprets it.
func plainTerm(word string) string {
	if len(word) > maxWord {
		sum := sha256.Sum256([]byte(word))
		return "x7" + hex.EncodeToString(sum[:])
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "x8" + hex.EncodeToString([]byte(word))
		}
	}
	return word
}

// projectTerm is a term in every chunk of a project, so that a search reads no other project.
func projectTerm(projectID string) string { return "x9" + hex.EncodeToString([]byte(projectID)) }

func plainTerms(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if w != "" {
			out = append(out, plainTerm(w))
		}
	}
	return out
}

const chunkInto = "INSERT INTO document_chunks (project_id, document_id, n, section, page, line, text"

// fts5 is the full text of SQLite (https://sqlite.org/fts5.html): BM25 ranks words. The id of a row
// combines the numbers of the document and of the chunk, so that a search does not read the chunks.
type fts5 struct{}

// chunkBits are the bits of a row's id that hold the number of the chunk; queries name them too.
const chunkBits = 20

func (fts5) insert(ctx context.Context, t *session, projectID, documentID string, chunks []store.DocumentChunk) error {
	var number int64
	err := t.row(ctx, "number document",
		"UPDATE documents SET number = (SELECT COALESCE(MAX(number), 0) + 1 FROM documents) WHERE project_id = ? AND id = ? RETURNING number",
		[]any{projectID, documentID}, &number)
	if err != nil {
		return err
	}
	var rows, terms []any
	for _, c := range chunks {
		if c.N >= 1<<chunkBits {
			return rule.Errorf(rule.CodeTooLarge, "a document has at most %d chunks", 1<<chunkBits-1)
		}
		rows = append(rows, projectID, documentID, c.N, c.Section, c.Page, c.Line, c.Text)
		terms = append(terms, number<<chunkBits|int64(c.N), projectTerm(projectID), strings.Join(plainTerms(c.Words), " "), strings.Join(plainTerms(c.Wholes), " "))
	}
	if err := t.execRows(ctx, "insert chunks", chunkInto+") VALUES ", 7, "", rows); err != nil {
		return err
	}
	return t.execRows(ctx, "index chunks", "INSERT INTO document_terms (rowid, project, words, wholes) VALUES ", 4, "", terms)
}

func (fts5) remove(ctx context.Context, t *session, projectID, documentID string) error {
	_, err := t.exec(ctx, "remove from the index", `DELETE FROM document_terms WHERE rowid IN (
		SELECT d.number << 20 | c.n FROM documents d JOIN document_chunks c ON c.project_id = d.project_id AND c.document_id = d.id
		WHERE d.project_id = ? AND d.id = ?)`, projectID, documentID)
	return err
}

func (fts5) hits(_ *dialect, q store.DocumentQuery) (with string, args []any) {
	quoted := func(words []string) string { return `"` + strings.Join(plainTerms(words), " ") + `"` }
	var all, either []string
	for _, phrase := range q.Phrases {
		all = append(all, quoted(phrase))
	}
	for _, word := range q.Any {
		either = append(either, quoted([]string{word}))
	}
	match := strings.Join(append(slices.Clip(all), "("+strings.Join(append(either, all...), " OR ")+")"), " AND ")
	// The project weighs nothing. A column filter is no part of a word, since words are only letters and digits.
	return `WITH hits AS MATERIALIZED (
		SELECT d.id AS document_id, document_terms.rowid & 1048575 AS n, -bm25(document_terms, 0.0, 1.0, 1.0) AS score
		FROM document_terms JOIN documents d ON d.number = document_terms.rowid >> 20
		WHERE document_terms MATCH ? AND d.project_id = ?
	)`, []any{`project : "` + projectTerm(q.ProjectID) + `" AND ` + match, q.ProjectID}
}

// tsvector is the full text of PostgreSQL. Its ranking ignores how rare a word is, so the query weighs each word by
// that, as BM25 does.
type tsvector struct{}

// maxPosition is the largest position that a tsvector distinguishes.
const maxPosition = 16_383

func (tsvector) insert(ctx context.Context, t *session, projectID, documentID string, chunks []store.DocumentChunk) error {
	var rows []any
	for _, c := range chunks {
		var b strings.Builder
		b.WriteString(projectTerm(projectID))
		for i, w := range plainTerms(c.Words) {
			fmt.Fprintf(&b, " %s:%d", w, min(i+1, maxPosition))
		}
		for _, w := range plainTerms(c.Wholes) {
			fmt.Fprintf(&b, " %s:%d", w, maxPosition)
		}
		rows = append(rows, projectID, documentID, c.N, c.Section, c.Page, c.Line, c.Text, b.String())
	}
	return t.execRows(ctx, "insert chunks", chunkInto+", terms) VALUES ", 8, "", rows)
}

func (tsvector) remove(context.Context, *session, string, string) error { return nil } // it is a column

func (tsvector) hits(d *dialect, q store.DocumentQuery) (with string, args []any) {
	var all []string
	for _, phrase := range q.Phrases {
		all = append(all, "("+strings.Join(plainTerms(phrase), " <-> ")+")")
	}
	either := plainTerms(q.Any)
	match := projectTerm(q.ProjectID)
	if len(all) > 0 {
		match += " & " + strings.Join(all, " & ")
	} else {
		match += " & (" + strings.Join(either, " | ") + ")"
	}
	units := d.list(append(either, all...))
	return `WITH total AS MATERIALIZED (SELECT COUNT(*) AS n FROM document_chunks WHERE project_id = ?),
	units AS MATERIALIZED (
		SELECT CAST(value AS TSQUERY) AS q, (
			SELECT LN(1 + (total.n - COUNT(*) + 0.5) / (COUNT(*) + 0.5)) FROM document_chunks
			WHERE project_id = ? AND terms @@ (CAST(? AS TSQUERY) && CAST(value AS TSQUERY))
		) AS weight
		FROM total, ` + d.each + `
	),
	hits AS MATERIALIZED (
		SELECT document_id, n, (SELECT CAST(SUM(weight * ts_rank(terms, q, 1)) AS DOUBLE PRECISION) FROM units WHERE terms @@ q) AS score
		FROM document_chunks WHERE project_id = ? AND terms @@ CAST(? AS TSQUERY)
	)`, []any{q.ProjectID, q.ProjectID, projectTerm(q.ProjectID), units, q.ProjectID, match}
}
