package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
)

// SQLite compiles each statement that it is given as text. An evaluation's record takes six of them, and compiling them takes longer than
// running them. So each connection keeps those that it has compiled; the drivers of PostgreSQL do so anyway.

const (
	// maxPrepared is how many statements a connection keeps. It begins again when there are more.
	maxPrepared = 128
	// maxPreparedText is the longest text, in bytes, of a statement that is kept. Statements with many rows are longer.
	maxPreparedText = 8 << 10
)

// preparing opens connections that keep what they have compiled.
type preparing struct {
	driver driver.Driver
	name   string
}

// Connect implements driver.Connector.
func (p preparing) Connect(context.Context) (driver.Conn, error) {
	c, err := p.driver.Open(p.name)
	if err != nil {
		return nil, err
	}
	whole, ok := c.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("sqlstore: the driver of SQLite lacks a part of its interface"), c.Close())
	}
	return &preparedConn{sqliteConn: whole, statements: map[string]*preparedStatement{}}, nil
}

// Driver implements driver.Connector.
func (p preparing) Driver() driver.Driver { return p.driver }

// sqliteConn is the part of a connection that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt is the part of a statement that runs it.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// preparedConn is a connection that keeps compiled statements. database/sql lets only one goroutine use it at a time.
type preparedConn struct {
	sqliteConn
	statements map[string]*preparedStatement
}

type preparedStatement struct {
	sqliteStmt
	open bool // its rows are being read
}

// statement returns the compiled statement of a text; nil for one that is not kept, or that runs already.
func (c *preparedConn) statement(ctx context.Context, query string) (*preparedStatement, error) {
	if s := c.statements[query]; s != nil {
		if s.open {
			return nil, nil
		}
		return s, nil
	}
	if len(query) > maxPreparedText || !keptKind(query) {
		return nil, nil
	}
	if len(c.statements) >= maxPrepared {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	whole, ok := made.(sqliteStmt)
	if !ok {
		return nil, made.Close()
	}
	s := &preparedStatement{sqliteStmt: whole}
	c.statements[query] = s
	return s, nil
}

// keptKind reports whether a text is a statement that reads or writes rows. Settings and transactions are not kept.
func keptKind(query string) bool {
	verb, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n("), " ")
	switch strings.ToUpper(verb) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// forget closes the statements that do not run.
func (c *preparedConn) forget() (err error) {
	for query, s := range c.statements {
		if !s.open {
			err = errors.Join(err, s.Close())
			delete(c.statements, query)
		}
	}
	return err
}

// ExecContext implements driver.ExecerContext.
func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return s.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.open = true
	return &preparedRows{Rows: rows, of: s}, nil
}

// Close implements driver.Conn. Statements that still run end with the connection.
func (c *preparedConn) Close() error {
	return errors.Join(c.forget(), c.sqliteConn.Close())
}

// preparedRows are rows of a compiled statement, which cannot run again before they are closed.
type preparedRows struct {
	driver.Rows
	of *preparedStatement
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	if r.of == nil {
		return nil
	}
	err := r.Rows.Close()
	r.of.open, r.of = false, nil
	return err
}

// Next implements driver.Rows.
func (r *preparedRows) Next(dest []driver.Value) error {
	if r.of == nil {
		return io.EOF
	}
	return r.Rows.Next(dest)
}
