package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/kafka"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// notAlone is a store that other processes write to as well.
type notAlone struct{ store.Store }

func (notAlone) Sole() bool { return false }

// node is what one process would be: a runtime with its receivers.
type node struct {
	r      *wowrt.Runtime
	bus    *kafka.Bus
	carts  *domain.CartClient
	orders *domain.OrderClient
	begun  chan struct{} // closed when it decides its first command about a cart
}

// asked is a price list that tells when it is asked first.
type asked func()

func (a asked) Price(ctx context.Context, sku string) (int, error) {
	a()
	return priceList{}.Price(ctx, sku)
}

func startNode(t *testing.T, seeds []string, s store.Store) *node {
	t.Helper()
	b, err := kafka.Open(t.Context(), kafka.Config{Seeds: seeds, Partitions: 8, Options: []kgo.Opt{
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(5 * time.Second),
	}})
	require.NoError(t, err)
	r := wowrt.New(wowrt.Config{Store: notAlone{s}, Bus: b, Logger: slog.New(slog.DiscardHandler)})
	begun := make(chan struct{})
	domain.RegisterCart(r, &domain.CartHandlers{Prices: asked(sync.OnceFunc(func() { close(begun) }))})
	domain.RegisterOrder(r)
	domain.RegisterCheckout(r, domain.Checkout{})
	domain.RegisterPayment(r, domain.Payment{})
	require.NoError(t, r.Start(t.Context()))
	return &node{r, b, domain.NewCartClient(r.Gateway()), domain.NewOrderClient(r.Gateway()), begun}
}

func (n *node) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, n.r.Stop(context.Background()))
	n.bus.Close()
}

// The shop in two processes' worth of receivers over Kafka: each command is
// decided once, wherever it was sent, while a process leaves and another comes.
func TestTheShopRunsOverKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	require.NoError(t, err)
	defer cluster.Close()
	seeds, s := cluster.ListenAddrs(), memory.New()
	a, b := startNode(t, seeds, s), startNode(t, seeds, s)
	defer a.stop(t)

	const carts = 24
	var taken [carts]atomic.Int64
	var senders sync.WaitGroup
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	send := func(n *node, rounds int) {
		for c := range carts {
			senders.Go(func() {
				for range rounds {
					_, err := n.carts.AddItem(ctx, domain.AddItem{CartID: fmt.Sprint("c", c), SKU: "tea", Qty: 1})
					switch {
					case err == nil:
						taken[c].Add(1)
					case errors.Is(err, wow.ErrStopping):
						return // its node was stopped
					default:
						t.Errorf("cart %d: %v", c, err)
						return
					}
				}
			})
		}
	}
	send(a, 40)
	send(b, 1_000_000)
	time.Sleep(300 * time.Millisecond)
	b.stop(t)
	again := startNode(t, seeds, s)
	send(again, 40)
	senders.Wait()
	defer again.stop(t)

	for c := range carts {
		id := fmt.Sprint("c", c)
		cart, version, err := a.carts.Load(ctx, id)
		require.NoError(t, err)
		require.EqualValues(t, taken[c].Load(), cart.Lines["tea"].Qty, "%s: each command that was acknowledged, once", id)
		history, err := s.Stream(ctx, wow.Target{Aggregate: "shop.cart", ID: id}, 0, 1<<20)
		require.NoError(t, err)
		require.Len(t, history, int(version))
		require.GreaterOrEqual(t, taken[c].Load(), int64(80))
	}

	// A refusal crosses the bus as what it was, also from the other process.
	for _, n := range []*node{a, again} {
		_, err := n.carts.AddItem(ctx, domain.AddItem{CartID: "c1", SKU: "tea", Qty: 0})
		require.Equal(t, "bad_quantity", wow.Code(err))
	}
	// What a saga sends goes over it too, and can be waited for.
	cart, _, err := a.carts.Load(ctx, "c2")
	require.NoError(t, err)
	_, err = again.orders.PlaceOrder(ctx, domain.PlaceOrder{OrderID: "o1", CartID: "c2", Lines: cart.Lines}, wowrt.WaitFor(wowrt.SagaHandled))
	require.NoError(t, err)
	cart, _, err = a.carts.Load(ctx, "c2")
	require.NoError(t, err)
	require.Empty(t, cart.Lines)

	// What cannot be read is parked with its bytes, and stops nobody.
	poison := bus.Record{Topic: "shop.cart", Key: "|shop.cart|c3", Headers: map[string]string{"wow-command": "add_item", "wow-id": "c3", "wow-request": "r"}, Value: []byte("{")}
	require.NoError(t, a.bus.Publish(ctx, poison))
	_, err = a.carts.AddItem(ctx, domain.AddItem{CartID: "c3", SKU: "tea", Qty: 1})
	require.NoError(t, err)
	parked, err := a.bus.Subscribe(ctx, "look", "shop.cart.parked")
	require.NoError(t, err)
	defer parked.Close(ctx)
	found, err := parked.Fetch(ctx, 10)
	require.NoError(t, err)
	require.Equal(t, poison.Value, found[0].Value)
	require.Contains(t, found[0].Headers["wow-error"], "decoding it: unexpected end of JSON input")
}

// Senders that wait for nothing but Kafka, through one node and the other by
// turns, while one leaves and comes back: no command is lost, none is done
// twice, and each cart has them in the order in which they were sent.
func TestTheShopKeepsTheOrderOverKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	require.NoError(t, err)
	defer cluster.Close()
	seeds, s := cluster.ListenAddrs(), memory.New()
	a := startNode(t, seeds, s)
	defer a.stop(t)
	var second atomic.Pointer[node]
	second.Store(startNode(t, seeds, s))

	const carts = 40
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	var enough atomic.Bool
	var sent [carts]int
	var senders sync.WaitGroup
	send := func(c, n int, stage wowrt.SendOption) error {
		at := a
		if n%2 == 1 {
			at = second.Load()
		}
		for {
			_, err := at.carts.AddItem(ctx, domain.AddItem{CartID: fmt.Sprint("c", c), SKU: "tea", Qty: 1}, stage,
				wowrt.WithRequest(fmt.Sprint(n)), wowrt.WithMetadata(map[string]string{"n": fmt.Sprint(n)}))
			if at == a || !errors.Is(err, wow.ErrStopping) {
				return err
			}
			at = a // the other was stopped
		}
	}
	for c := range carts {
		senders.Go(func() {
			for n, last := 0, false; !last; n++ {
				stage := wowrt.WaitFor(wowrt.Sent)
				if last = enough.Load(); last {
					stage = wowrt.WaitFor(wowrt.Processed) // and so are those before
				}
				if err := send(c, n, stage); err != nil {
					t.Errorf("cart %d, number %d: %v", c, n, err)
					return
				}
				sent[c] = n + 1
			}
		})
	}
	works := func(n *node) {
		t.Helper()
		select {
		case <-n.begun:
		case <-ctx.Done():
			t.Error("a node got nothing to decide")
		}
	}
	works(a)
	works(second.Load())
	second.Load().stop(t)
	second.Store(startNode(t, seeds, s))
	works(second.Load())
	enough.Store(true)
	senders.Wait()
	defer second.Load().stop(t)

	for c := range carts {
		history, err := s.Stream(ctx, wow.Target{Aggregate: "shop.cart", ID: fmt.Sprint("c", c)}, 0, 1<<20)
		require.NoError(t, err)
		var want, numbers []string
		for _, commit := range history {
			numbers = append(numbers, commit.Metadata["n"])
		}
		for n := range sent[c] {
			want = append(want, fmt.Sprint(n))
		}
		require.Equal(t, want, numbers, "cart %d", c)
	}
	t.Log("commands of a cart:", sent[0])
}
