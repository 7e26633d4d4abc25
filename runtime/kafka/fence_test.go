package kafka_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/kafka"
)

// wire is a network that can be cut.
type wire struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *wire) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, host)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.cut {
		_ = c.Close()
		return nil, errors.New("no network")
	}
	if err == nil {
		w.conns = append(w.conns, c)
	}
	return c, err
}

func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.conns = nil
	}
}

// A process that loses the network, and does not know it, keeps nobody from its
// partitions; what it finishes late is not committed.
func TestAMemberThatIsCutOffCommitsNothing(t *testing.T) {
	const records = 40
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seeds, w := cluster(t), new(wire)
	lone, err := kafka.Open(ctx, kafka.Config{Seeds: seeds, Partitions: 4, Drain: time.Second, Options: []kgo.Opt{
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(time.Second), kgo.Dialer(w.dial),
	}})
	require.NoError(t, err)
	defer lone.Close()
	other := open(t, seeds, 4)
	for i := range records {
		require.NoError(t, other.Publish(ctx, bus.Record{Topic: "shop.cart", Key: string(rune('a' + i))}))
	}
	collect := func(s bus.Subscription, n int) (all []bus.Delivery) {
		t.Helper()
		for len(all) < n {
			some, err := s.Fetch(ctx, n-len(all))
			require.NoError(t, err, "after %d of %d", len(all), n)
			all = append(all, some...)
		}
		return all
	}

	one, err := lone.Subscribe(ctx, "g", "shop.cart")
	require.NoError(t, err)
	held := collect(one, records)
	w.set(true)
	two, err := other.Subscribe(ctx, "g", "shop.cart")
	require.NoError(t, err)
	collect(two, records) // it gets all of them, and holds them
	one.Finish(held...)
	w.set(false)
	require.NoError(t, lone.Publish(ctx, bus.Record{Topic: "shop.cart", Key: "the network is back"}))
	_ = one.Close(ctx) // whether it may say so or not
	require.NoError(t, two.Close(ctx))

	three, err := other.Subscribe(ctx, "g", "shop.cart")
	require.NoError(t, err)
	defer three.Close(context.Background())
	require.Len(t, collect(three, records+1), records+1, "nothing of it was finished by who had it")
}
