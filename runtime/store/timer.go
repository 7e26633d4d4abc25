package store

import (
	"context"
	"fmt"

	"github.com/wowgen/wow"
)

// Timers keeps the commands that sagas want sent later.
//
// They are part of a saga's progress: lost together with a checkpoint that
// passes them, or kept together, so they need no more durability than that.
type Timers interface {
	// SetTimers stores timers, all or none. A name stands for one timer of a
	// consumer: see Timer.Replaces for what becomes of the one before.
	SetTimers(ctx context.Context, timers []Timer) error
	// Timers returns those of a consumer that are due at a time or before
	// (microseconds UTC), the earliest first, at most limit. The data is
	// shared: it is read and never changed.
	Timers(ctx context.Context, consumer string, due int64, limit int) ([]Timer, error)
	// Timer returns a consumer's timer of that name, or nil: also when it was
	// taken back or is done.
	Timer(ctx context.Context, consumer, name string) (*Timer, error)
}

// Timer is a command that a consumer wants sent later.
type Timer struct {
	Consumer string
	Name     string
	// Position and Index say when it was set: by a commit, and in the order of
	// what the consumer did with that.
	Position wow.Position
	Index    int64
	Due      int64 // microseconds UTC; 0: it was taken back, or is done
	Attempts int   // that failed
	Data     []byte
}

// MaxTimer is the most bytes that Timer.Data may have.
const MaxTimer = 1 << 20

// Replaces reports whether t takes the place of the old timer of its name.
//
// One that was set later does. A consumer that comes to a commit again, after a
// crash, sets the same timer again, which changes nothing, also when it is done
// or was taken back since: what is taken back stays, as a mark, until the
// consumer's checkpoint is past the commit that set it, and it has nothing parked from
// before that. In its own place a timer
// can only be put off or taken back.
func (t *Timer) Replaces(old *Timer) bool {
	switch {
	case t.Position.Shard != old.Position.Shard:
		return true
	case t.Position.Seq != old.Position.Seq:
		return t.Position.Seq > old.Position.Seq
	case t.Index != old.Index:
		return t.Index > old.Index
	}
	return old.Due != 0 && (t.Due == 0 || t.Due > old.Due)
}

// CheckTimer reports why no store takes the timer, or nil.
func CheckTimer(t *Timer) error {
	switch {
	case t.Consumer == "" || t.Name == "":
		return fmt.Errorf("store: timer %q of consumer %q: both need a name: %w", t.Name, t.Consumer, wow.ErrInvalid)
	case t.Position.Seq < 1 || t.Index < 0 || t.Due < 0 || t.Attempts < 0:
		return fmt.Errorf("store: timer %q of %s is at %v, %d, due %d, after %d attempts: none of them can be negative, and positions begin with 1: %w",
			t.Name, t.Consumer, t.Position, t.Index, t.Due, t.Attempts, wow.ErrInvalid)
	case len(t.Data) > MaxTimer:
		return fmt.Errorf("store: timer %q of %s has %d bytes, the limit is %d: %w", t.Name, t.Consumer, len(t.Data), MaxTimer, wow.ErrInvalid)
	}
	if err := checkKey("consumer", t.Consumer, MaxName); err != nil {
		return err
	}
	return checkKey("timer name", t.Name, MaxName)
}
