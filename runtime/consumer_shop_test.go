package runtime_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/wowgen/wow"
	shop "github.com/wowgen/wow/example/shop/domain"
	"github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/memory"
)

type prices map[string]int

func (p prices) Price(_ context.Context, sku string) (int, error) { return p[sku], nil }

// TestTheShopsSixDispatchersEndToEnd runs the example's domain on the memory
// store: commands, a blocking processor, a state-event handler, two
// projections, a saga with a refusal of its own, and snapshots.
func TestTheShopsSixDispatchersEndToEnd(t *testing.T) {
	ctx := t.Context()
	s := memory.New()
	defer s.Close()
	r := runtime.New(runtime.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "views.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	receipts, desk := &shop.Receipts{Dir: t.TempDir()}, &shop.Desk{}
	view, err := shop.OpenCartView(ctx, db, s.ID())
	require.NoError(t, err)
	sales, err := shop.OpenSales(ctx, db, s.ID())
	require.NoError(t, err)
	shop.RegisterCart(r, &shop.CartHandlers{Prices: prices{"tea": 500, "cup": 900}})
	shop.RegisterOrder(r)
	shop.RegisterReceipts(r, receipts)
	shop.RegisterDesk(r, desk)
	shop.RegisterCartView(r, view)
	shop.RegisterSales(r, sales)
	shop.RegisterCheckout(r, shop.Checkout{})
	require.NoError(t, r.Start(ctx))
	defer func() { require.NoError(t, r.Stop(context.Background())) }()
	carts, orders := shop.NewCartClient(r.Gateway()), shop.NewOrderClient(r.Gateway())

	// A bulk price makes two events in one commit; the view shows both at once.
	rc, err := carts.AddItem(ctx, shop.AddItem{CartID: "c1", SKU: "tea", Qty: 12}, runtime.WaitFor(runtime.Projected))
	require.NoError(t, err)
	require.Equal(t, runtime.Projected, rc.Stage)
	got, err := view.Cart(ctx, "c1")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"tea": 12}, got)
	seen, err := view.Seen(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, seen)

	// The saga takes out of the cart what was ordered.
	_, err = orders.PlaceOrder(ctx, shop.PlaceOrder{OrderID: "o1", CartID: "c1", Lines: map[string]shop.Line{"tea": {Qty: 12, Price: 450}}},
		runtime.WaitFor(runtime.SagaHandled), runtime.WaitFor(runtime.EventHandled))
	require.NoError(t, err)
	cart, version, err := carts.Load(ctx, "c1")
	require.NoError(t, err)
	require.Empty(t, cart.Lines)
	require.EqualValues(t, 2, version)
	require.Equal(t, map[string]int{"o1": 5400}, desk.Open())

	// What is not in the cart any more: the command is refused, the order released.
	_, err = orders.PlaceOrder(ctx, shop.PlaceOrder{OrderID: "o2", CartID: "c1", Lines: map[string]shop.Line{"cup": {Qty: 1, Price: 900}}},
		runtime.WaitFor(runtime.SagaHandled))
	require.NoError(t, err)
	order, _, err := orders.Load(ctx, "o2")
	require.NoError(t, err)
	require.Equal(t, shop.Released, order.Status)

	// Paying writes a receipt, off the workers, and counts the sale.
	_, err = orders.PayOrder(ctx, shop.PayOrder{OrderID: "o1", Cents: 6000}, runtime.WaitFor(runtime.EventHandled), runtime.WaitFor(runtime.Projected, "shop.projection.sales"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(receipts.Dir, "o1.txt"))
	require.NoError(t, err)
	require.Equal(t, "order o1: paid 54.00\n", string(text))
	got, err = sales.Sold(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"tea": 12}, got)
	require.Empty(t, desk.Open())

	// Snapshots are written at every hundredth version of a cart, and loaded.
	for i := range 200 {
		var opts []runtime.SendOption
		if i == 99 {
			opts = append(opts, runtime.WaitFor(runtime.Snapshotted))
		}
		rc, err = carts.AddItem(ctx, shop.AddItem{CartID: "c2", SKU: fmt.Sprint(i % 7), Qty: 1}, opts...)
		require.NoError(t, err)
	}
	require.NoError(t, r.Gateway().Wait(ctx, rc.Position, runtime.Snapshotted))
	sn, err := s.Snapshot(ctx, wow.Target{Aggregate: "shop.cart", ID: "c2"}, (*shop.Cart)(nil).WowState().Revision, 0)
	require.NoError(t, err)
	require.EqualValues(t, 200, sn.Version)
	cart, version, err = carts.Load(ctx, "c2")
	require.NoError(t, err)
	require.EqualValues(t, 200, version)
	require.Equal(t, 29, cart.Lines["0"].Qty)

	// A wait names what it waits for.
	err = r.Gateway().Wait(ctx, rc.Position, runtime.Projected, "shop.projection.nobody")
	require.ErrorContains(t, err, `waiting for "shop.projection.nobody": no projection has this name`)
	_, err = r.Consumer("nobody")
	require.ErrorContains(t, err, "they are shop.projection.cart_view, ")
	require.NoError(t, errors.Join(err2(r.Consumer("shop.saga.checkout"))))
}

func err2[T any](_ T, err error) error { return err }
