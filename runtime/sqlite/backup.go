package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Backup copies the store into a new file, as it is at one moment, while it is
// used. The copy is a store with the same identity: it takes the place of this
// one, and is not opened beside it. It also works on a store that was opened
// read-only beside its owner. It cannot be cut short by ctx.
func (s *Store) Backup(ctx context.Context, path string) error {
	return s.read(ctx, "copying", func(*conn) error { // keeps Close waiting
		c, err := dial(s.path, "ro") // a connection of its own: readers may not even write elsewhere
		if err != nil {
			return err
		}
		if err := c.script("VACUUM INTO '" + strings.ReplaceAll(path, "'", "''") + "'"); err != nil {
			return errors.Join(fmt.Errorf("to %q: %w", path, err), c.close())
		}
		return c.close()
	})
}
