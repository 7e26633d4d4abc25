package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
)

// A record that fails is set aside until its next try, and what comes of its key
// meanwhile behind it: their order is kept, and they take no place in the
// window, so that a command which many aggregates wait for, as in a rolling
// upgrade, stops no others.

const (
	// asideMost and asideBytes bound what is set aside without a place in the
	// window; what is more keeps its place, so a receiver holds at most
	// asideMost and a window of records.
	asideMost  = 4096
	asideBytes = 16 << 20
)

// errAside is the outcome of a record that was set aside.
var errAside = errors.New("runtime: set aside until the next try")

// aside is what was set aside, by key and in order.
type aside struct {
	mu    sync.Mutex
	keys  map[string][]*delivery
	many  int // of those without a place
	bytes int
}

// behind sets a record aside if there are others of its key, and reports that.
func (a *aside) behind(d *delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.keys[d.Key]) == 0 {
		return false
	}
	a.add(d)
	return true
}

// put sets the first record of a key aside.
func (a *aside) put(d *delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(d)
}

func (a *aside) add(d *delivery) {
	if a.keys == nil {
		a.keys = map[string][]*delivery{}
	}
	a.keys[d.Key] = append(a.keys[d.Key], d)
	size := len(d.Key) + len(d.Value)
	if d.placed = a.many >= asideMost || a.bytes+size > asideBytes; !d.placed {
		a.many++
		a.bytes += size
	}
}

// first returns the record of a key to try next, or nil.
func (a *aside) first(key string) *delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.keys[key]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// of returns what was set aside of a key.
func (a *aside) of(key string) []*delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.keys[key])
}

// pop removes the first record of a key.
func (a *aside) pop(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.keys[key]
	d := list[0]
	list[0] = nil
	if a.keys[key] = list[1:]; len(list) == 1 {
		delete(a.keys, key)
	}
	if !d.placed {
		a.many--
		a.bytes -= len(d.Key) + len(d.Value)
	}
}

// yield gives the place of a record back that was set aside without it.
func (rc *receiver) yield(d *delivery) {
	if !d.placed {
		rc.release()
	}
}

// retry tries the first record that was set aside of a key, and when that is
// over with, the next. It is the key's mailbox.
func (rc *receiver) retry(ctx context.Context, key string) executor.Outcome {
	d := rc.aside.first(key)
	if d == nil {
		return executor.Done(nil)
	}
	pause, err := rc.attempt(ctx, d)
	switch {
	case err == errAside:
		rc.again(pause, key)
		return executor.Done(nil)
	case err == nil:
		rc.sub.Finish(d.Delivery)
	case rc.stopping.Load() || ctx.Err() != nil:
		return executor.Done(nil)
	}
	rc.aside.pop(key) // it has an outcome, or its partition went to another process
	if d.placed {
		rc.release()
	}
	return executor.Again(0)
}

// again has what was set aside of a key tried again after a pause. Senders of
// this process do not wait for that once it stops.
func (rc *receiver) again(pause time.Duration, key string) {
	if rc.r.life.stage.Load() >= quiescing {
		for _, d := range rc.aside.of(key) {
			rc.r.replies.tell(d.asked(), Receipt{}, fmt.Errorf("%w: it failed, and others will try again: %w", wow.ErrUnknownOutcome, wow.ErrStopping))
		}
	}
	time.AfterFunc(pause, func() {
		_ = rc.lane.Submit(rc.until, key, &delivery{knock: true}) // or the receiver has stopped
	})
}
