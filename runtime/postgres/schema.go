package postgres

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A step brings the tables from one version to the next. Steps only add: what
// an older version reads, writes and calls stays. One that an older version
// must not write past says so in writers.
type step struct {
	sql     string
	writers int // the lowest version that may write tables with this step
}

var (
	//go:embed v1.sql
	v1 string
	//go:embed v2.sql
	v2 string
	//go:embed v3.sql
	v3 string
)

// steps are frozen: a released one is never changed, only followed.
var steps = []step{{sql: v1, writers: 1}, {sql: v2, writers: 1}, {sql: v3, writers: 1}}

// schemaLock is the advisory lock of whoever changes tables, of any schema in
// the database. It is "wow schema" as a number.
const schemaLock = 0x776f7720_736368

// metadata is what a store knows about itself.
type metadata struct {
	identity         string
	locks            int64
	version, writers int
}

// migrate creates the tables or brings them up to date, in one transaction.
// Several processes may do so at the same time.
func migrate(ctx context.Context, pool *pgxpool.Pool) (m metadata, err error) {
	if m, err = readMeta(ctx, pool); err == nil && m.version >= len(steps) {
		return m, m.check() // the usual case, which needs no right to change tables
	}
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return err
		}
		identity := uuid.New()
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS wow_meta (
			one      boolean PRIMARY KEY DEFAULT true CHECK (one), -- there is one row
			identity text    NOT NULL,
			locks    bigint  NOT NULL, -- the advisory lock of shard n is locks + n
			version  integer NOT NULL,
			writers  integer NOT NULL  -- the lowest version that may write
		)`); err != nil {
			return err
		}
		locks := int64(binary.BigEndian.Uint64(identity[:8]) &^ 0xffff >> 1)
		if _, err := tx.Exec(ctx, "INSERT INTO wow_meta (identity, locks, version, writers) VALUES ($1, $2, 0, 0) ON CONFLICT DO NOTHING",
			identity.String(), locks); err != nil {
			return err
		}
		if m, err = readMeta(ctx, tx); err != nil {
			return err
		}
		if err := m.check(); err != nil {
			return err
		}
		for ; m.version < len(steps); m.version++ {
			next := steps[m.version]
			if _, err := tx.Exec(ctx, next.sql); err != nil {
				return fmt.Errorf("bringing the tables to version %d: %w", m.version+1, err)
			}
			if _, err := tx.Exec(ctx, "UPDATE wow_meta SET version = $1, writers = greatest(writers, $2)", m.version+1, next.writers); err != nil {
				return err
			}
		}
		return nil
	})
	return m, err
}

// check reports tables that this version must not write.
func (m metadata) check() error {
	if m.writers > len(steps) {
		return fmt.Errorf("%w (they have version %d, written by versions from %d on; this one knows %d)", ErrNewer, m.version, m.writers, len(steps))
	}
	return nil
}

func readMeta(ctx context.Context, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (m metadata, err error) {
	err = q.QueryRow(ctx, "SELECT identity, locks, version, writers FROM wow_meta").Scan(&m.identity, &m.locks, &m.version, &m.writers)
	return m, err
}
