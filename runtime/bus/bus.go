// Package bus is the contract between the runtime and what carries commands from
// those who send them to the process that decides them.
//
// Without a bus a command goes straight into the mailbox of its aggregate, in
// the same process. With one it is published, under a key that is its
// aggregate's, and a receiver of the bounded context takes it from there. The bus
// keeps the order of each key, hands each partition to one member of a group at
// a time, and delivers again what was not finished. That a command takes effect
// once is the work of its request ID, not of the bus.
//
// A bus is a small thing behind a test: package bustest holds every one, also a
// user's own, to this contract.
package bus

import (
	"context"
	"errors"
	"strings"

	"github.com/wowgen/wow"
)

// Bus carries records. All methods may be called at the same time.
type Bus interface {
	// Publish returns once the bus has all the records and will not lose them.
	// Records of one key and topic are delivered in the order in which they were
	// published. An error may come after some of them were taken.
	Publish(ctx context.Context, records ...Record) error
	// Subscribe makes a member of a group. Each record of the topics goes to one
	// member of each group; a group that is new begins with the first record
	// there is.
	Subscribe(ctx context.Context, group string, topics ...string) (Subscription, error)
}

// ErrClosed reports a bus or a subscription that was closed.
var ErrClosed = errors.New("bus: closed")

// Record is what is published.
type Record struct {
	Topic   string
	Key     string
	Headers map[string]string
	Value   []byte
}

// Delivery is a record with where it came from.
type Delivery struct {
	Record
	Partition int32
	Offset    int64
	// Term tells the times apart that a member had the partition.
	Term int64
}

// MaxOpen bounds what a crash repeats, and what is remembered: a partition with
// so many deliveries from the lowest unfinished on gives no more until that is
// finished, except for the rest of a fetch. Other partitions go on.
const MaxOpen = 4096

// Subscription is a member of a group. One goroutine fetches; any may finish.
type Subscription interface {
	// Fetch returns one delivery or more, at most limit, and waits for the
	// first. Deliveries of one key come in order. A partition that is to go to
	// another member waits until what this one has of it is finished, but not
	// for ever: the bus has a bound of some seconds.
	Fetch(ctx context.Context, limit int) ([]Delivery, error)
	// Finish notes that deliveries need not come again. The bus remembers the
	// lowest point below which all are finished: after a crash what is above
	// comes again, finished or not. Finishing what is not held any more does
	// nothing.
	Finish(deliveries ...Delivery)
	// Holds reports whether the partition of a delivery has been this member's
	// since it was delivered. One that is not held comes again elsewhere. It is
	// quick, and may be behind what other members know.
	Holds(d Delivery) bool
	// Close leaves the group. What is unfinished goes to others.
	Close(ctx context.Context) error
}

// Key is the key of an aggregate's records: tenant, type and ID, so that other
// languages can build it too.
func Key(t wow.Target) string {
	return escape(t.Tenant) + "|" + escape(t.Aggregate) + "|" + escape(t.ID)
}

var escaper = strings.NewReplacer("%", "%25", "|", "%7C")

func escape(s string) string { return escaper.Replace(s) }
