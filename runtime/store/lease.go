package store

import (
	"context"
	"fmt"
	"time"

	"github.com/wowgen/wow"
)

// Leases says which process runs which consumer.
//
// A segment is what a process owns of a consumer: for now, all that it has to do
// in one shard. Whoever owns it writes its checkpoint, and what it parks, under
// the lease's epoch; a process that lost a lease, and does not know it yet, is
// refused then with ErrEpoch.
type Leases interface {
	// Claim says that a process is alive. It renews what it holds of the
	// segments, each for ttl from now by the clock of the store, and takes up to
	// take of those that nobody holds, the first ones first. Each time that a
	// segment is taken its epoch rises, so it is 1 or more.
	Claim(ctx context.Context, owner string, ttl time.Duration, segments []Segment, take int) (Claimed, error)
	// Release gives up segments that a process holds: all of them, and its life,
	// when none is named.
	Release(ctx context.Context, owner string, segments ...Segment) error
}

// Segment is the part of a consumer's work that one process owns.
type Segment struct {
	Consumer string
	Shard    int32
	Segment  int // 0 for now
}

// Claimed is the answer to a claim.
type Claimed struct {
	Owners int     // processes that are alive, this one included
	Leases []Lease // of each segment that was named, in that order
}

// Lease says who has a segment.
type Lease struct {
	Owner string // "" is nobody
	Epoch int64
}

// Free reports whether nobody has the segment.
func (l Lease) Free() bool { return l.Owner == "" }

// CheckClaim reports what is wrong with a claim, or nil.
func CheckClaim(owner string, ttl time.Duration, segments []Segment) error {
	if owner == "" || ttl <= 0 {
		return fmt.Errorf("store: a claim of %q for %v: it needs an owner and a time: %w", owner, ttl, wow.ErrInvalid)
	}
	if err := checkKey("owner", owner, MaxID); err != nil {
		return err
	}
	for _, s := range segments {
		if s.Consumer == "" || s.Shard < 0 || s.Segment < 0 {
			return fmt.Errorf("store: a claim of segment %+v: it needs a consumer, and numbers from 0 on: %w", s, wow.ErrInvalid)
		}
		if err := checkKey("consumer", s.Consumer, MaxName); err != nil {
			return err
		}
	}
	return nil
}
