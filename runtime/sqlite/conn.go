package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"
)

// conn is one connection to a file, used by one goroutine at a time. It speaks
// to the driver directly: database/sql costs a few microseconds a statement,
// which is a good part of what an insert takes.
type conn struct {
	raw   driver.Conn
	stmts map[string]statement
	args  []driver.NamedValue
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// dial opens a connection and sets pragmas on it.
func dial(path, mode string, pragmas ...string) (*conn, error) {
	raw, err := (&sqlite.Driver{}).Open(address(path, mode))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: make(map[string]statement)}
	for _, p := range append([]string{"trusted_schema=0"}, pragmas...) {
		if err := c.script("PRAGMA " + p); err != nil {
			_ = c.close()
			return nil, err
		}
	}
	return c, nil
}

// close closes the connection. It may be nil.
func (c *conn) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// script runs statements once.
func (c *conn) script(query string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
	return err
}

// prepare returns the statement of a query, which is a constant of this
// package: there are a few dozen.
func (c *conn) prepare(query string) (statement, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	p, err := c.raw.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	s, ok := p.(statement)
	if !ok {
		return nil, fmt.Errorf("the driver's %T cannot run without database/sql", p)
	}
	c.stmts[query] = s
	return s, nil
}

// bind returns arguments as the driver wants them: nil, int64, string and
// []byte. They are good until the next bind.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// each calls row with the columns of every row. They are the callee's: the
// driver copies them.
func (c *conn) each(query string, row func(column []driver.Value) error, args ...any) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	column := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(column); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := row(column); err != nil {
			return err
		}
	}
}

// number returns the only column of the only row, 0 if there is none.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	err = c.each(query, func(column []driver.Value) error {
		n = integer(column[0])
		return nil
	}, args...)
	return n, err
}

// What a column holds. Its table is STRICT, so it is that or NULL.
func integer(v driver.Value) int64 { n, _ := v.(int64); return n }
func text(v driver.Value) string   { s, _ := v.(string); return s }
func blob(v driver.Value) []byte   { b, _ := v.([]byte); return b }
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}
