package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/data"
	"github.com/wowgen/wow/example/internal/idle"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

// crashing is the folder on which a process of this test sells until it is
// killed.
const crashing = "SHOP_CRASH"

// sell is that process: it opens the shop on a folder and sells without end.
func sell(dir string) error {
	ctx := context.Background()
	place, err := data.Open(dir)
	if err != nil {
		return err
	}
	a, err := assemble(ctx, place, settings{logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return wowrt.Main(ctx, a.runtime, func(ctx context.Context) error {
		fmt.Println("open")
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for ctx.Err() == nil {
					cart, order := fmt.Sprint("c", rand.IntN(50)), fmt.Sprint("o", rand.Uint64())
					_, _ = a.carts.AddItem(ctx, domain.AddItem{CartID: cart, SKU: "tea", Qty: 1 + rand.IntN(10)})
					c, _, err := a.carts.Load(ctx, cart)
					if err != nil || len(c.Lines) == 0 {
						continue
					}
					_, _ = a.orders.PlaceOrder(ctx, domain.PlaceOrder{OrderID: order, CartID: cart, Lines: c.Lines, PaySeconds: rand.IntN(2)})
					if rand.IntN(2) == 0 {
						_, _ = a.orders.PayOrder(ctx, domain.PayOrder{OrderID: order, Cents: 1 << 30})
					}
				}
			})
		}
		senders.Wait()
		return nil
	})
}

// The shop is killed again and again while it sells. What follows from what was
// stored happens all the same: each event once in the views, each order cleared
// or released once, each payment with its receipt.
func TestKilledShopsMissAndDoubleNothingThatFollows(t *testing.T) {
	cycles := 5
	if n, err := strconv.Atoi(os.Getenv("WOW_CRASH_CYCLES")); err == nil {
		cycles = n
	}
	dir := t.TempDir()
	for range cycles {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SHOP_MAIN=1", crashing+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, _ = out.Read(make([]byte, 8)) // it is open
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait(), "it was killed")
	}

	place, err := data.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, place.Close()) }()
	a, err := assemble(t.Context(), place, settings{logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, a.runtime.Start(t.Context()))
	defer func() { require.NoError(t, a.runtime.Stop(context.Background())) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Delays of at most a second are over soon, and what they lead to.
	time.Sleep(2 * time.Second)
	require.NoError(t, idle.Wait(ctx, a.runtime), "all lag is gone within a minute")

	b, err := a.audit(ctx)
	require.NoError(t, err)
	carts, err := a.cartView.Seen(ctx)
	require.NoError(t, err)
	orders, err := a.sales.Seen(ctx)
	require.NoError(t, err)
	require.Equal(t, b.counts["shop.cart"], carts, "each event of a cart once in its view")
	require.Equal(t, b.counts["shop.order"], orders, "each event of an order once in its view")

	placed, cleared, ended := map[string]domain.OrderPlaced{}, map[string]int{}, map[string]int{}
	paid := 0
	for at := (wow.Position{}); ; {
		commits, err := place.Store.Read(ctx, at, 1000)
		require.NoError(t, err)
		if len(commits) == 0 {
			break
		}
		for _, c := range commits {
			at = c.Position
			for _, e := range c.Events {
				switch e.Name {
				case "order_placed":
					var o domain.OrderPlaced
					require.NoError(t, json.Unmarshal(e.Data, &o))
					placed[c.Target.ID] = o
				case "cart_cleared":
					var o domain.CartCleared
					require.NoError(t, json.Unmarshal(e.Data, &o))
					cleared[o.OrderID]++
				case "order_paid":
					paid++
					ended[c.Target.ID]++
					_, err := os.Stat(filepath.Join(a.receipts.Dir, c.Target.ID+".txt"))
					require.False(t, errors.Is(err, os.ErrNotExist), "order %s is paid and has no receipt", c.Target.ID)
				case "order_released":
					ended[c.Target.ID]++
				}
			}
		}
	}
	for id, o := range placed {
		require.LessOrEqual(t, cleared[id], 1, "order %s cleared its cart twice", id)
		require.LessOrEqual(t, ended[id], 1, "order %s ended twice", id)
		if cleared[id] == 0 {
			require.Equal(t, 1, ended[id], "order %s neither cleared its cart nor ended", id)
		}
		if o.PaySeconds > 0 {
			require.Equal(t, 1, ended[id], "order %s was neither paid nor released in time", id)
		}
	}
	t.Logf("%d kills: %d commits, %d orders, %d paid; none missed, none doubled", cycles, b.commits, len(placed), paid)
}
