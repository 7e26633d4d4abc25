// Package replay has apply methods that depend on more than their event.
package replay

import (
	"context"
	crand "crypto/rand"
	"log/slog"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"time"

	"github.com/wowgen/wow"
)

//wow:aggregate name=timer context=work new=NewTimer
type Timer struct {
	ID   string `wow:"key"`
	At   time.Time
	N    int
	Home string
	done chan struct{}
}

type Set struct {
	TimerID string `wow:"key"`
}

type (
	A struct{ At time.Time }
	B struct{}
	C struct{}
	D struct{}
	E struct{}
	F struct{}
	G struct{}
	H struct{}
	K struct{}
)

// Set may look at the clock: the event holds what it saw.
func (t *Timer) Set(cmd Set) (A, *B, *C, *D, *E, *F, []G, []H, []K, error) {
	return A{At: time.Now()}, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

func (t *Timer) A(e A) {
	t.At = time.Now() // want `Timer.A applies an event, but reads the clock(?s:.*)Timer.A -> time.Now(?s:.*)fix: let the command handler find it out`
}

func (t *Timer) B(e wow.Event[B]) {
	t.N = rand.Intn(6)    // want `reads random numbers`
	t.N = randv2.IntN(6)  // want `reads random numbers`
	t.Home = crand.Text() // want `reads random numbers`
}

func (t *Timer) C(C) {
	t.Home = os.Getenv("HOME") // want `Timer.C applies an event, but reads the environment`
}

func (t *Timer) D(D) {
	data, _ := os.ReadFile("home") // want `Timer.D applies an event, but waits or does I/O`
	t.Home = string(data)
}

func (t *Timer) E(E) {
	<-t.done // want `waits or does I/O`
}

func (t *Timer) F(F) {
	t.N = t.age() // want `reads the clock(?s:.*)Timer.F -> Timer.age -> time.Since \(replay.go:\d+\)`
}

func (t *Timer) age() int { return int(time.Since(t.At).Hours()) }

// G depends on its event alone.
func (t *Timer) G(e wow.Event[G]) {
	t.At = e.Time.Add(time.Hour)
	t.N = rand.New(rand.NewSource(1)).Intn(6)
	slog.Info("it happened", "at", t.At)
}

// H may be declared what it likes: it must not wait either.
//
//wow:blocking
func (t *Timer) H(H) {
	time.Sleep(1) // want `Timer.H applies an event, but waits or does I/O`
}

func (t *Timer) K(e K) {
	n, _ := wow.Await(context.Background(), func(context.Context) (int, error) { // want `Timer.K applies an event, but waits in wow.Await`
		time.Sleep(1)
		return 1, nil
	})
	t.N = n
}

// NewTimer makes an empty state, before every replay.
func NewTimer() *Timer {
	return &Timer{At: time.Now()} // want `NewTimer makes the state that a replay begins with, but reads the clock(?s:.*)fix: let the first event set it`
}

// NewOther is another function.
func NewOther() *Timer { return &Timer{At: time.Now()} }

//wow:event name=a_old aggregate=timer
type AOld struct{ Day string }

//wow:event name=a_old revision=2 aggregate=timer
type AOld2 struct{ At time.Time }

//wow:upcast
func upcast(old AOld) AOld2 {
	at, err := time.Parse(time.DateOnly, old.Day)
	if err != nil {
		at = time.Now() // want `upcast brings stored events up to date, but reads the clock(?s:.*)fix: derive it from the old event`
	}
	return AOld2{At: at}
}
