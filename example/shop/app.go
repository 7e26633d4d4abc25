package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

// app is the shop, put together and running.
type app struct {
	runtime  *wowrt.Runtime
	carts    *domain.CartClient
	orders   *domain.OrderClient
	receipts *domain.Receipts
	desk     *domain.Desk
	cartView *domain.CartView
	sales    *domain.Sales
}

// settings are what the commands of the program want different.
type settings struct {
	inFlight int          // commands that may be under way per context; 0 is the default
	logger   *slog.Logger // nil is the default
}

// with starts the shop, calls f, and stops the shop again. What was sent is
// finished first, whether f failed or not. f's context ends with SIGINT and
// SIGTERM.
func with(ctx context.Context, set settings, f func(context.Context, *app) error) (err error) {
	dir, err := os.MkdirTemp("", "shop-receipts-")
	if err != nil {
		return fmt.Errorf("making a folder for receipts: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a := assemble(dir, set)
	return wowrt.Main(ctx, a.runtime, func(ctx context.Context) error { return f(ctx, a) })
}

// assemble registers every handler of the domain. This is all the wiring that
// there is: the Register functions are generated.
func assemble(dir string, set settings) *app {
	cfg := wowrt.Config{Logger: set.logger}
	cfg.Dispatch.MaxInFlight = set.inFlight
	r := wowrt.New(cfg)
	a := &app{
		runtime:  r,
		carts:    domain.NewCartClient(r.Gateway()),
		orders:   domain.NewOrderClient(r.Gateway()),
		receipts: &domain.Receipts{Dir: dir},
		desk:     new(domain.Desk),
		cartView: new(domain.CartView),
		sales:    new(domain.Sales),
	}
	domain.RegisterCart(r, &domain.CartHandlers{Prices: priceList{}})
	domain.RegisterOrder(r)
	domain.RegisterCheckout(r, domain.Checkout{})
	domain.RegisterCartView(r, a.cartView)
	domain.RegisterSales(r, a.sales)
	domain.RegisterReceipts(r, a.receipts)
	domain.RegisterDesk(r, a.desk)
	return a
}
