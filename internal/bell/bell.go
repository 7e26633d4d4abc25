// Package bell wakes whoever waits for a log to grow. Ringing costs one atomic
// load while nobody waits, and waiting needs no goroutine.
package bell

import (
	"context"
	"sync"
	"sync/atomic"
)

// Bell may be rung and waited for by any goroutine at any time. Its zero value
// is ready for use.
type Bell struct {
	waiting atomic.Int32
	mu      sync.Mutex
	rung    chan struct{} // closed by the next ring; nil until somebody waits
}

// Ring has everybody who waits look again. The caller has published what they
// wait for.
func (b *Bell) Ring() {
	if b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
	b.mu.Unlock()
}

// Wait returns once ready says so or has an error, or with the error of ctx.
//
// The look behind listen is what prevents a lost wake-up:
//
//	waiter: waiting = 1, takes the channel, looks: not yet
//	ringer: publishes, sees waiting == 1, closes that channel
//
// A ringer that saw waiting == 0 had published before the waiter looked.
func (b *Bell) Wait(ctx context.Context, ready func() (bool, error)) error {
	if ok, err := ready(); ok || err != nil {
		return err
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		rung := b.listen()
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen returns a channel that the next ring closes.
func (b *Bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// WaitAsking is Wait for what can also happen without a ring: whoever waits
// and holds the token of asking asks from time to time. ask pauses, but not
// once rung is closed, then looks and rings if there is news.
func (b *Bell) WaitAsking(ctx context.Context, ready func() (bool, error), asking chan struct{}, ask func(rung <-chan struct{}) error) error {
	if ok, err := ready(); ok || err != nil {
		return err
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		rung := b.listen()
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		case <-asking:
			err := ask(rung)
			asking <- struct{}{}
			if err != nil {
				return err
			}
		}
	}
}
