// Package view keeps a projection's progress in the database that holds its
// rows, through database/sql: SQLite, PostgreSQL, or what speaks like one of
// them. Rows and progress change in one transaction, so each commit of the
// history takes effect there exactly once, whatever dies when.
//
// A projection embeds a [View], whose two methods make it transactional; its
// functions write through [Tx]:
//
//	//wow:projection name=sales context=shop
//	type Sales struct{ *view.View }
//
//	func (s *Sales) OnOrderPaid(ctx context.Context, e wow.Event[OrderPaid]) error {
//		_, err := view.Tx(ctx).ExecContext(ctx, `UPDATE sales SET …`)
//		return err
//	}
package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/internal/retried"
)

// Dialect is how a database spells the parameters of a statement.
type Dialect uint8

const (
	SQLite     Dialect = iota // ?
	PostgreSQL                // $1
)

// ErrMoved reports that somebody else has moved the view on: another process
// keeps it. The transaction was undone.
var ErrMoved = errors.New("view: its progress has moved meanwhile: another process keeps this view")

// ErrHistory reports that the rows are of another history than the one that
// the runtime reads: the database, or the store, was swapped or restored.
var ErrHistory = errors.New("view: the rows are of another history; give the view a new generation or an empty database")

// View is the progress of one projection, in the table wow_view. Its methods
// may be called by one runtime at a time; a second one that tries gets
// [ErrMoved].
type View struct {
	db         *sql.DB
	d          Dialect
	base       string // the projection's name
	name       string // the consumer's: with the generation
	generation Generation
	history    string
	insert     string
	read       string
	move       string

	mu sync.Mutex
	at map[int32]int64 // by shard, the sequence that the database holds
}

const (
	create = `CREATE TABLE IF NOT EXISTS wow_view (
	name TEXT NOT NULL, shard INTEGER NOT NULL, seq BIGINT NOT NULL, history TEXT NOT NULL, PRIMARY KEY (name, shard))`
	insert        = `INSERT INTO wow_view (name, shard, seq, history) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING`
	createRetried = `CREATE TABLE IF NOT EXISTS wow_view_retried (
	name TEXT NOT NULL, shard INTEGER NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (name, shard, seq))`
	insertRetried = `INSERT INTO wow_view_retried (name, shard, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	read          = `SELECT seq, history FROM wow_view WHERE name = ? AND shard = ?`
	move          = `UPDATE wow_view SET seq = ? WHERE name = ? AND shard = ? AND seq = ?`
)

// Open returns the view with a name, which is the projection's: it keys the
// progress. history is the store's identity, [store.Store.ID]. The table is
// created if there is none; db stays the caller's.
//
// [store.Store.ID]: https://pkg.go.dev/github.com/wowgen/wow/runtime/store#Store
func Open(ctx context.Context, db *sql.DB, d Dialect, name, history string) (*View, error) {
	return OpenGeneration(ctx, db, d, name, history, Generation{Number: 1})
}

// OpenGeneration is Open for a projection that declares generation=: while an
// older one answers, it is rebuilt beside that one, and then takes over.
func OpenGeneration(ctx context.Context, db *sql.DB, d Dialect, name, history string, g Generation) (*View, error) {
	if name == "" || history == "" || g.Number < 1 {
		return nil, fmt.Errorf("view: opening %q, generation %d, of the history %q: both need a name, and generations begin with 1", name, g.Number, history)
	}
	v := &View{
		db: db, d: d, base: name, name: key(name, g.Number), generation: g, history: history, at: map[int32]int64{},
		insert: d.spell(insert), read: d.spell(read), move: d.spell(move),
	}
	if err := v.prepare(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// prepare makes the tables. Processes that begin at the same time do so one after
// the other: PostgreSQL's IF NOT EXISTS alone lets two collide.
func (v *View) prepare(ctx context.Context) error {
	tx, err := v.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("view: opening %q: %w", v.base, err)
	}
	if err := v.tables(ctx, tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("view: opening %q: %w", v.base, err)
	}
	return nil
}

func (v *View) tables(ctx context.Context, tx *sql.Tx) error {
	if v.d == PostgreSQL {
		if _, err := tx.ExecContext(ctx, lockTables); err != nil {
			return fmt.Errorf("view: creating the tables of views: %w", err)
		}
	}
	for _, table := range []string{create, createActive, createRetried} {
		if _, err := tx.ExecContext(ctx, table); err != nil {
			return fmt.Errorf("view: creating the tables of views: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, v.d.spell(insertActive), v.base, v.base, v.generation.Number); err != nil {
		return fmt.Errorf("view: opening %q: %w", v.base, err)
	}
	if v.generation.Prepare == nil {
		return nil
	}
	if err := v.generation.Prepare(ctx, tx); err != nil {
		return fmt.Errorf("view: preparing generation %d of %q: %w", v.generation.Number, v.base, err)
	}
	return nil
}

// lockTables is held while tables are made: "wow view" as a number.
const lockTables = `SELECT pg_advisory_xact_lock(8606220393463408919)`

// spell writes a statement's parameters as the database wants them.
func (d Dialect) spell(statement string) string {
	if d == SQLite {
		return statement
	}
	var out []byte
	n := 0
	for _, c := range []byte(statement) {
		if c == '?' {
			n++
			out = fmt.Appendf(out, "$%d", n)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// Resume returns how far the rows of a shard have come. It is half of what the
// runtime asks of a transactional projection.
func (v *View) Resume(ctx context.Context, shard int32) (wow.Position, error) {
	at := wow.Position{Shard: shard}
	var history string
	if _, err := v.db.ExecContext(ctx, v.insert, v.name, shard, v.history); err != nil {
		return at, fmt.Errorf("view: starting %q: %w", v.name, err)
	}
	if err := v.db.QueryRowContext(ctx, v.read, v.name, shard).Scan(&at.Seq, &history); err != nil {
		return at, fmt.Errorf("view: reading the progress of %q: %w", v.name, err)
	}
	if history != v.history {
		return at, fmt.Errorf("%w: %q was filled from %s, the store is %s", ErrHistory, v.name, history, v.history)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at[shard] = at.Seq
	return at, nil
}

// Run calls handle in a transaction and stores done with what it wrote, or
// undoes both. It is the other half.
func (v *View) Run(ctx context.Context, done wow.Position, handle func(ctx context.Context) error) error {
	v.mu.Lock()
	from := v.at[done.Shard]
	v.mu.Unlock()
	tx, err := v.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("view: beginning a transaction of %q: %w", v.name, err)
	}
	if err := v.within(ctx, tx, from, done, handle); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("view: committing %q: %w", v.name, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at[done.Shard] = done.Seq
	return nil
}

// within moves the progress first: whoever else keeps the view waits there, and
// then finds it moved.
func (v *View) within(ctx context.Context, tx *sql.Tx, from int64, done wow.Position, handle func(context.Context) error) error {
	if done.Seq < from {
		return fmt.Errorf("%w: %q is at %d, and this is %d", ErrMoved, v.name, from, done.Seq)
	}
	moved, err := tx.ExecContext(ctx, v.move, done.Seq, v.name, done.Shard, from)
	if err != nil {
		return fmt.Errorf("view: moving %q on: %w", v.name, err)
	}
	if n, err := moved.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%w: %q is not at %d any more", ErrMoved, v.name, from), err)
	}
	live, asked, err := v.stands(ctx, tx)
	if err != nil {
		return err
	}
	if again, ok := retried.Of(ctx); ok {
		first, err := tx.ExecContext(ctx, v.d.spell(insertRetried), v.name, again.Shard, again.Seq)
		if err != nil {
			return fmt.Errorf("view: noting a retry of %q: %w", v.name, err)
		}
		if n, err := first.RowsAffected(); err == nil && n == 0 {
			return nil // its rows are there: it was not taken out of parking then
		}
	}
	ctx = context.WithValue(ctx, txKey{}, tx)
	if live == v.generation.Number {
		return handle(ctx)
	}
	if err := handle(context.WithValue(ctx, replayKey{}, true)); err != nil {
		return err
	}
	_, err = v.takeOver(ctx, tx, live, asked)
	return err
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) { // its context ended it
		return nil
	}
	return err
}

type txKey struct{}

// Tx returns the transaction in which the projection's functions write. It
// panics in a context that is not theirs: a mistake of the program.
func Tx(ctx context.Context) *sql.Tx {
	tx, ok := ctx.Value(txKey{}).(*sql.Tx)
	if !ok {
		panic("view: Tx is for the functions of a projection whose Run is that of a View, with the context they are given; wowgen explain NAME says whether a projection has one")
	}
	return tx
}
