package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/data"
	"github.com/wowgen/wow/example/internal/story"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

// prepareSession is the command session.
func prepareSession(flags *flag.FlagSet) func(context.Context, cli.Streams) error {
	where := data.Flag(flags)
	return func(ctx context.Context, s cli.Streams) error {
		// The session provokes a panic and tells it itself.
		quiet := settings{data: *where, isNew: true, logger: slog.New(slog.DiscardHandler)}
		return with(ctx, quiet, func(ctx context.Context, a *app) error { return a.session(ctx, s.Out) })
	}
}

// session plays a day in the shop.
func (a *app) session(ctx context.Context, out io.Writer) error {
	s := &teller{app: a, Story: story.New(ctx, a.runtime, out), ctx: ctx}
	s.Print("A day in the shop. All of it runs in this process, and its history lives in a file of SQLite.")
	return s.Play(s.fill, s.order, s.pay, s.release, s.late, s.again, s.snapshot, s.trouble, s.end)
}

func (s *teller) fill() {
	s.Title("Ann fills a cart", "commands: create, update, and one that is refused")
	seen := wowrt.WaitFor(wowrt.Projected)
	s.Tell("Ann takes 2 tea").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "tea", Qty: 2}, seen))
	s.Tell("and 1 jam").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "jam", Qty: 1}, seen))
	s.Tell("8 tea more: ten cost less each").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "tea", Qty: 8}, seen))
	s.Tell("0 cups").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "cup", Qty: 0}))
	s.Tell("Ann puts the jam back").Did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "ann", SKU: "jam"}, seen))
	s.Tell("and once more").Did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "ann", SKU: "jam"}, seen))
	if cart, err := s.cartView.Cart(s.ctx, "ann"); s.OK(err) {
		s.Tell("the projection cart_view shows").Say("%s", pieces(cart))
	}
}

func (s *teller) order() {
	s.Title("Ann orders", "a saga clears the cart, a state-event handler watches whole orders")
	s.Tell("Ann orders her cart").Did(s.orders.PlaceOrder(s.ctx, domain.PlaceOrder{OrderID: "o1", CartID: "ann", Lines: s.cart("ann").Lines},
		wowrt.WaitFor(wowrt.SagaHandled), wowrt.WaitFor(wowrt.EventHandled)))
	s.Tell("the saga sends clear_cart").Happened(wow.Target{Aggregate: "shop.cart", ID: "ann"})
	s.Tell("the desk waits for").Say("%s", sums(s.desk.Open()))
}

func (s *teller) pay() {
	s.Title("Ann pays", "a processor that blocks writes a receipt, a projection counts the sale")
	s.Tell("Ann pays 10.00").Did(s.orders.PayOrder(s.ctx, domain.PayOrder{OrderID: "o1", Cents: 1000}))
	s.Tell("Ann pays 40.00").Did(s.orders.PayOrder(s.ctx, domain.PayOrder{OrderID: "o1", Cents: 4000},
		wowrt.WaitFor(wowrt.EventHandled), wowrt.WaitFor(wowrt.Projected)))
	receipt, err := os.ReadFile(filepath.Join(s.receipts.Dir, "o1.txt"))
	s.OK(err)
	s.Tell("the receipt o1.txt says").Say("%s", strings.TrimSpace(string(receipt)))
	if sold, err := s.sales.Sold(s.ctx); s.OK(err) {
		s.Tell("the projection sales shows").Say("%s", pieces(sold))
	}
	s.Tell("the desk waits for").Say("%s", sums(s.desk.Open()))
}

func (s *teller) release() {
	s.Title("Bob orders more than his cart holds", "the saga's own command is refused, and the saga reacts")
	s.Tell("Bob takes 1 cup").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "bob", SKU: "cup", Qty: 1}))
	s.Tell("Bob orders 2 cups").Did(s.orders.PlaceOrder(s.ctx, domain.PlaceOrder{OrderID: "o2", CartID: "bob", Lines: map[string]domain.Line{"cup": {Qty: 2, Price: 900}}},
		wowrt.WaitFor(wowrt.SagaHandled)))
	s.Tell("clear_cart is refused, so the saga sends release_order").Happened(wow.Target{Aggregate: "shop.order", ID: "o2"})
	if order, _, err := s.orders.Load(s.ctx, "o2"); s.OK(err) {
		s.Tell("the order is").Say("%s", order.Status)
	}
}

func (s *teller) late() {
	s.Title("Fay does not pay", "a saga delays a command, which outlives the process and can be taken back")
	s.Tell("Fay takes 1 jam").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "fay", SKU: "jam", Qty: 1}))
	s.Tell("Fay orders it, and has a second to pay").Did(s.orders.PlaceOrder(s.ctx,
		domain.PlaceOrder{OrderID: "o3", CartID: "fay", Lines: s.cart("fay").Lines, PaySeconds: 1}))
	for s.ctx.Err() == nil {
		if order, _, err := s.orders.Load(s.ctx, "o3"); !s.OK(err) || order.Status == domain.Released {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Tell("a second later the saga sends release_order").Happened(wow.Target{Aggregate: "shop.order", ID: "o3"})
}

func (s *teller) again() {
	s.Title("A message comes twice", "a request ID takes effect once, an expected version is kept to")
	once := wowrt.WithRequest("click-1")
	s.Tell("Cy takes 1 tea").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, once))
	s.Tell("the same request").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, once))
	s.Tell("1 tea more, at version 7 only").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, wowrt.WithVersion(7)))
}

func (s *teller) snapshot() {
	s.Title("A cart with a long history", "a snapshot every 100 versions, so that loading stays fast")
	var receipt wowrt.Receipt
	for range 100 {
		var err error
		receipt, err = s.carts.AddItem(s.ctx, domain.AddItem{CartID: "dan", SKU: "jam", Qty: 1})
		s.OK(err)
	}
	s.Tell("Dan takes 1 jam, a hundred times").Did(receipt, s.runtime.Gateway().Wait(s.ctx, receipt.Position, wowrt.Snapshotted))
	snap, err := s.runtime.Store().Snapshot(s.ctx, receipt.Target, (*domain.Cart)(nil).WowState().Revision, 0)
	if s.OK(err) && snap != nil {
		s.Tell("the store has a snapshot of").Say("version %d", snap.Version)
	}
	s.Tell("the cart, loaded, holds").Say("%d jam", s.cart("dan").Lines["jam"].Qty)
}

func (s *teller) trouble() {
	s.Title("Trouble", "one command fails, the app goes on")
	s.Tell("the price service panics").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "haunted", Qty: 1}))
	s.Tell("there is no such product").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "unicorn", Qty: 1}))
	s.Tell("there is no such cart").Did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "nobody", SKU: "tea"}))
	s.Tell("Eve takes 1 tea").Did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "tea", Qty: 1}))
}

func (s *teller) end() {
	s.Title("The shop closes", "nothing new is taken, what was taken is finished")
	if b, err := s.audit(s.ctx); s.OK(err) {
		s.Tell("the history holds").Say("%d commits of %d aggregates, %d events in all", b.commits, len(b.versions), b.events())
	}
}

// teller is the shop and the story about it.
type teller struct {
	*app
	*story.Story
	ctx context.Context
}

func (s *teller) cart(id string) *domain.Cart {
	cart, _, err := s.carts.Load(s.ctx, id)
	if !s.OK(err) {
		return new(domain.Cart)
	}
	return cart
}

// pieces tells "2 jam, 10 tea", sums "o1 36.00", both sorted.
func pieces(of map[string]int) string {
	return told(of, func(name string, n int) string { return fmt.Sprintf("%d %s", n, name) })
}

func sums(of map[string]int) string {
	return told(of, func(name string, cents int) string { return fmt.Sprintf("%s %d.%02d", name, cents/100, cents%100) })
}

func told(of map[string]int, one func(string, int) string) string {
	if len(of) == 0 {
		return "nothing"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, one(name, of[name]))
	}
	return strings.Join(all, ", ")
}
