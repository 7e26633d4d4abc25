package domain

import (
	"github.com/wowgen/wow"
)

// Checkout is the saga between carts and orders: a placed order takes its
// products out of the cart, and is released when they are not there any more.
//
//wow:saga name=checkout context=shop
type Checkout struct{}

// OnOrderPlaced clears the cart.
func (Checkout) OnOrderPlaced(e wow.Event[OrderPlaced]) ClearCart {
	bought := make(map[string]int, len(e.Data.Lines))
	for sku, line := range e.Data.Lines {
		bought[sku] = line.Qty
	}
	return ClearCart{CartID: e.Data.CartID, OrderID: e.Target.ID, Bought: bought}
}

// OnClearCartRefused releases the order that could not have its products.
func (Checkout) OnClearCartRefused(r wow.Refused[ClearCart]) ReleaseOrder {
	return ReleaseOrder{OrderID: r.Data.OrderID, Reason: r.Reason.Message}
}
