// Package domain is a small shop: carts that people fill, orders that they
// place, and everything that follows from an order.
//
// It shows each kind of handler once. Read cart.go and order.go first (the
// aggregates), then checkout.go (the saga), views.go (the projections) and
// receipts.go (processors).
package domain

import (
	"context"
	"maps"

	"github.com/wowgen/wow"
)

// Cart is the state of a shopping cart.
//
//wow:aggregate name=cart context=shop snapshot=every:100
type Cart struct {
	ID    string `wow:"key"`
	Lines map[string]Line
}

// Line is some pieces of one product at one price.
type Line struct {
	Qty   int
	Price int // cents a piece
}

// AddItem puts Qty pieces of a product into the cart, which need not exist. Its
// price must be known within five seconds.
//
//wow:command upsert timeout=5s
type AddItem struct {
	CartID string `wow:"key"`
	SKU    string
	Qty    int
}

// RemoveItem takes a product out of the cart.
//
//wow:command exists
type RemoveItem struct {
	CartID string `wow:"key"`
	SKU    string
}

// ClearCart takes out what an order has bought.
//
//wow:command exists
type ClearCart struct {
	CartID  string `wow:"key"`
	OrderID string
	Bought  map[string]int // pieces of each product
}

// ItemAdded says that Qty more pieces of a product are in the cart.
type ItemAdded struct {
	SKU   string
	Qty   int
	Price int // cents a piece
}

// BulkPriceGranted says that the pieces of a product cost less from now on.
type BulkPriceGranted struct {
	SKU   string
	Price int // cents a piece
}

// ItemRemoved says that a product is not in the cart any more.
type ItemRemoved struct {
	SKU string
}

// CartCleared says that an order took its products out of the cart.
type CartCleared struct {
	OrderID string
	Bought  map[string]int
}

const (
	maxQty  = 1000
	bulkQty = 10 // pieces from which the bulk price holds
)

// CartHandlers decides what needs more than the cart itself.
//
//wow:handler aggregate=cart
type CartHandlers struct {
	Prices PriceService
}

// PriceService knows what a piece of a product costs, in cents. Its error
// refuses the command, unless it wraps [wow.Retryable]: then the command is
// tried again.
type PriceService interface {
	Price(ctx context.Context, sku string) (int, error)
}

// AddItem asks the price service, which may take its time.
//
//wow:blocking
func (h *CartHandlers) AddItem(ctx context.Context, c *Cart, cmd AddItem) (ItemAdded, *BulkPriceGranted, error) {
	if cmd.Qty < 1 || cmd.Qty > maxQty {
		return ItemAdded{}, nil, wow.Refuse("bad_quantity", "%d pieces of %s: a cart takes 1 to %d at a time", cmd.Qty, cmd.SKU, maxQty)
	}
	price, err := h.Prices.Price(ctx, cmd.SKU)
	if err != nil {
		return ItemAdded{}, nil, err
	}
	added := ItemAdded{SKU: cmd.SKU, Qty: cmd.Qty, Price: price}
	if before := c.Lines[cmd.SKU].Qty; before < bulkQty && before+cmd.Qty >= bulkQty {
		return added, &BulkPriceGranted{SKU: cmd.SKU, Price: price * 9 / 10}, nil
	}
	return added, nil, nil
}

// RemoveItem decides nothing when the product is not there.
func (c *Cart) RemoveItem(cmd RemoveItem) (*ItemRemoved, error) {
	if _, ok := c.Lines[cmd.SKU]; !ok {
		return nil, nil
	}
	return &ItemRemoved{SKU: cmd.SKU}, nil
}

// ClearCart refuses when something that was bought has left the cart.
func (c *Cart) ClearCart(cmd ClearCart) (CartCleared, error) {
	for sku, qty := range cmd.Bought {
		if qty < 1 {
			return CartCleared{}, wow.Refuse("bad_quantity", "nobody buys %d pieces of %s", qty, sku)
		}
		if c.Lines[sku].Qty < qty {
			return CartCleared{}, wow.Refuse("cart_changed", "the cart does not hold %d pieces of %s any more", qty, sku)
		}
	}
	return CartCleared{OrderID: cmd.OrderID, Bought: maps.Clone(cmd.Bought)}, nil
}

// The state changes below and only below: once when an event happens, and
// again whenever the history is replayed.

// ItemAdded happens.
func (c *Cart) ItemAdded(e ItemAdded) {
	line := c.Lines[e.SKU]
	if line.Qty == 0 {
		line.Price = e.Price
	}
	line.Qty += e.Qty
	c.set(e.SKU, line)
}

// BulkPriceGranted happens.
func (c *Cart) BulkPriceGranted(e BulkPriceGranted) {
	line := c.Lines[e.SKU]
	line.Price = e.Price
	c.set(e.SKU, line)
}

// ItemRemoved happens.
func (c *Cart) ItemRemoved(e ItemRemoved) { delete(c.Lines, e.SKU) }

// CartCleared happens.
func (c *Cart) CartCleared(e CartCleared) {
	for sku, qty := range e.Bought {
		line := c.Lines[sku]
		line.Qty -= qty
		if line.Qty <= 0 {
			delete(c.Lines, sku)
			continue
		}
		c.set(sku, line)
	}
}

func (c *Cart) set(sku string, line Line) {
	if c.Lines == nil {
		c.Lines = map[string]Line{}
	}
	c.Lines[sku] = line
}

// Total is the price of all pieces, in cents.
func (c *Cart) Total() int {
	total := 0
	for _, line := range c.Lines {
		total += line.Qty * line.Price
	}
	return total
}
