package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/wowgen/wow/example/internal/data"
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
	rebuilt  *domain.Sales // nil unless it is asked for
}

// settings are what the commands of the program want different.
type settings struct {
	data     string       // as of the flag -data
	isNew    bool         // there must be no history yet
	inFlight int          // commands that may be under way per context; 0 is the default
	logger   *slog.Logger // nil is the default
	rebuild  bool         // the view of sales is built anew beside the one that answers
}

// with starts the shop, calls f, and stops the shop again. What was sent is
// finished first, whether f failed or not. f's context ends with SIGINT and
// SIGTERM.
func with(ctx context.Context, set settings, f func(context.Context, *app) error) (err error) {
	place, err := data.Open(set.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	begun := context.WithoutCancel(ctx) // the runtime sees an interrupt, and stops in order
	if set.isNew {
		if err := place.MustBeNew(begun); err != nil {
			return err
		}
	}
	a, err := assemble(begun, place, set)
	if err != nil {
		return err
	}
	return wowrt.Main(ctx, a.runtime, func(ctx context.Context) error { return f(ctx, a) })
}

// assemble registers every handler of the domain. This is all the wiring that
// there is: the Register functions are generated.
func assemble(ctx context.Context, place *data.Place, set settings) (*app, error) {
	cartView, err := domain.OpenCartView(ctx, place.Views, place.Store.ID())
	if err != nil {
		return nil, err
	}
	sales, err := domain.OpenSales(ctx, place.Views, place.Store.ID())
	if err != nil {
		return nil, err
	}
	receipts := filepath.Join(place.Dir, "receipts")
	if err := os.MkdirAll(receipts, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for receipts: %w", err)
	}
	cfg := wowrt.Config{Store: place.Store, Logger: set.logger}
	cfg.Dispatch.MaxInFlight = set.inFlight
	r := wowrt.New(cfg)
	a := &app{
		runtime:  r,
		carts:    domain.NewCartClient(r.Gateway()),
		orders:   domain.NewOrderClient(r.Gateway()),
		receipts: &domain.Receipts{Dir: receipts},
		desk:     new(domain.Desk),
		cartView: cartView,
		sales:    sales,
	}
	domain.RegisterCart(r, &domain.CartHandlers{Prices: priceList{}})
	domain.RegisterOrder(r)
	domain.RegisterCheckout(r, domain.Checkout{})
	domain.RegisterPayment(r, domain.Payment{})
	domain.RegisterCartView(r, a.cartView)
	registerSales(r, a.sales)
	if set.rebuild {
		if a.rebuilt, err = domain.OpenSalesGeneration(ctx, place.Views, place.Store.ID(), sales.Generation()+1); err != nil {
			return nil, err
		}
		registerSales(r, a.rebuilt)
	}
	domain.RegisterReceipts(r, a.receipts)
	domain.RegisterDesk(r, a.desk)
	return a, nil
}

// registerSales registers a generation of the view of sales. The directive
// declares the first; this program chooses, because it shows a rebuild.
func registerSales(r *wowrt.Runtime, s *domain.Sales) {
	wowrt.AsGeneration(s.Generation(), func(r *wowrt.Runtime) { domain.RegisterSales(r, s) })(r)
}
