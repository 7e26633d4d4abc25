package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
)

// OpenViews opens a database of rows, for package view: a file of its own, beside
// the history. It is set up for one process that writes and reads at the same time:
// readers do not wait for the writer, writers wait for each other. A crash of the
// machine may take the last transactions away, whole: they are made again from the
// history. The caller closes it.
//
// Plain sql.Open("sqlite", path) reports SQLITE_BUSY where this waits.
func OpenViews(path string) (*sql.DB, error) {
	settings := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+settings.Encode())
	if err == nil {
		if err = db.Ping(); err != nil {
			err = fmt.Errorf("%w (%w)", err, db.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: opening %s for views: %w", path, err)
	}
	return db, nil
}
