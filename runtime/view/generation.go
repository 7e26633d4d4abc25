package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/wowgen/wow"
)

// A view is rebuilt beside the one that answers. The new generation has rows and
// progress of its own; it reads the history from the beginning, and once it has
// reached the live one it takes over, in the transaction in which it does:
//
//	live:     … ---------------------------- p | refused from here on
//	rebuild:  0 ---> … ---> (near) wants it -> p swaps, and answers
//
// Near the end it asks the live one to wait, for handOver at most, so that it
// reaches it under load too. Both may be in different processes and releases.

const (
	// near is how many positions behind the live generation a rebuild has it wait.
	near = 2048
	// handOver bounds that wait: the rebuild may have died.
	handOver = 30 * time.Second
)

var (
	// ErrReplaced reports that a newer generation answers. It is permanent: the
	// projection stops.
	ErrReplaced = fmt.Errorf("view: a newer generation has taken over (%w)", wow.Permanent)
	// ErrWaits reports that a newer generation is about to take over.
	ErrWaits = errors.New("view: waiting for a newer generation to take over")
)

// Generation is a version of a view with rows of its own.
type Generation struct {
	// Number is the projection's generation=, from 1.
	Number int
	// Prepare makes the tables of this generation if they are not there. It is
	// called by Open, in a transaction.
	Prepare func(ctx context.Context, tx *sql.Tx) error
	// Swap, if there is one, is called in the transaction with which this
	// generation takes over from an older one: to rename tables, or drop those
	// of the old. Without it readers ask Active, and the old rows stay.
	Swap func(ctx context.Context, tx *sql.Tx, old int) error
}

// Table is the name of a generation's table: base for the first, base_2 and so
// on for the others.
func (g Generation) Table(base string) string {
	if g.Number <= 1 {
		return base
	}
	return base + "_" + strconv.Itoa(g.Number)
}

const (
	createActive = `CREATE TABLE IF NOT EXISTS wow_view_active (
	name TEXT NOT NULL PRIMARY KEY, generation INTEGER NOT NULL, wanted INTEGER NOT NULL, until BIGINT NOT NULL)`
	// The first generation that there is answers, unless rows of the first one are
	// there from before this table was.
	insertActive = `INSERT INTO wow_view_active (name, generation, wanted, until)
	SELECT ?, CASE WHEN EXISTS (SELECT 1 FROM wow_view WHERE name = ?) THEN 1 ELSE ? END, 0, 0 WHERE true ON CONFLICT DO NOTHING`
	readActive = `SELECT generation, wanted, until FROM wow_view_active WHERE name = ?`
	wantActive = `UPDATE wow_view_active SET wanted = ?, until = ? WHERE name = ?`
	swapActive = `UPDATE wow_view_active SET generation = ?, wanted = 0, until = 0 WHERE name = ?`
	// How far the live generation is ahead, in the shard where that is most. One
	// that was never there is not ahead.
	aheadOf = `SELECT COALESCE(MAX(live.seq - COALESCE(mine.seq, 0)), 0) FROM wow_view live
	LEFT JOIN wow_view mine ON mine.name = ? AND mine.shard = live.shard WHERE live.name = ?`
)

// key is what a generation's progress is stored under: the consumer's name.
func key(name string, generation int) string {
	if generation <= 1 {
		return name
	}
	return name + "@" + strconv.Itoa(generation)
}

// Active returns the generation of a view that answers, 0 when nobody has opened
// one yet.
func Active(ctx context.Context, db *sql.DB, d Dialect, name string) (int, error) {
	is := `SELECT count(*) FROM sqlite_schema WHERE name = 'wow_view_active'`
	if d == PostgreSQL {
		is = `SELECT count(to_regclass('wow_view_active'))`
	}
	var there int
	if err := db.QueryRowContext(ctx, is).Scan(&there); err != nil || there == 0 {
		return 0, err
	}
	var generation int
	err := db.QueryRowContext(ctx, d.spell(`SELECT generation FROM wow_view_active WHERE name = ?`), name).Scan(&generation)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("view: asking which generation of %q answers: %w", name, err)
	}
	return generation, nil
}

// Active returns the generation that answers.
func (v *View) Active(ctx context.Context) (int, error) { return Active(ctx, v.db, v.d, v.base) }

// stands returns whether another generation answers, and refuses the
// transaction of one that must not go on.
func (v *View) stands(ctx context.Context, tx *sql.Tx) (live int, asked bool, err error) {
	lock := v.d.spell(readActive)
	if v.d == PostgreSQL {
		lock += " FOR UPDATE"
	}
	var wanted int
	var until int64
	if err := tx.QueryRowContext(ctx, lock, v.base).Scan(&live, &wanted, &until); err != nil {
		return 0, false, fmt.Errorf("view: asking which generation of %q answers: %w", v.base, err)
	}
	now := time.Now()
	switch mine := v.generation.Number; {
	case live > mine:
		return live, false, fmt.Errorf("%w: %q is at generation %d, this is %d", ErrReplaced, v.base, live, mine)
	case live == mine && wanted > mine && until > now.UnixMicro():
		return live, false, fmt.Errorf("%w: %q, generation %d", ErrWaits, v.base, wanted)
	}
	// A rebuild that asked does not ask again before the live one had as long a
	// time to go on.
	return live, until > now.Add(-handOver).UnixMicro(), nil
}

// takeOver makes this generation the one that answers, if it has reached the
// live one, or has that wait when it is near.
func (v *View) takeOver(ctx context.Context, tx *sql.Tx, live int, asked bool) (bool, error) {
	var ahead int64
	if err := tx.QueryRowContext(ctx, v.d.spell(aheadOf), v.name, key(v.base, live)).Scan(&ahead); err != nil {
		return false, fmt.Errorf("view: asking how far generation %d of %q is: %w", live, v.base, err)
	}
	mine := v.generation.Number
	switch {
	case ahead > near || ahead > 0 && asked:
		return false, nil
	case ahead > 0:
		_, err := tx.ExecContext(ctx, v.d.spell(wantActive), mine, time.Now().Add(handOver).UnixMicro(), v.base)
		return false, err
	}
	if v.generation.Swap != nil {
		if err := v.generation.Swap(ctx, tx, live); err != nil {
			return false, fmt.Errorf("view: swapping generation %d of %q for %d: %w", live, v.base, mine, err)
		}
	}
	_, err := tx.ExecContext(ctx, v.d.spell(swapActive), mine, v.base)
	return true, err
}

type replayKey struct{}

// Replaying reports whether a projection's function is called for a generation
// that does not answer yet: what it does outside of its rows would be done a
// second time.
func Replaying(ctx context.Context) bool { return ctx.Value(replayKey{}) != nil }
