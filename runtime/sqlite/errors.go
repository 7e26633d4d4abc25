package sqlite

import (
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// What can be wrong with a file. Each says what to do.
var (
	// ErrInUse: another process, or another store of this one, owns the file.
	ErrInUse = errors.New("the file has an owner: another process, or another store in this one, has it open; close that first, open it read-only, or keep a shared history in PostgreSQL")
	// ErrFull: nothing was stored. The store goes on by itself once there is
	// room.
	ErrFull = errors.New("the disk is full; nothing was stored, make room and it goes on by itself")
	// ErrReadOnly: the file, its directory or the store may only be read.
	ErrReadOnly = errors.New("it may only be read; check the permissions of the file and of its directory, and whether it was opened read-only")
	// ErrDamaged: SQLite cannot make sense of the file.
	ErrDamaged = errors.New("the file is damaged; stop, keep a copy of it with its -wal, and restore a backup")
	// ErrForeign: the file is something else.
	ErrForeign = errors.New("the file is not a store of wow; check the path")
	// ErrNewer: a newer version wrote the file in a way that this one must not
	// write.
	ErrNewer = errors.New("the file needs a newer version of wow; upgrade this one")
)

const busy = lib.SQLITE_BUSY

// code returns the primary result code of SQLite, 0 if err is something else.
func code(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain says what was being done with which file, and what err means. What
// is clear already is left as it is.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	for _, clear := range []error{store.ErrClosed, store.ErrEpoch, store.ErrAhead, wow.ErrInvalid} {
		if errors.Is(err, clear) {
			return err
		}
	}
	var means error
	switch code(err) {
	case lib.SQLITE_FULL:
		means = ErrFull
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		means = ErrReadOnly
	case lib.SQLITE_CORRUPT:
		means = ErrDamaged
	case lib.SQLITE_NOTADB:
		means = ErrForeign
	case lib.SQLITE_CANTOPEN:
		means = errors.New("check that its directory exists and may be written to")
		if errors.Is(err, os.ErrNotExist) {
			means = os.ErrNotExist
		}
	case lib.SQLITE_IOERR:
		means = errors.New("the disk failed; see the system's log")
	}
	if means == nil || errors.Is(err, means) {
		return fmt.Errorf("sqlite: %s %q: %w", doing, s.path, err)
	}
	return fmt.Errorf("sqlite: %s %q: %w (%w)", doing, s.path, means, err)
}
