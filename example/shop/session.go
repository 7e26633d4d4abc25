package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/store"
)

// prepareSession is the command session.
func prepareSession(*flag.FlagSet) func(context.Context, cli.Streams) error {
	return func(ctx context.Context, s cli.Streams) error {
		// The session provokes a panic and tells it itself.
		quiet := settings{logger: slog.New(slog.DiscardHandler)}
		return with(ctx, quiet, func(a *app) error { return a.session(ctx, s.Out) })
	}
}

// session plays a day in the shop. It waits for what follows from a command
// where it shows it, so its text is the same each time; a real app seldom
// waits.
func (a *app) session(ctx context.Context, out io.Writer) error {
	s := &teller{app: a, ctx: ctx, out: out}
	s.print("A day in the shop. All of it runs in this process, and its history lives in memory.")
	for _, chapter := range []func(*teller){fill, order, pay, release, again, snapshot, trouble, end} {
		if ctx.Err() != nil {
			s.print("\nInterrupted. What was sent is finished.")
			return nil
		}
		chapter(s)
		if ctx.Err() == nil && s.err != nil {
			return s.err
		}
	}
	return nil
}

func fill(s *teller) {
	s.title("Ann fills a cart", "commands: create, update, and one that is refused")
	seen := wowrt.WaitFor(wowrt.Projected)
	s.tell("Ann takes 2 tea").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "tea", Qty: 2}, seen))
	s.tell("and 1 jam").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "jam", Qty: 1}, seen))
	s.tell("8 tea more: ten cost less each").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "tea", Qty: 8}, seen))
	s.tell("0 cups").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "ann", SKU: "cup", Qty: 0}))
	s.tell("Ann puts the jam back").did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "ann", SKU: "jam"}, seen))
	s.tell("and once more").did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "ann", SKU: "jam"}, seen))
	s.tell("the projection cart_view shows").say("%s", pieces(s.cartView.Cart("ann")))
}

func order(s *teller) {
	s.title("Ann orders", "a saga clears the cart, a state-event handler watches whole orders")
	s.tell("Ann orders her cart").did(s.orders.PlaceOrder(s.ctx, domain.PlaceOrder{OrderID: "o1", CartID: "ann", Lines: s.cart("ann").Lines},
		wowrt.WaitFor(wowrt.SagaHandled), wowrt.WaitFor(wowrt.EventHandled)))
	s.tell("the saga sends clear_cart").happened("shop.cart", "ann")
	s.tell("the desk waits for").say("%s", sums(s.desk.Open()))
}

func pay(s *teller) {
	s.title("Ann pays", "a processor that blocks writes a receipt, a projection counts the sale")
	s.tell("Ann pays 10.00").did(s.orders.PayOrder(s.ctx, domain.PayOrder{OrderID: "o1", Cents: 1000}))
	s.tell("Ann pays 40.00").did(s.orders.PayOrder(s.ctx, domain.PayOrder{OrderID: "o1", Cents: 4000},
		wowrt.WaitFor(wowrt.EventHandled), wowrt.WaitFor(wowrt.Projected)))
	receipt, err := os.ReadFile(filepath.Join(s.receipts.Dir, "o1.txt"))
	s.check(err)
	s.tell("the receipt o1.txt says").say("%s", strings.TrimSpace(string(receipt)))
	s.tell("the projection sales shows").say("%s", pieces(s.sales.Sold()))
	s.tell("the desk waits for").say("%s", sums(s.desk.Open()))
}

func release(s *teller) {
	s.title("Bob orders more than his cart holds", "the saga's own command is refused, and the saga reacts")
	s.tell("Bob takes 1 cup").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "bob", SKU: "cup", Qty: 1}))
	s.tell("Bob orders 2 cups").did(s.orders.PlaceOrder(s.ctx, domain.PlaceOrder{OrderID: "o2", CartID: "bob", Lines: map[string]domain.Line{"cup": {Qty: 2, Price: 900}}},
		wowrt.WaitFor(wowrt.SagaHandled)))
	s.tell("clear_cart is refused, so the saga sends release_order").happened("shop.order", "o2")
	if order, _, err := s.orders.Load(s.ctx, "o2"); s.ok(err) {
		s.tell("the order is").say("%s", order.Status)
	}
}

func again(s *teller) {
	s.title("A message comes twice", "a request ID takes effect once, an expected version is kept to")
	once := wowrt.WithRequest("click-1")
	s.tell("Cy takes 1 tea").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, once))
	s.tell("the same request").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, once))
	s.tell("1 tea more, at version 7 only").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "cy", SKU: "tea", Qty: 1}, wowrt.WithVersion(7)))
}

func snapshot(s *teller) {
	s.title("A cart with a long history", "a snapshot every 100 versions, so that loading stays fast")
	var receipt wowrt.Receipt
	for range 100 {
		var err error
		receipt, err = s.carts.AddItem(s.ctx, domain.AddItem{CartID: "dan", SKU: "jam", Qty: 1})
		s.check(err)
	}
	s.tell("Dan takes 1 jam, a hundred times").did(receipt, s.runtime.Gateway().Wait(s.ctx, receipt.Position, wowrt.Snapshotted))
	snap, err := s.runtime.Store().Snapshot(s.ctx, receipt.Target, (*domain.Cart)(nil).WowState().Revision, 0)
	if s.ok(err) && snap != nil {
		s.tell("the store has a snapshot of").say("version %d", snap.Version)
	}
	s.tell("the cart, loaded, holds").say("%d jam", s.cart("dan").Lines["jam"].Qty)
}

func trouble(s *teller) {
	s.title("Trouble", "one command fails, the app goes on")
	s.tell("the price service panics").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "haunted", Qty: 1}))
	s.tell("there is no such product").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "unicorn", Qty: 1}))
	s.tell("there is no such cart").did(s.carts.RemoveItem(s.ctx, domain.RemoveItem{CartID: "nobody", SKU: "tea"}))
	s.tell("Eve takes 1 tea").did(s.carts.AddItem(s.ctx, domain.AddItem{CartID: "eve", SKU: "tea", Qty: 1}))
}

func end(s *teller) {
	s.title("The shop closes", "nothing new is taken, what was taken is finished")
	if b, err := s.audit(s.ctx); s.ok(err) {
		s.tell("the history holds").say("%d commits of %d aggregates, %d events in all", b.commits, len(b.versions), b.events())
	}
}

// teller tells what happens. After the first error it is silent.
type teller struct {
	*app
	ctx context.Context
	out io.Writer
	err error
}

// note is what stands on the left of a line.
type note struct {
	*teller
	text string
}

func (s *teller) check(err error) {
	if s.err == nil {
		s.err = err
	}
}

// ok notes an error and reports whether there was none so far.
func (s *teller) ok(err error) bool {
	s.check(err)
	return s.err == nil
}

func (s *teller) print(format string, args ...any) {
	if s.err == nil {
		_, err := fmt.Fprintf(s.out, format+"\n", args...)
		s.check(err)
	}
}

func (s *teller) title(text, shows string) { s.print("\n%s\n  (%s)", text, shows) }

// tell begins a line. What it is about was sent before, as an argument of did.
func (s *teller) tell(text string) note { return note{s, text} }

// say ends the line with a text.
func (n note) say(format string, args ...any) {
	if len(n.text) > wide {
		n.print("  %s:", n.text)
		n.text = ""
	}
	n.print("  %-*s %s", wide, n.text, fmt.Sprintf(format, args...))
}

// wide is the width of the left side.
const wide = 34

// did ends the line with what a command came to. A refusal is no error of the
// session.
func (n note) did(r wowrt.Receipt, err error) {
	var refused *wow.Refusal
	switch {
	case errors.As(err, &refused):
		n.say("refused, %s: %s", refused.Code, refused.Message)
	case err != nil && n.ctx.Err() != nil:
		n.check(err)
	case err != nil:
		n.say("%v", err)
	case r.Repeated:
		n.say("%s: version %d, as before", r.Target, r.Version)
	case r.Commit == "":
		n.say("%s: version %d, nothing to do", r.Target, r.Version)
	default:
		n.say("%s: version %d, %s", r.Target, r.Version, n.eventsAt(r.Position))
	}
}

// happened ends the line with the newest commit of an aggregate.
func (n note) happened(aggregate, id string) {
	t := wow.Target{Aggregate: aggregate, ID: id}
	commits, err := n.runtime.Store().Stream(n.ctx, t, 0, 1000)
	if n.ok(err) && len(commits) > 0 {
		last := commits[len(commits)-1]
		n.say("%s: version %d, %s", t, last.Version, names(last))
	}
}

// eventsAt names what the commit at a position holds.
func (s *teller) eventsAt(at wow.Position) string {
	commits, err := s.runtime.Store().Read(s.ctx, wow.Position{Shard: at.Shard, Seq: at.Seq - 1}, 1)
	if !s.ok(err) || len(commits) == 0 {
		return ""
	}
	return names(commits[0])
}

func (s *teller) cart(id string) *domain.Cart {
	cart, _, err := s.carts.Load(s.ctx, id)
	if !s.ok(err) {
		return new(domain.Cart)
	}
	return cart
}

func names(c *store.Commit) string {
	all := make([]string, len(c.Events))
	for i, e := range c.Events {
		all[i] = e.Name
	}
	return strings.Join(all, ", ")
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
