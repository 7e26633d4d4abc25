// Package data is where an example keeps what it must not forget: its history
// and the rows of its views in SQLite files of one folder.
package data

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
)

// Memory is the place that keeps its history in memory, and all else in a folder
// of its own that is removed in the end.
const Memory = "memory"

// Flag declares the flag that names the place.
func Flag(flags *flag.FlagSet) *string {
	return flags.String("data", "", "the `folder` that keeps everything, made if there is none, and used again by the next run;\n"+
		"\""+Memory+"\" keeps the history in memory (default a new folder, removed in the end)")
}

// Place is one folder.
type Place struct {
	Dir   string      // for files of the app
	Store store.Store // its history
	Views *sql.DB     // the rows of its views
	own   bool        // the folder goes with it
}

// Open opens the place that the flag named.
func Open(where string) (_ *Place, err error) {
	p := &Place{Dir: where}
	if where == "" || where == Memory {
		p.own = true
		if p.Dir, err = os.MkdirTemp("", "wow-example-"); err != nil {
			return nil, fmt.Errorf("making a folder for the data: %w", err)
		}
	} else if err := os.MkdirAll(where, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for the data: %w", err)
	}
	if where == Memory {
		p.Store = memory.New()
	} else if p.Store, err = sqlite.Open(filepath.Join(p.Dir, "history.db"), sqlite.Config{}); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	if p.Views, err = sqlite.OpenViews(filepath.Join(p.Dir, "views.db")); err != nil {
		return nil, errors.Join(err, p.Store.Close(), p.remove())
	}
	return p, nil
}

// MustBeNew is an error if there is a history already.
func (p *Place) MustBeNew(ctx context.Context) error {
	head, err := p.Store.Head(ctx, 0)
	if err == nil && head.Seq > 0 {
		err = fmt.Errorf("-data %s holds %d commits already, and this begins with none: name another folder", p.Dir, head.Seq)
	}
	return err
}

// Close closes everything and removes the folder if nobody named it.
func (p *Place) Close() error { return errors.Join(p.Store.Close(), p.Views.Close(), p.remove()) }

func (p *Place) remove() error {
	if !p.own {
		return nil
	}
	return os.RemoveAll(p.Dir)
}
