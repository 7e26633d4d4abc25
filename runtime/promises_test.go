package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// P1: one linear history per aggregate, whoever writes: two runtimes, which
// know nothing of each other, on one store.
func TestP1OneLinearHistoryPerAggregate(t *testing.T) {
	s := newFaulty()
	nodes := []*Gateway{
		bank(t, Config{Store: s, Retry: Retry{Max: 1000}}),
		bank(t, Config{Store: s, Retry: Retry{Max: 1000}}),
	}
	const senders, each, aggregates = 4, 100, 3
	var sent [aggregates]atomic.Int64
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for j := range each {
				a := (i + j) % aggregates
				_, err := nodes[i%2].Send(t.Context(), Deposit{ID: fmt.Sprint(a), Amount: int64(j + 1)})
				if err != nil {
					t.Error(err)
				}
				sent[a].Add(int64(j + 1))
			}
		})
	}
	wg.Wait()
	var commits int64
	for a := range aggregates {
		n, _ := requireOneHistory(t, s, accountTarget(fmt.Sprint(a)))
		commits += n
		for _, g := range nodes {
			sum, version := balance(t, g, fmt.Sprint(a))
			require.Equal(t, sent[a].Load(), sum)
			require.Equal(t, n, version)
		}
	}
	require.EqualValues(t, senders*each, commits)
}

// P2: what was reported as PROCESSED is in the store, at the version and
// position of its receipt, whatever happens later.
func TestP2WhatIsProcessedIsStored(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		r := New(Config{Store: s})
		r.AddAggregate(accounts())
		require.NoError(t, r.Start(t.Context()))
		g := r.Gateway()
		var receipts sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for {
					got, err := g.Send(t.Context(), Deposit{ID: fmt.Sprint(i % 3), Amount: 1})
					if err != nil {
						if !errors.Is(err, wow.ErrStopping) {
							t.Error(err)
						}
						return
					}
					receipts.Store(got.Commit, got)
					if got.Position.Seq == 200 {
						wg.Go(func() { // in the middle of it all
							if err := r.Stop(context.Background()); err != nil {
								t.Error(err)
							}
						})
					}
				}
			})
		}
		wg.Wait()
		n := 0
		commits, err := s.Read(t.Context(), wow.Position{}, 1<<20)
		require.NoError(t, err)
		for len(commits) > 0 {
			for _, c := range commits {
				if got, ok := receipts.Load(c.ID); ok {
					require.Equal(t, Receipt{Target: c.Target, Version: c.Version, Position: c.Position, Commit: c.ID, Stage: Processed}, got)
					n++
				}
			}
			commits, err = s.Read(t.Context(), commits[len(commits)-1].Position, 1<<20)
			require.NoError(t, err)
		}
		receipts.Range(func(any, any) bool { n--; return true })
		require.Zero(t, n, "receipts without a commit")
	})
}

// P4: a request takes effect once; the second send gets the first one's
// outcome. The second node knows nothing of the first but its store.
func TestP4ARequestTakesEffectOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		first := bank(t, Config{Store: s})
		nodes := []*Gateway{first}
		if _, alone := s.(store.Instant); !alone {
			nodes = append(nodes, bank(t, Config{Store: s}))
		}
		for name, tc := range map[string]struct {
			cmd    wow.Sendable
			opts   []SendOption
			before []wow.Sendable
			after  []wow.Sendable // others change the state before the repeat
		}{
			"accepted":             {cmd: Deposit{ID: "id", Amount: 5}},
			"accepted create":      {cmd: OpenAccount{ID: "id", First: 5}},
			"refused":              {cmd: Withdraw{ID: "id", Amount: 5}, before: []wow.Sendable{Deposit{ID: "id", Amount: 1}}, after: []wow.Sendable{Deposit{ID: "id", Amount: 100}}},
			"refused as not found": {cmd: Withdraw{ID: "id", Amount: 5}, after: []wow.Sendable{Deposit{ID: "id", Amount: 100}}},
			"no-op":                {cmd: Deposit{ID: "id", Amount: 0}, before: []wow.Sendable{Deposit{ID: "id", Amount: 1}}, after: []wow.Sendable{Deposit{ID: "id", Amount: 100}}},
			"expected version":     {cmd: Deposit{ID: "id", Amount: 5}, opts: []SendOption{WithVersion(1)}, before: []wow.Sendable{Deposit{ID: "id", Amount: 1}}, after: []wow.Sendable{Deposit{ID: "id", Amount: 100}}},
		} {
			t.Run(name, func(t *testing.T) {
				id := strings.ReplaceAll(name, " ", "-")
				opts := append(tc.opts, WithRequest("r1"))
				send := func(g *Gateway, cmds ...wow.Sendable) {
					for _, c := range cmds {
						_, err := g.Send(t.Context(), at(c, id))
						require.NoError(t, err)
					}
				}
				send(first, tc.before...)
				want, wantErr := first.Send(t.Context(), at(tc.cmd, id), opts...)
				send(nodes[len(nodes)-1], tc.after...)
				versions, _ := requireOneHistory(t, s, accountTarget(id))
				for _, g := range append(nodes, nodes...) {
					got, err := g.Send(t.Context(), at(tc.cmd, id), opts...)
					require.Equal(t, wow.Code(wantErr), wow.Code(err))
					if wantErr != nil {
						require.Equal(t, wantErr.Error(), err.Error())
						continue
					}
					require.True(t, got.Repeated)
					got.Repeated = false
					require.Equal(t, want, got)
				}
				after, _ := requireOneHistory(t, s, accountTarget(id))
				require.Equal(t, versions, after, "a repeat appended something")
			})
		}
	})
}

// at returns a test's command with another ID.
func at(c wow.Sendable, id string) wow.Sendable {
	switch c := c.(type) {
	case Deposit:
		c.ID = id
		return c
	case OpenAccount:
		c.ID = id
		return c
	case Withdraw:
		c.ID = id
		return c
	}
	panic(c)
}

func TestP4ARequestSentTwiceAtOnceTakesEffectOnce(t *testing.T) {
	s := newFaulty()
	nodes := []*Gateway{bank(t, Config{Store: s}), bank(t, Config{Store: s})}
	for i := range 50 {
		var wg sync.WaitGroup
		var got [4]Receipt
		for j := range got {
			wg.Go(func() {
				var err error
				if got[j], err = nodes[j%2].Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithRequest(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
				got[j].Repeated = false
			})
		}
		wg.Wait()
		for _, r := range got {
			require.Equal(t, got[0], r)
			require.EqualValues(t, i+1, r.Version)
		}
	}
}

func TestP4ACreateWithoutAnIDIsRepeatedByItsRequest(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		g := bank(t, Config{Store: s})
		first, err := g.Send(t.Context(), OpenAccount{First: 3}, WithRequest("r1"))
		require.NoError(t, err)
		require.Equal(t, "9228cd13-5075-8d6a-b9bf-c01081ef388d", first.Target.ID, "derived: it must be the same for ever")
		again, err := g.Send(t.Context(), OpenAccount{First: 3}, WithRequest("r1"))
		require.NoError(t, err)
		require.True(t, again.Repeated)
		require.Equal(t, first.Target, again.Target)
		other, err := g.Send(t.Context(), OpenAccount{First: 3}, WithRequest("r2"))
		require.NoError(t, err)
		require.NotEqual(t, first.Target, other.Target)
		free, err := g.Send(t.Context(), OpenAccount{First: 3})
		require.NoError(t, err)
		require.Equal(t, "7", free.Target.ID[14:15], "a UUIDv7")
	})
}

// P9: the intake closes first, what was admitted finishes.
func TestP9StopFinishesWhatWasAdmitted(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		r := New(Config{Store: s})
		r.AddAggregate(accounts())
		require.NoError(t, r.Start(t.Context()))
		g := r.Gateway()
		begun, release := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := g.Send(t.Context(), Do{ID: "a", F: func(ctx context.Context, _ *Account, _ *Command, out *Decision) error {
				return out.Offload("", func(ctx context.Context) error {
					close(begun)
					<-release
					// What an admitted handler sends is still taken.
					if _, err := g.Send(ctx, Deposit{ID: "b", Amount: 1}); err != nil {
						return err
					}
					out.Add(Deposited{Amount: 7})
					return nil
				})
			}})
			if err != nil {
				t.Error(err)
			}
		})
		<-begun
		stopped := make(chan error, 1)
		go func() { stopped <- r.Stop(context.Background()) }()
		for {
			_, err := g.Send(t.Context(), Deposit{ID: "c", Amount: 1})
			if errors.Is(err, wow.ErrStopping) {
				break
			}
			require.NoError(t, err)
		}
		close(release)
		require.NoError(t, <-stopped)
		wg.Wait()
		for _, id := range []string{"a", "b"} {
			n, _ := requireOneHistory(t, s, accountTarget(id))
			require.EqualValues(t, 1, n, id)
		}
	})
}

// P9: within the deadline or with a list of what was left.
func TestP9AForcedStopSaysWhatWasLeft(t *testing.T) {
	r := New(Config{Logger: slog.New(slog.DiscardHandler)})
	r.AddAggregate(accounts())
	require.NoError(t, r.Start(t.Context()))
	begun, ended := make(chan struct{}), make(chan struct{})
	answer := make(chan error, 1)
	go func() {
		_, err := r.Gateway().Send(context.Background(), Do{ID: "stuck", F: func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			return out.Offload("", func(ctx context.Context) error {
				close(begun)
				<-ctx.Done() // the forced stop ends it
				close(ended)
				return ctx.Err()
			})
		}})
		answer <- err
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := r.Stop(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "waiting for 1 commands")
	require.ErrorContains(t, err, `lane "commands of bank" key bank.account/stuck: 1`)
	<-ended
	require.Contains(t, []string{"unknown_outcome", "canceled"}, wow.Code(<-answer))
}

// P10: bad input is a typed error to its sender, and the next command goes on.
func TestP10BadInputIsATypedError(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		g := bank(t, Config{Store: s})
		long := func(n int) string { return strings.Repeat("x", n) }
		handler := func(f func(out *Decision)) Do {
			return Do{ID: "a", F: func(_ context.Context, _ *Account, _ *Command, out *Decision) error { f(out); return nil }}
		}
		many := map[string]string{}
		for i := range 65 {
			many[fmt.Sprint(i)] = ""
		}
		for name, tc := range map[string]struct {
			cmd  wow.Sendable
			opts []SendOption
			code string
			says string
		}{
			"nil":                   {nil, nil, "invalid", "sending nil"},
			"no ID":                 {Deposit{}, nil, "invalid", "no ID"},
			"a long ID":             {Deposit{ID: long(257)}, nil, "invalid", "the limit is 256"},
			"a NUL":                 {Deposit{ID: "a\x00b"}, nil, "invalid", "control character"},
			"not UTF-8":             {Deposit{ID: "a\xff"}, nil, "invalid", "UTF-8"},
			"its own Validate":      {Withdraw{ID: "a", Amount: -1}, nil, "invalid", "sending withdraw to bank.account/a: invalid: the amount is negative"},
			"nobody decides it":     {unknownCommand{}, nil, "unknown_type", "register bank.unknown"},
			"a tenant":              {Deposit{ID: "a"}, []SendOption{WithTenant("t")}, "invalid", `has no tenants, the command names "t"`},
			"a negative version":    {Deposit{ID: "a"}, []SendOption{WithVersion(-1)}, "invalid", "the expected version is -1"},
			"another version":       {Deposit{ID: "a", Amount: 1}, []SendOption{WithVersion(7)}, "conflict", "is at version 0, not at the expected 7"},
			"a long request":        {Deposit{ID: "a"}, []SendOption{WithRequest(long(257))}, "invalid", "request ID"},
			"a long correlation":    {Deposit{ID: "a"}, []SendOption{WithCorrelation(long(257))}, "invalid", "correlation ID"},
			"many metadata":         {Deposit{ID: "a"}, []SendOption{WithMetadata(many)}, "invalid", "65 entries of metadata, the limit is 64"},
			"much metadata":         {Deposit{ID: "a"}, []SendOption{WithMetadata(map[string]string{"k": long(17000)})}, "invalid", "the limit is 16384"},
			"reserved metadata":     {Deposit{ID: "a"}, []SendOption{WithMetadata(map[string]string{"wow-x": ""})}, "invalid", "reserved"},
			"a large event":         {handler(func(out *Decision) { out.Add(Noted{long(901 << 10)}) }), nil, "invalid", "more than 921600 bytes"},
			"another's event":       {handler(func(out *Decision) { out.Add(Stranger{}) }), nil, "unknown_type", "runtime.Stranger is not an event of bank.account"},
			"an event by pointer":   {handler(func(out *Decision) { out.Add(&Noted{"x"}) }), nil, "failed", "no method that applies *runtime.Noted: return events by value"},
			"a nil event":           {handler(func(out *Decision) { out.Add(nil) }), nil, "failed", "event 0 is nil"},
			"an event that panics":  {handler(func(out *Decision) { out.Add(Broken{"boom"}) }), nil, "failed", "panic: boom"},
			"a handler that panics": {handler(func(*Decision) { panic("bang") }), nil, "failed", "panic: bang"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := g.Send(t.Context(), tc.cmd, tc.opts...)
				require.Equal(t, tc.code, wow.Code(err), err)
				require.ErrorContains(t, err, tc.says)
			})
		}
		head, err := s.Head(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, head.Seq, "nothing of it became history")
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		sum, _ := balance(t, g, "a")
		require.EqualValues(t, 1, sum)
	})
}

type unknownCommand struct{}

func (unknownCommand) WowTarget() wow.Target {
	return wow.Target{Aggregate: "bank.unknown", ID: "a"}
}
func (unknownCommand) WowCommand() *wow.CommandType { return &unknownType }

var unknownType = wow.CommandType{Aggregate: "bank.unknown", Name: "unknown"}

// A store that reports faults: nothing is acknowledged that is not stored, the
// error has the cause, and commands go on when the fault ends.
func TestAFaultOfTheStoreIsNotAcknowledged(t *testing.T) {
	full := errors.New("no space left on device")
	s := newFaulty()
	g := bank(t, Config{Store: s})
	_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.NoError(t, err)
	s.bend(func(s *faulty) {
		s.append = func(es []*store.Commit, _ func([]*store.Commit) []store.Result) []store.Result {
			return all(es, store.Result{Err: full})
		}
	})
	_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 2})
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, err, wow.ErrFailed)
	require.EqualError(t, err, "runtime: appending for deposit of bank.account/a: failed: no space left on device")
	s.bend(func(s *faulty) { s.append = nil })
	s.bend(func(s *faulty) {
		s.stream = func(func() ([]*store.Commit, error)) ([]*store.Commit, error) { return nil, full }
	})
	_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 2})
	require.ErrorIs(t, err, full, "the state that was ahead of the store is not used")
	s.bend(func(s *faulty) { s.stream = nil })
	s.bend(func(s *faulty) {
		s.settle = func([]store.Settlement, func([]store.Settlement) ([]store.Settled, error)) ([]store.Settled, error) {
			return nil, full
		}
	})
	_, err = g.Send(t.Context(), Withdraw{ID: "a", Amount: 20})
	require.ErrorIs(t, err, full, "a refusal that cannot be confirmed is not reported")
	s.bend(func(s *faulty) { s.settle = nil })
	got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 3})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Version)
	sum, _ := balance(t, g, "a")
	require.EqualValues(t, 4, sum)
}

func TestCommandsOfManyAggregatesShareAppends(t *testing.T) {
	s := newFaulty()
	first, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.append = func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
		once.Do(func() { close(first); <-release })
		return next(es)
	}
	g := bank(t, Config{Store: s, Commit: CommitConfig{Batch: 16}})
	var wg sync.WaitGroup
	send := func(i int) {
		wg.Go(func() {
			if _, err := g.Send(t.Context(), Deposit{ID: fmt.Sprint(i), Amount: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	send(0)
	<-first
	for i := range 40 {
		send(i + 1)
	}
	for len(g.r.commands.appends.queue) < 40 {
		time.Sleep(0)
	}
	close(release)
	wg.Wait()
	require.Equal(t, []int{1, 16, 16, 8}, s.batches)
}

var _ store.Instant = (*memory.Store)(nil)
