package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
)

// A step brings the tables from one version to the next. Steps only add: what
// an older version reads and writes stays. One that an older version must not
// write past says so in writers.
type step struct {
	sql     string
	writers int64 // the lowest version that may write a file with this step
}

// steps are frozen: a released one is never changed, only followed.
var steps = []step{{writers: 1, sql: `
CREATE TABLE wow_commits (
	seq         INTEGER PRIMARY KEY, -- the position, without gaps
	stream      INTEGER NOT NULL,    -- in wow_streams; a short name for the three that follow
	tenant      TEXT    NOT NULL,
	aggregate   TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	commit_id   TEXT    NOT NULL,
	request     TEXT,
	correlation TEXT    NOT NULL,
	causation   TEXT    NOT NULL,
	decided_at  INTEGER NOT NULL,    -- microseconds UTC, as are all times
	stored_at   INTEGER NOT NULL,
	types       TEXT    NOT NULL,    -- names of the events, one a line
	format      INTEGER NOT NULL,
	header      BLOB    NOT NULL,
	payload     BLOB    NOT NULL,
	crc         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_commits_version ON wow_commits (stream, version);
-- Requests come first: IDs that rise with time then fill the index in order.
CREATE UNIQUE INDEX wow_commits_request ON wow_commits (request, stream) WHERE request IS NOT NULL;

CREATE TABLE wow_streams (
	stream    INTEGER PRIMARY KEY,
	tenant    TEXT NOT NULL,
	aggregate TEXT NOT NULL,
	id        TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_streams_key ON wow_streams (id, aggregate, tenant);

CREATE TABLE wow_outcomes ( -- of requests that appended nothing
	stream  INTEGER NOT NULL,
	request TEXT    NOT NULL,
	kind    INTEGER NOT NULL,
	version INTEGER NOT NULL,
	code    BLOB    NOT NULL, -- bytes: what a domain says need not be valid text
	message BLOB    NOT NULL,
	at      INTEGER NOT NULL,
	kept_at INTEGER NOT NULL,
	PRIMARY KEY (stream, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX wow_outcomes_kept ON wow_outcomes (kept_at);

CREATE TABLE wow_snapshots (
	snapshot  INTEGER PRIMARY KEY,
	tenant    TEXT    NOT NULL,
	aggregate TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	revision  TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	commit_id TEXT    NOT NULL,
	codec     INTEGER NOT NULL,
	data      BLOB    NOT NULL,
	crc       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_snapshots_key ON wow_snapshots (id, aggregate, tenant, revision, version);

CREATE TABLE wow_checkpoints (
	consumer TEXT    NOT NULL,
	shard    INTEGER NOT NULL,
	segment  INTEGER NOT NULL,
	epoch    INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	PRIMARY KEY (consumer, shard, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE wow_parked (
	consumer  TEXT    NOT NULL,
	shard     INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	function  TEXT    NOT NULL,
	tenant    TEXT    NOT NULL,
	aggregate TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	error     BLOB    NOT NULL,
	attempts  INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	running   INTEGER NOT NULL,
	PRIMARY KEY (consumer, shard, seq, function)
) STRICT, WITHOUT ROWID;
`}, {writers: 1, sql: `
CREATE TABLE wow_timers (
	consumer TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	shard    INTEGER NOT NULL, -- where it was set, and in what order there
	seq      INTEGER NOT NULL,
	ordinal  INTEGER NOT NULL,
	due      INTEGER NOT NULL, -- 0: done or taken back
	attempts INTEGER NOT NULL,
	data     BLOB    NOT NULL,
	PRIMARY KEY (consumer, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX wow_timers_due ON wow_timers (consumer, due);
`}}

const metaTable = `CREATE TABLE wow_meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID`

// migrate creates the tables or brings them up to date, in one transaction,
// and returns the identity of the store. It has the file to itself.
func migrate(c *conn) (id string, err error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = c.script("ROLLBACK")
		}
	}()
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return "", err
	}
	if tables == 0 {
		if err := c.script(metaTable); err != nil {
			return "", err
		}
		for name, value := range map[string]any{"identity": uuid.NewString(), "version": int64(0), "writers": int64(0)} {
			if _, err := c.exec("INSERT INTO wow_meta VALUES (?, ?)", name, value); err != nil {
				return "", err
			}
		}
	}
	m, err := meta(c)
	if err != nil {
		return "", err
	}
	if m.writers > int64(len(steps)) {
		return "", fmt.Errorf("%w (its tables have version %d, written by versions from %d on; this one knows %d)",
			ErrNewer, m.version, m.writers, len(steps))
	}
	for version := m.version; version < int64(len(steps)); version++ {
		next := steps[version]
		if err := c.script(next.sql); err != nil {
			return "", fmt.Errorf("bringing the tables to version %d: %w", version+1, err)
		}
		if _, err := c.exec("UPDATE wow_meta SET value = ? WHERE name = 'version'", version+1); err != nil {
			return "", err
		}
		if _, err := c.exec("UPDATE wow_meta SET value = max(value, ?) WHERE name = 'writers'", next.writers); err != nil {
			return "", err
		}
	}
	_, err = c.exec("COMMIT")
	return m.identity, err
}

// inspectSchema returns the identity of a store that is only to be read.
func inspectSchema(c *conn) (string, error) {
	m, err := meta(c)
	return m.identity, err
}

type metadata struct {
	identity         string
	version, writers int64
}

func meta(c *conn) (m metadata, err error) {
	known, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'wow_meta'")
	if err != nil {
		return m, err
	}
	if known == 0 {
		return m, ErrForeign
	}
	err = c.each("SELECT name, value FROM wow_meta", func(column []driver.Value) error {
		switch text(column[0]) {
		case "identity":
			m.identity = text(column[1])
		case "version":
			m.version = integer(column[1])
		case "writers":
			m.writers = integer(column[1])
		}
		return nil
	})
	if err == nil && m.identity == "" {
		err = ErrForeign
	}
	return m, err
}
