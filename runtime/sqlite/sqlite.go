// Package sqlite is a store in one file: the embedded default of an
// application that must not forget.
//
// It is SQLite in pure Go (modernc.org/sqlite) in WAL mode. A batch of appends
// is one transaction and one sync of the disk; readers never wait for writers.
// What Append answered as stored survives the death of the process and, unless
// the synchronous mode is Normal, of the machine.
//
// One process owns a file at a time: Open says so clearly when another has it.
// That is what lets the store keep the head of each aggregate in memory and
// check a version without reading. Where several processes write, use package
// postgres. Tables of your own may live in the file; those of the store begin
// with wow_.
//
// Open has SQLite sync with fdatasync where the system has it, which is what
// the SQLite of every Linux distribution does. It is a setting of the whole
// process, of the same durability, and about half the time of a commit.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	driver "modernc.org/sqlite"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/internal/bell"
	"github.com/wowgen/wow/internal/leases"
	"github.com/wowgen/wow/runtime/store"
)

// Config says how a file is opened. The zero value is safe and suits most.
type Config struct {
	// Synchronous says when an append is stored. Default Full.
	Synchronous Synchronous

	// Readers is how many reads run at the same time; more of them wait. Each
	// has a page cache of up to 2 MiB. Default: the number of processors, but
	// at least 4.
	Readers int

	// ReadOnly opens a file that another process may own, to look at it.
	// Whatever would write fails with ErrReadOnly.
	ReadOnly bool
}

// Synchronous says what a crash may take away.
type Synchronous uint8

const (
	// Full: an append is answered once the disk has it. Nothing that was
	// acknowledged is lost when the power fails.
	Full Synchronous = iota
	// Normal: an append is answered once the operating system has it. The
	// death of the process loses nothing; a power failure may lose the last
	// appends, never any before them.
	Normal
)

// Sizes that bound what the store holds in memory and on disk.
const (
	writerCache     = 32 << 20 // bytes of the writer's page cache
	readerCache     = 2 << 20  // bytes of each reader's
	checkpointPages = 4096     // pages in the write-ahead log before it is written back: 16 MiB
	cachedStreams   = 1 << 16  // aggregates whose head is kept in memory
)

// patience is how long a connection waits for a lock of another. There is one
// writer, but a reader that finds the index of the log half written takes the
// writer's lock for a moment, to be sure that it was a writer who did that.
const patience = "busy_timeout=5000"

// Store is a store in a file. All methods are safe for concurrent use.
type Store struct {
	path     string
	id       string
	config   Config
	owner    *conn // holds the lock that keeps other processes out
	head     atomic.Int64
	bell     bell.Bell
	closed   atomic.Bool
	readers  chan *conn    // nil ones are opened when they are taken
	writing  chan struct{} // holds one token: whoever takes it may use what follows
	w        writer
	shutDown chan struct{} // closed when Close is done
	leases   leases.Table
}

var _ store.Store = (*Store)(nil)

// Open opens a file, which it creates if there is none, and brings its tables
// up to date.
func Open(path string, c Config) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlite: opening %q: a file is needed; package memory keeps a history without one", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: opening %q: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("sqlite: opening %q: it is a folder; name the file in it", path)
	}
	if c.Readers <= 0 {
		c.Readers = max(4, runtime.NumCPU())
	}
	s := &Store{
		path:     path,
		config:   c,
		readers:  make(chan *conn, c.Readers),
		writing:  make(chan struct{}, 1),
		shutDown: make(chan struct{}),
	}
	for range c.Readers {
		s.readers <- nil
	}
	if err := s.open(); err != nil {
		s.release()
		return nil, s.explain("opening", err)
	}
	s.writing <- struct{}{}
	return s, nil
}

func (s *Store) open() (err error) {
	if s.config.ReadOnly {
		if _, err := os.Stat(s.path); err != nil {
			return err
		}
		return s.inspect()
	}
	if _, err := driver.Fdatasync(true); err != nil && !errors.Is(err, driver.ErrFdatasyncUnavailable) {
		return err
	}
	if s.owner, err = own(s.path); err != nil {
		return err
	}
	if s.w.conn, err = dial(s.path, "", "journal_mode=WAL", patience,
		fmt.Sprint("wal_autocheckpoint=", checkpointPages), fmt.Sprint("journal_size_limit=", 4*checkpointPages*4096),
		fmt.Sprint("cache_size=-", writerCache>>10)); err != nil {
		return err
	}
	if s.id, err = migrate(s.w.conn); err != nil {
		return err
	}
	s.w.synced = !s.synced() // so that the first begin sets the mode
	s.w.streams = newStreams(cachedStreams)
	if err := s.w.refresh(); err != nil {
		return err
	}
	s.head.Store(s.w.seq)
	return s.w.expire()
}

// inspect is open for a file that somebody else may own.
func (s *Store) inspect() error {
	c, err := s.dialReader()
	if err != nil {
		return err
	}
	<-s.readers
	s.readers <- c
	if s.id, err = inspectSchema(c); err != nil {
		return err
	}
	return s.look(c)
}

// look reads the head of a file that somebody else may append to.
func (s *Store) look(c *conn) error {
	seq, err := c.number("SELECT coalesce(max(seq), 0) FROM wow_commits")
	if err == nil {
		s.head.Store(seq)
	}
	return err
}

func (s *Store) synced() bool { return s.config.Synchronous == Full }

func (s *Store) dialReader() (*conn, error) {
	mode := ""
	if s.config.ReadOnly {
		mode = "ro"
	}
	return dial(s.path, mode, "query_only=1", patience, fmt.Sprint("cache_size=-", readerCache>>10))
}

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Shards implements store.Log: there is one.
func (s *Store) Shards() int32 { return 1 }

// Sole implements store.Log: the file has one owner.
func (s *Store) Sole() bool { return !s.config.ReadOnly }

// Close implements store.Store. It waits for the calls under way, of which
// each is bounded by one batch or one read.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		<-s.shutDown
		return nil
	}
	defer close(s.shutDown)
	s.bell.Ring()
	<-s.writing
	return s.release()
}

// release closes all connections. The caller is the only one left that writes;
// readers give theirs back.
func (s *Store) release() error {
	var errs []error
	for range s.config.Readers {
		errs = append(errs, (<-s.readers).close())
	}
	errs = append(errs, s.w.conn.close(), s.owner.close())
	return s.explain("closing", errors.Join(errs...))
}

// usable reports why a call must not begin.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// lock takes the writer. Whoever gets it calls unlock.
func (s *Store) lock(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.config.ReadOnly {
		return fmt.Errorf("sqlite: writing %q: %w", s.path, ErrReadOnly)
	}
	select {
	case <-s.writing:
	case <-s.shutDown:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.usable(ctx); err != nil {
		s.unlock()
		return err
	}
	return nil
}

func (s *Store) unlock() { s.writing <- struct{}{} }

// read runs f on a connection for reading.
func (s *Store) read(ctx context.Context, doing string, f func(*conn) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-s.readers:
	case <-s.shutDown:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readers <- c }()
	if err := s.usable(ctx); err != nil {
		return err
	}
	if c == nil {
		var err error
		if c, err = s.dialReader(); err != nil {
			return s.explain(doing, err)
		}
	}
	return s.explain(doing, f(c))
}

func checkShard(shard int32) error {
	if shard != 0 {
		return fmt.Errorf("sqlite: there is no shard %d, only 0", shard)
	}
	return nil
}

// own keeps other processes, and other stores of this one, away from a file:
// it holds an exclusive lock on a file beside it, which the system gives back
// when the process ends in whatever way.
func own(path string) (*conn, error) {
	c, err := dial(path+"-owner", "", "journal_mode=MEMORY")
	if err == nil {
		if _, err = c.exec("BEGIN EXCLUSIVE"); err == nil {
			return c, nil
		}
		_ = c.close()
	}
	if code(err) == busy {
		return nil, ErrInUse
	}
	return nil, err
}

// address returns path as SQLite reads it.
func address(path, mode string) string {
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
	if mode != "" {
		mode = "?mode=" + mode
	}
	return "file:" + path + mode
}

// position is where the only shard's commit stands.
func position(seq int64) wow.Position { return wow.Position{Seq: seq} }
