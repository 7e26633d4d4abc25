// Package postgres is a store in PostgreSQL 13 or newer, for applications of
// one or of many processes.
//
// A batch of appends is one call of a function in the server: one round trip
// and one transaction, which takes the lock of its shard, gives the entries
// the positions behind the last one and commits. So positions have no gaps and
// appear in order for every reader, no client can stall while it holds the
// lock, and a transaction pooler may stand in between. An append of a version
// or a request that is there already fails as a whole; only then does the
// store find out which entries lost, and appends the others again.
//
// Commits are answered once the server's write-ahead log is on its disk
// (synchronous_commit is on for appends, whatever the session says; a stronger
// setting is kept). A fail-over to an asynchronous replica may lose the last of
// them, and no client can tell.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/internal/bell"
	"github.com/wowgen/wow/runtime/store"
)

// Config says how a database is used. The zero value suits most.
type Config struct {
	// LockTimeout is how long an append waits for the appends of other
	// processes before it fails. Default 5 s, which only a stalled server
	// reaches.
	LockTimeout time.Duration

	// Poll is how often the database is asked for commits of other processes
	// while somebody waits for one. Commits of this process wake at once.
	// Shorter costs the server queries, longer lets consumers lag. Default
	// 20 ms.
	Poll time.Duration
}

// knownStreams is of how many aggregates a store remembers a version that is
// there.
const knownStreams = 1 << 16

// Store is a store in a PostgreSQL database. All methods are safe for
// concurrent use.
type Store struct {
	pool        *pgxpool.Pool
	id          string
	locks       int64 // the advisory lock of shard n is locks + n
	lockTimeout string
	poll        time.Duration
	head        atomic.Int64 // a position that is there; the last one may be higher
	known       known
	bell        bell.Bell
	polling     chan struct{} // holds one token: whoever waits and has it asks the database
	closed      atomic.Bool
	done        chan struct{} // closed by Close
	expires     atomic.Int64  // when to look for outcomes to forget, microseconds
}

var _ store.Store = (*Store)(nil)

// Open connects to a database, creates its tables if they are not there, in
// the first schema of the search path, and brings them up to date. The dsn is
// a URL or a list of words, and may set what pgx and its pool understand, as
// pool_max_conns and search_path.
func Open(ctx context.Context, dsn string, c Config) (*Store, error) {
	if c.LockTimeout <= 0 {
		c.LockTimeout = 5 * time.Second
	}
	if c.Poll <= 0 {
		c.Poll = 20 * time.Millisecond
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: reading the DSN: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain("connecting", err)
	}
	s := &Store{
		pool:        pool,
		lockTimeout: fmt.Sprintf("%dms", c.LockTimeout.Milliseconds()),
		poll:        c.Poll,
		known:       newKnown(knownStreams),
		polling:     make(chan struct{}, 1),
		done:        make(chan struct{}),
	}
	s.polling <- struct{}{}
	if err := s.open(ctx); err != nil {
		pool.Close()
		return nil, explain("opening", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	var encoding, isolation string
	var version int
	if err := s.pool.QueryRow(ctx, `SELECT current_setting('server_encoding'), current_setting('default_transaction_isolation'),
		current_setting('server_version_num')::int`).Scan(&encoding, &isolation, &version); err != nil {
		return err
	}
	if isolation != "read committed" {
		return fmt.Errorf("default_transaction_isolation is %q for this user and database; an append must see what was committed while it waited, so set it to \"read committed\"", isolation)
	}
	if encoding != "UTF8" || version < 130000 {
		return fmt.Errorf("the database has encoding %s and its server version %d; UTF8 and 13 (130000) or newer are needed", encoding, version)
	}
	m, err := migrate(ctx, s.pool)
	if err != nil {
		return err
	}
	s.id, s.locks = m.identity, m.locks
	return s.look(ctx)
}

// look reads the head of the log.
func (s *Store) look(ctx context.Context) error {
	var seq int64
	err := s.pool.QueryRow(ctx, "SELECT coalesce((SELECT seq FROM wow_commits WHERE shard = 0 ORDER BY seq DESC LIMIT 1), 0)").Scan(&seq)
	if err == nil {
		s.raise(seq)
	}
	return err
}

// raise notes that a position is there, and wakes those who wait for it.
func (s *Store) raise(seq int64) {
	for {
		old := s.head.Load()
		if seq <= old {
			return
		}
		if s.head.CompareAndSwap(old, seq) {
			s.bell.Ring()
			return
		}
	}
}

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Shards implements store.Log: there is one.
func (s *Store) Shards() int32 { return 1 }

// Sole implements store.Log: other processes may append.
func (s *Store) Sole() bool { return false }

// Close implements store.Store. It waits for the calls under way, of which
// each is bounded by its context.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		close(s.done)
		s.bell.Ring()
	}
	s.pool.Close()
	return nil
}

// usable reports why a call must not begin.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// explain says what was being done when err came up, unless the store was closed
// meanwhile.
func (s *Store) explain(doing string, err error) error {
	if err != nil && s.closed.Load() {
		return fmt.Errorf("%w (%w)", store.ErrClosed, err)
	}
	return explain(doing, err)
}

func checkShard(shard int32) error {
	if shard != 0 {
		return fmt.Errorf("postgres: there is no shard %d, only 0", shard)
	}
	return nil
}

// transact runs f in a transaction that the server may commit before its log
// is on disk: what is lost with a crash of the server is made again from the
// history.
func (s *Store) transact(ctx context.Context, doing string, f func(pgx.Tx) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{
		BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off",
	}, f)
	if errors.Is(err, store.ErrEpoch) {
		return err
	}
	return s.explain(doing, err)
}

// position is where the only shard's commit stands.
func position(seq int64) wow.Position { return wow.Position{Seq: seq} }
