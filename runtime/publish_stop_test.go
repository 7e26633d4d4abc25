package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/bus"
)

// A saga waits for a process that is down; its own is to stop.
func TestAStopDoesNotWaitForAnAnswerFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		d := overBus(t, s, nil, true)
		r := New(Config{Store: &shared{Store: s}, Bus: b, Logger: slog.New(slog.DiscardHandler)})
		r.AddSaga(Saga{Name: "bank.saga.s", Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
			OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
				out.Send(Deposit{ID: "b", Amount: 1})
				return nil
			}})
		require.NoError(t, r.Start(t.Context()))
		_, err := d.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 5})
		require.NoError(t, err)
		time.Sleep(time.Second)
		begun := time.Now()
		require.NoError(t, r.Stop(context.Background()))
		require.Less(t, time.Since(begun), 10*time.Second)
	})
}

// Thousands are due at once, and half are taken back meanwhile.
func TestThousandsOfDelaysAreDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		for i := range 3000 {
			b.append(fmt.Sprint("k", i), tallyAdded{i})
		}
		time.Sleep(time.Hour - time.Millisecond)
		for i := range 1500 {
			b.append(fmt.Sprint("k", i), tallyRemoved{0})
		}
		time.Sleep(time.Minute)
		n := map[string]int{}
		for _, e := range p.sent() {
			if e[:3] != "now" {
				n[e]++
			}
		}
		for e, k := range n {
			require.Equal(t, 1, k, e)
		}
		require.Zero(t, delaysLeft(t, b.store))
		b.stop()
	})
}

var _ = wow.ErrStopping
