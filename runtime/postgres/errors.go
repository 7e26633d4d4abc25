package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// What can be wrong with a database. Each says what to do.
var (
	// ErrBusy: other appends held the log for longer than the lock timeout.
	// Nothing was stored.
	ErrBusy = errors.New("other appends hold the log for longer than the lock timeout; nothing was stored, look for stalled sessions in pg_stat_activity")
	// ErrFull: the server has no room.
	ErrFull = errors.New("the server's disk is full; nothing was stored, make room and it goes on by itself")
	// ErrReadOnly: the server takes no writes, as a replica.
	ErrReadOnly = errors.New("the server takes no writes; is it a replica?")
	// ErrNewer: a newer version changed the tables in a way that this one must
	// not write.
	ErrNewer = errors.New("the tables need a newer version of wow; upgrade this one")
)

// Codes of PostgreSQL, and of ours in v1.sql.
const (
	uniqueViolation = "23505"
	lockTimeout     = "55P03"
	diskFull        = "53100"
	readOnly        = "25006"
	loser           = "WOW01"
)

// code returns the SQLSTATE of an error, "" if the server did not answer.
func code(err error) string {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// lost says what became of a statement that failed. An error from the server
// undid it, unless the server ended the session: it may have been about to
// answer. Without an answer it is unknown, unless nothing was sent.
func lost(err error) store.Status {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		if e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" {
			return store.Unknown
		}
		return store.Failed
	}
	if c := (*pgconn.ConnectError)(nil); errors.As(err, &c) || pgconn.SafeToRetry(err) {
		return store.Failed
	}
	return store.Unknown
}

// explain says what was being done, and what err means. What is clear already
// is left as it is.
func explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	for _, clear := range []error{store.ErrClosed, wow.ErrInvalid, frame.ErrCorrupt, frame.ErrFormat} {
		if errors.Is(err, clear) {
			return err
		}
	}
	var means error
	switch code(err) {
	case lockTimeout:
		means = ErrBusy
	case diskFull:
		means = ErrFull
	case readOnly:
		means = ErrReadOnly
	}
	if means == nil {
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	return fmt.Errorf("postgres: %s: %w (%w)", doing, means, err)
}
