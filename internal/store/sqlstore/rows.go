package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// one locks a domain and reads one row into the fields of a value; [sql.ErrNoRows] without it.
func one[T any](ctx context.Context, s *session, d lockDomain, doing, query string, args []any, fields func(*T) []any) (T, error) {
	var v T
	if err := s.lock(ctx, d); err != nil {
		return v, err
	}
	err := s.row(ctx, doing, query, args, fields(&v)...)
	return v, err
}

// many locks a domain and reads all rows of a query.
func many[T any](ctx context.Context, s *session, d lockDomain, doing, query string, args []any, fields func(*T) []any) ([]T, error) {
	if err := s.lock(ctx, d); err != nil {
		return nil, err
	}
	list := []T{}
	err := s.each(ctx, doing, query, args, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(fields(&v)...)
		list = append(list, v)
		return err
	})
	return list, err
}

// byKey locks a domain and reads all rows of a query into a map.
func byKey[K comparable, V any](ctx context.Context, s *session, d lockDomain, doing, query string, args []any, fields func(*K, *V) []any) (map[K]V, error) {
	type pair struct {
		k K
		v V
	}
	list, err := many(ctx, s, d, doing, query, args, func(p *pair) []any { return fields(&p.k, &p.v) })
	found := make(map[K]V, len(list))
	for _, p := range list {
		found[p.k] = p.v
	}
	return found, err
}

// window selects a part of a list.
type window struct{ offset, limit int }

// page reads a window of the rows that a query selects, and their total, in one state of the database. from is the query from
// FROM on, without its order.
func page[T any](ctx context.Context, s *session, d lockDomain, doing, columns, from, order string, args []any, w window, fields func(*T) []any) (list []T, total int, err error) {
	err = s.lockedSnapshot(ctx, d, func(s *session) error {
		err := s.row(ctx, "count "+doing, "SELECT COUNT(*) "+from, args, &total)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		list, err = many(ctx, s, unlocked, doing, "SELECT "+columns+" "+from+" ORDER BY "+order+" LIMIT ? OFFSET ?",
			append(args, max(w.limit, 0), max(w.offset, 0)), fields)
		return err
	})
	return list, total, err
}

// textFields is a row of one text.
func textFields(s *string) []any { return []any{s} }

// bytesFields is a row of one text as bytes.
func bytesFields(b *[]byte) []any { return []any{b} }

// unlessNone returns err, or none if a statement without an error has touched no row.
func unlessNone(n int64, err, none error) error {
	if err == nil && n == 0 {
		return none
	}
	return err
}

// timeColumn reads a time.
type timeColumn struct{ t *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("sqlstore: a stored time is a %T", value)
	}
	*c.t = fromMicros(n)
	return nil
}

// optionalTimeColumn reads a time that may be null.
type optionalTimeColumn struct{ t **time.Time }

// Scan implements sql.Scanner.
func (c optionalTimeColumn) Scan(value any) error {
	if value == nil {
		*c.t = nil
		return nil
	}
	*c.t = new(time.Time)
	return timeColumn{*c.t}.Scan(value)
}

// jsonColumn reads a value that is stored as JSON.
type jsonColumn struct{ v any }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(value any) error {
	if err := json.Unmarshal(bytesOf(value), c.v); err != nil {
		return fmt.Errorf("sqlstore: stored JSON cannot be read: %w", err)
	}
	return nil
}

// bytesOf returns the bytes of a text from a driver; the caller must not keep them.
func bytesOf(value any) []byte {
	if b, ok := value.([]byte); ok {
		return b
	}
	s, _ := value.(string)
	return []byte(s)
}
