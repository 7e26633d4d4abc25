package runtime

import (
	"fmt"

	"github.com/wowgen/wow"
)

// Refusals that come before a handler is asked, by their codes.
const (
	CodeNotFound      = "not_found"      // the command needs an aggregate that exists
	CodeAlreadyExists = "already_exists" // the command creates one that exists already
)

// Admit reports whether an aggregate at a version, 0 if it does not exist, may
// be asked to decide a command: a refusal if the command's mode says no, or
// [wow.ErrConflict] if the sender expects another version (0: any).
func Admit(c *wow.CommandType, t wow.Target, version, expected int64) error {
	switch {
	case c.Mode == wow.Exists && version == 0:
		return wow.Refuse(CodeNotFound, "%s does not exist, and %s needs it to", t, c.Name)
	case c.Mode == wow.Create && version > 0:
		return wow.Refuse(CodeAlreadyExists, "%s exists already, and %s creates it", t, c.Name)
	case expected != 0 && expected != version:
		return fmt.Errorf("%s is at version %d, not at the expected %d: %w", t, version, expected, wow.ErrConflict)
	}
	return nil
}
