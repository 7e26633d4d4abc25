package domain

import (
	"github.com/wowgen/wow"
)

// Order is the state of an order.
//
//wow:aggregate name=order context=shop new=NewOrder snapshot=every:10
type Order struct {
	ID     string `wow:"key"`
	CartID string
	Lines  map[string]Line
	Status Status
}

// Status is how far an order has come.
type Status string

const (
	New      Status = "new"
	Placed   Status = "placed"
	Paid     Status = "paid"
	Released Status = "released"
)

// NewOrder is an order that nobody has placed yet.
func NewOrder() *Order { return &Order{Status: New} }

// PlaceOrder orders what a cart holds.
//
//wow:command create
type PlaceOrder struct {
	OrderID string `wow:"key"`
	CartID  string
	Lines   map[string]Line
	// PaySeconds is how long the order waits for its payment: 0 is PayWithin.
	PaySeconds int
}

// PayOrder pays a placed order.
type PayOrder struct {
	OrderID string `wow:"key"`
	Cents   int
}

// ReleaseOrder gives an order up.
type ReleaseOrder struct {
	OrderID string `wow:"key"`
	Reason  string
}

// OrderPlaced says that somebody ordered what a cart held.
type OrderPlaced struct {
	CartID     string
	Lines      map[string]Line
	PaySeconds int `json:",omitempty"`
}

// OrderPaid says that the order is paid.
type OrderPaid struct {
	Cents int
}

// Overpaid says how much too much was paid, to be given back.
//
//wow:event
type Overpaid struct {
	Cents int
}

// OrderReleased says that the order will not be delivered.
type OrderReleased struct {
	Reason string
}

// PlaceOrder refuses an order of nothing, or from no cart.
func (o *Order) PlaceOrder(cmd PlaceOrder) (OrderPlaced, error) {
	switch {
	case len(cmd.Lines) == 0:
		return OrderPlaced{}, wow.Refuse("empty_order", "there is nothing to order")
	case cmd.CartID == "":
		return OrderPlaced{}, wow.Refuse("no_cart", "an order says which cart it comes from")
	case cmd.PaySeconds < 0 || cmd.PaySeconds > 30*24*3600:
		return OrderPlaced{}, wow.Refuse("bad_patience", "an order waits up to 30 days for its payment, not %d seconds", cmd.PaySeconds)
	}
	for sku, line := range cmd.Lines {
		if line.Qty < 1 || line.Price < 0 {
			return OrderPlaced{}, wow.Refuse("bad_line", "%d pieces of %s for %d cents each cannot be ordered", line.Qty, sku, line.Price)
		}
	}
	return OrderPlaced{CartID: cmd.CartID, Lines: cmd.Lines, PaySeconds: cmd.PaySeconds}, nil
}

// PayOrder takes at least the price, once.
func (o *Order) PayOrder(cmd wow.Command[PayOrder]) (wow.Events, error) {
	total := o.Total()
	switch {
	case o.Status != Placed:
		return nil, wow.Refuse("not_payable", "the order is %s", o.Status)
	case cmd.Data.Cents < total:
		return nil, wow.Refuse("too_little", "%d cents do not pay for %d", cmd.Data.Cents, total)
	case cmd.Data.Cents > total:
		return wow.Events{OrderPaid{Cents: total}, Overpaid{Cents: cmd.Data.Cents - total}}, nil
	}
	return wow.Events{OrderPaid{Cents: total}}, nil
}

// ReleaseOrder decides nothing when there is nothing to release: what is paid
// is delivered, even if the saga hears too late that the cart has changed. So
// the saga need not know which of the two came first.
func (o *Order) ReleaseOrder(cmd ReleaseOrder) ([]OrderReleased, error) {
	if o.Status != Placed {
		return nil, nil
	}
	return []OrderReleased{{Reason: cmd.Reason}}, nil
}

// OrderPlaced happens.
func (o *Order) OrderPlaced(e OrderPlaced) {
	o.CartID, o.Lines, o.Status = e.CartID, e.Lines, Placed
}

// OrderPaid happens.
func (o *Order) OrderPaid(OrderPaid) { o.Status = Paid }

// Overpaid happens; the order itself stays as it is.
func (o *Order) Overpaid(Overpaid) {}

// OrderReleased happens.
func (o *Order) OrderReleased(OrderReleased) { o.Status = Released }

// Total is the price of the order, in cents.
func (o *Order) Total() int {
	total := 0
	for _, line := range o.Lines {
		total += line.Qty * line.Price
	}
	return total
}
