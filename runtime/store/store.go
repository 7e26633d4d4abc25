// Package store is the contract between the runtime and what keeps its
// history: commits in order, the outcome of each request, snapshots,
// checkpoints and parked messages.
//
// A store is a small thing behind a large test: package storetest holds every
// implementation, also a user's own, to this contract.
package store

import (
	"context"
	"errors"

	"github.com/wowgen/wow"
)

// Store keeps everything that must outlive a process. All methods may be
// called at the same time from any goroutine. An error that a method returns
// is technical: nothing is known to have happened unless the method says so.
type Store interface {
	Log
	Outcomes
	Snapshots
	Checkpoints
	Parking
	Timers
	Leases

	// ID is the identity that the store was given when it was created. A
	// checkpoint is good for one store only.
	ID() string
	// Close releases what the store holds. Calls under way may fail; waits
	// end, and later calls fail, with ErrClosed. Closing twice is no error.
	Close() error
}

var (
	// ErrClosed reports that the store was closed. Nothing was stored.
	ErrClosed = errors.New("store: closed")
	// ErrChain reports that an earlier commit of the same aggregate and batch
	// was not stored, so this one was not tried.
	ErrChain = errors.New("store: an earlier commit of the aggregate was not stored")
	// ErrEpoch reports a checkpoint of somebody who does not own the segment,
	// or one that would move back.
	ErrEpoch = errors.New("store: the segment has another owner, or its checkpoint would move back")
	// ErrAhead reports a checkpoint above the head of its shard: the database
	// was restored from a backup or swapped for another.
	ErrAhead = errors.New("store: the checkpoint is ahead of the history; was the database restored or swapped?")
)

// Log is the history: for each aggregate the versions 1..n, for each shard the
// positions 1..n, without gaps and in order for every reader.
type Log interface {
	// Shards returns how many shards the store has; it never changes.
	Shards() int32

	// Sole reports whether nobody but the owner of this value can append: what
	// it has read of an aggregate stays true until it appends itself.
	Sole() bool

	// Append stores commits and answers for each entry, in the same order.
	// Entries of one aggregate form a chain: after the first that is not
	// stored, the rest of them fail with ErrChain. The store may keep the
	// entries it stored, and readers share them: the caller does not change
	// an entry afterwards, unless it was not stored.
	//
	// A request that has an outcome already is Repeated, whatever the version;
	// only then is the version compared. An entry that Check refuses fails.
	//
	// An answer that is Unknown may have been stored. Appending the identical
	// commit again settles it: finding its own commit ID is Stored.
	Append(ctx context.Context, entries []*Commit) []Result

	// Stream returns the commits of one aggregate with a version above after,
	// limit of them or all there are, in order. None is no error. The slice
	// and the commits are shared: they are read and never changed.
	Stream(ctx context.Context, t wow.Target, after int64, limit int) ([]*Commit, error)

	// Read returns commits of a shard behind a position, in order: at least
	// one if there is one, at most limit, and it may return fewer than there
	// are. The slice and the commits are shared: they are read and never
	// changed.
	Read(ctx context.Context, after wow.Position, limit int) ([]*Commit, error)

	// Head returns the position of a shard's last commit.
	Head(ctx context.Context, shard int32) (wow.Position, error)

	// Wait returns nil once there is a commit behind after, or the error of
	// ctx. It may return early; the caller reads and waits again.
	Wait(ctx context.Context, after wow.Position) error
}

// Instant is a store in this process's own memory. None of its methods waits
// for anything, and nobody else writes to it, so the runtime calls it on its
// workers and without batches.
type Instant interface {
	Store
	// AppendOne is Append for one commit, of which the caller knows that Check
	// accepts it.
	AppendOne(c *Commit) Result
}

// Result is the answer to one appended commit.
type Result struct {
	Status   Status
	Position wow.Position // Stored: where. The store also sets it in the commit, with StoredAt
	Head     int64        // Conflict, Repeated: the aggregate's version
	First    *Outcome     // Repeated: what the same request came to before
	Err      error        // Failed, Unknown: why
}

// Status says what became of an appended commit.
type Status uint8

const (
	Failed   Status = iota // not stored, for a technical reason
	Stored                 // durable and visible to every reader
	Conflict               // the aggregate is not at the version before the commit's
	Repeated               // the aggregate has an outcome for this request already
	Unknown                // the answer was lost: it may be stored or not
)

// String returns the status as a word.
func (s Status) String() string {
	return [...]string{"failed", "stored", "conflict", "repeated", "unknown"}[s%5]
}

// Outcomes keeps what requests came to. A request is unique per aggregate,
// over commits, no-ops and refusals alike.
type Outcomes interface {
	// Settle confirms decisions that append nothing, refusals and no-ops, and
	// stores those that say so. For each: when the aggregate's version is not
	// the one the decision was made on, Head says what it is and nothing is
	// stored; when its request has an outcome already, First is that outcome.
	Settle(ctx context.Context, decisions []Settlement) ([]Settled, error)
}

// Settlement is one decision that appends nothing.
type Settlement struct {
	Target  wow.Target
	Version int64 // that the decision was made on
	Keep    bool  // store the outcome: the request can come again
	Outcome Outcome
}

// Settled is the answer to a Settlement.
type Settled struct {
	Head  int64    // the aggregate's version
	First *Outcome // of the same request, if it had one before
}

// Outcome is what a request came to.
type Outcome struct {
	Kind     OutcomeKind
	Request  string
	Version  int64        // Committed: of the commit; else that the decision was made on
	Position wow.Position // Committed: of the commit
	Commit   string       // Committed: its ID
	Code     string       // Refused
	Message  string       // Refused
	At       int64        // when, microseconds UTC
}

// OutcomeKind says which outcome a request had.
type OutcomeKind uint8

const (
	Committed OutcomeKind = iota + 1
	NoOp
	Refused
)

// Snapshots keeps states, so that long histories load fast. A store may lose
// them at any time.
type Snapshots interface {
	// Snapshot returns the newest snapshot of a state revision with a version
	// of at most max (0: any), or nil.
	Snapshot(ctx context.Context, t wow.Target, revision string, max int64) (*Snapshot, error)
	// SaveSnapshot stores a snapshot unless a newer one of that revision is
	// there; one of the same version is replaced. The store keeps the newest SnapshotsKept of each aggregate and
	// revision, so that a reader that lags finds one below its position.
	SaveSnapshot(ctx context.Context, s *Snapshot) error
}

// Snapshot is the state of an aggregate at a version.
type Snapshot struct {
	Target   wow.Target
	Revision string // of the state type
	Version  int64
	Commit   string // ID of the commit at that version
	Codec    Codec
	Data     []byte
}

// Checkpoints keeps how far consumers have come.
type Checkpoints interface {
	// Checkpoint returns where a consumer stands in a segment of a shard.
	// A consumer that was never seen stands at sequence 0.
	Checkpoint(ctx context.Context, consumer string, shard int32, segment int) (Checkpoint, error)
	// SaveCheckpoint moves a consumer on. ErrEpoch: another process has taken
	// the segment over, or the checkpoint would move back. ErrAhead: there is
	// no such position. Nothing is stored then. One at sequence 0 stays where it
	// is: only its epoch is compared.
	SaveCheckpoint(ctx context.Context, c Checkpoint) error
}

// Checkpoint is the position below which a consumer has finished everything.
type Checkpoint struct {
	Consumer string
	Segment  int
	Epoch    int64 // of the lease; a lower one than the stored is refused
	Position wow.Position
}

// Parking keeps the messages that consumers gave up on.
type Parking interface {
	// Park stores messages and, with them, the checkpoint if there is one:
	// both or neither, with the errors of SaveCheckpoint. A message that is
	// parked already, same consumer, position and function, keeps its place
	// and gets the new error, attempts, time and running mark.
	Park(ctx context.Context, messages []Parked, c *Checkpoint) error
	// Parked lists a consumer's messages behind a position of its shard,
	// oldest first, then by function. The messages of one position come
	// together, so there may be a few more than limit. An empty target is
	// every aggregate.
	Parked(ctx context.Context, consumer string, t wow.Target, after wow.Position, limit int) ([]Parked, error)
	// Unpark removes one message, and stores the checkpoint if there is one, as
	// Park does. It is no error when the message is not there.
	Unpark(ctx context.Context, consumer, function string, at wow.Position, c *Checkpoint) error
}

// Parked is a message that a consumer set aside: a commit, for one function.
type Parked struct {
	Consumer string
	Function string // "" for one that waits behind another of its aggregate
	Commit   *Commit
	Error    string // of the last attempt
	Attempts int
	At       int64 // microseconds UTC
	Running  bool  // its handler has not returned yet
}
