package domain_test

import (
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

var (
	lines  = map[string]domain.Line{"tea": {Qty: 2, Price: 400}}
	placed = domain.OrderPlaced{CartID: "c1", Lines: lines}
	paid   = domain.OrderPaid{Cents: 800}
)

func TestPlacingAnOrder(t *testing.T) {
	wowtest.New(t, domain.RegisterOrder).
		When(domain.PlaceOrder{OrderID: "o1", CartID: "c1", Lines: lines}).
		Then(placed).
		ThenState(&domain.Order{ID: "o1", CartID: "c1", Lines: lines, Status: domain.Placed})
}

func TestAnOrderOfNothingIsRefused(t *testing.T) {
	wowtest.New(t, domain.RegisterOrder).
		When(domain.PlaceOrder{OrderID: "o1", CartID: "c1"}).
		ThenRefused("empty_order")
}

func TestAnOrderThatMakesNoSenseIsRefused(t *testing.T) {
	shop := wowtest.New(t, domain.RegisterOrder)
	order := func(cart string, l domain.Line) domain.PlaceOrder {
		return domain.PlaceOrder{OrderID: "o1", CartID: cart, Lines: map[string]domain.Line{"tea": l}}
	}

	shop.When(order("", domain.Line{Qty: 1, Price: 400})).ThenRefused("no_cart")
	shop.When(order("c1", domain.Line{Qty: 0, Price: 400})).ThenRefused("bad_line")
	shop.When(order("c1", domain.Line{Qty: -1, Price: -400})).ThenRefused("bad_line")
}

func TestAnOrderIsPlacedOnce(t *testing.T) {
	wowtest.New(t, domain.RegisterOrder).
		Given(placed).
		When(domain.PlaceOrder{OrderID: "o1", CartID: "c1", Lines: lines}).
		ThenRefused(wowrt.CodeAlreadyExists)
}

func TestPayingAnOrder(t *testing.T) {
	shop := wowtest.New(t, domain.RegisterOrder)

	shop.Given(placed).When(domain.PayOrder{OrderID: "o1", Cents: 800}).Then(paid)
	shop.Given(placed).When(domain.PayOrder{OrderID: "o1", Cents: 900}).Then(paid, domain.Overpaid{Cents: 100})
	shop.Given(placed).When(domain.PayOrder{OrderID: "o1", Cents: 799}).ThenRefused("too_little")
	shop.Given(placed, paid).When(domain.PayOrder{OrderID: "o1", Cents: 800}).ThenRefused("not_payable")
}

func TestReleasingAnOrder(t *testing.T) {
	shop := wowtest.New(t, domain.RegisterOrder)
	release := domain.ReleaseOrder{OrderID: "o1", Reason: "sold out"}
	released := domain.OrderReleased{Reason: "sold out"}

	shop.Given(placed).When(release).Then(released)
	shop.Given(placed, released).When(release).ThenNothing()
	shop.Given(placed, paid).When(release).ThenNothing()
}

func TestAPlacedOrderClearsItsCart(t *testing.T) {
	wowtest.New(t, registerCheckout).
		WhenEvent("o1", placed).
		ThenSends(domain.ClearCart{CartID: "c1", OrderID: "o1", Bought: map[string]int{"tea": 2}})
}

func TestAnOrderWhoseCartCannotBeClearedIsReleased(t *testing.T) {
	wowtest.New(t, registerCheckout).
		WhenRefused(
			domain.ClearCart{CartID: "c1", OrderID: "o1", Bought: map[string]int{"tea": 2}},
			wow.Refuse("cart_changed", "the tea is gone"),
		).
		ThenSends(domain.ReleaseOrder{OrderID: "o1", Reason: "the tea is gone"})
}

func TestAnOrderThatNobodyPaysIsReleased(t *testing.T) {
	unpaid := wow.Later("pay o1", 15*time.Minute, domain.ReleaseOrder{OrderID: "o1", Reason: "not paid in time"})
	patient := placed
	patient.PaySeconds = 3600
	later := unpaid
	later.After = time.Hour

	wowtest.New(t, registerPayment).WhenEvent("o1", placed).ThenSends(unpaid)
	wowtest.New(t, registerPayment).WhenEvent("o1", patient).ThenSends(later)
	wowtest.New(t, registerPayment).Given(placed).WhenEvent("o1", paid).ThenSends(wow.Cancel("pay o1"))
	wowtest.New(t, registerPayment).Given(placed).WhenEvent("o1", domain.OrderReleased{}).ThenSends(wow.Cancel("pay o1"))
}

func registerPayment(r *wowrt.Runtime) { domain.RegisterPayment(r, domain.Payment{}) }

func registerCheckout(r *wowrt.Runtime) { domain.RegisterCheckout(r, domain.Checkout{}) }
