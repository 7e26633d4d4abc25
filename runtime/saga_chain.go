package runtime

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/wowgen/wow"
)

// A saga may set off another, and that one the first again. Nothing in a store
// shows whether that ends, so the length of such a chain is counted: a command
// that a consumer's handler sends is one longer than the commit that made it
// send it, and the commit that comes of the command carries the length on.

// chainMax bounds how long a chain gets. What would make it longer is refused
// as invalid, so the message of the saga that sends it is parked.
const chainMax = 100

// chainKey is the metadata of a commit that holds the length of its chain.
const chainKey = "wow-chain"

// chain notes the length of the command's chain in its metadata.
func (f *flight) chain() error {
	if f.cause == nil {
		return nil
	}
	before, _ := strconv.Atoi(f.cause.metadata[chainKey])
	n := before + int(f.cause.chain)
	switch {
	case n == 0:
		return nil
	case n > chainMax:
		return fmt.Errorf("%w: it would be number %d of a chain of commands and events, which looks like a loop", wow.ErrInvalid, n)
	}
	all := maps.Clone(f.Metadata)
	if all == nil {
		all = make(map[string]string, 1)
	}
	all[chainKey] = strconv.Itoa(n)
	f.Metadata = all
	return nil
}
