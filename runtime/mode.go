package runtime

import (
	"fmt"

	"github.com/wowgen/wow"
)

// Refusals that come before a handler is asked, by their codes.
const (
	CodeNotFound      = "not_found"      // the command needs an aggregate that exists
	CodeAlreadyExists = "already_exists" // the command creates one that exists already
	CodeDeleted       = "deleted"        // the aggregate was deleted, and the command does not recover it
	CodeNotDeleted    = "not_deleted"    // the command recovers an aggregate that was not deleted
)

// Admit reports whether an aggregate at a version, 0 if it does not exist, may
// be asked to decide a command: a refusal if the command's mode says no, or
// [wow.ErrConflict] if the sender expects another version (0: any).
//
// An aggregate that was deleted keeps its history and its ID: it is loaded as
// ever, and nothing but a command that recovers it is decided.
func Admit(c *wow.CommandType, t wow.Target, version, expected int64, deleted bool) error {
	switch {
	case deleted && c.Mode != wow.Recover:
		return wow.Refuse(CodeDeleted, "%s was deleted, and %s does not recover it", t, c.Name)
	case c.Mode == wow.Recover && version > 0 && !deleted:
		return wow.Refuse(CodeNotDeleted, "%s is not deleted, and %s recovers it", t, c.Name)
	case c.Mode == wow.Recover && version == 0:
		return wow.Refuse(CodeNotFound, "%s does not exist, and %s recovers it", t, c.Name)
	case c.Mode == wow.Exists && version == 0:
		return wow.Refuse(CodeNotFound, "%s does not exist, and %s needs it to", t, c.Name)
	case c.Mode == wow.Create && version > 0:
		return wow.Refuse(CodeAlreadyExists, "%s exists already, and %s creates it", t, c.Name)
	case expected != 0 && expected != version:
		return fmt.Errorf("%s is at version %d, not at the expected %d: %w", t, version, expected, wow.ErrConflict)
	}
	return nil
}
