package domain

import (
	"maps"
	"sync"

	"github.com/wowgen/wow"
)

// CartView answers what a cart holds without loading it.
//
//wow:projection name=cart_view context=shop
type CartView struct {
	mu    sync.RWMutex
	carts map[string]map[string]int // pieces by cart and product
	seen  int64
}

// OnItemAdded adds the pieces.
func (v *CartView) OnItemAdded(e wow.Event[ItemAdded]) {
	v.change(e.Target.ID, func(cart map[string]int) { cart[e.Data.SKU] += e.Data.Qty })
}

// OnBulkPriceGranted changes nothing that the view shows.
func (v *CartView) OnBulkPriceGranted(e wow.Event[BulkPriceGranted]) {
	v.change(e.Target.ID, func(map[string]int) {})
}

// OnItemRemoved takes the product out.
func (v *CartView) OnItemRemoved(e wow.Event[ItemRemoved]) {
	v.change(e.Target.ID, func(cart map[string]int) { delete(cart, e.Data.SKU) })
}

// OnCartCleared takes out what was bought.
func (v *CartView) OnCartCleared(e wow.Event[CartCleared]) {
	v.change(e.Target.ID, func(cart map[string]int) {
		for sku, qty := range e.Data.Bought {
			if cart[sku] -= qty; cart[sku] <= 0 {
				delete(cart, sku)
			}
		}
	})
}

func (v *CartView) change(id string, f func(cart map[string]int)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.carts == nil {
		v.carts = map[string]map[string]int{}
	}
	if v.carts[id] == nil {
		v.carts[id] = map[string]int{}
	}
	f(v.carts[id])
	v.seen++
}

// Cart returns the pieces of each product in a cart.
func (v *CartView) Cart(id string) map[string]int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return maps.Clone(v.carts[id])
}

// Seen is how many events the view has counted.
func (v *CartView) Seen() int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.seen
}

// Sales counts the pieces sold of each product. An order may hold any product,
// so rows are shared by orders and the view is kept serially.
//
//wow:projection name=sales context=shop serial
type Sales struct {
	mu     sync.RWMutex
	sold   map[string]int
	placed map[string]map[string]Line // orders that are not paid yet
	seen   int64
}

// OnOrderPlaced remembers what the order is about.
func (s *Sales) OnOrderPlaced(e wow.Event[OrderPlaced]) {
	s.count(func() { s.placed[e.Target.ID] = e.Data.Lines })
}

// OnOrderPaid counts the order's pieces as sold.
func (s *Sales) OnOrderPaid(e wow.Event[OrderPaid]) {
	s.count(func() {
		for sku, line := range s.placed[e.Target.ID] {
			s.sold[sku] += line.Qty
		}
		delete(s.placed, e.Target.ID)
	})
}

// OnOverpaid changes nothing that the view shows.
func (s *Sales) OnOverpaid(Overpaid) { s.count(func() {}) }

// OnOrderReleased forgets the order.
func (s *Sales) OnOrderReleased(e wow.Event[OrderReleased]) {
	s.count(func() { delete(s.placed, e.Target.ID) })
}

func (s *Sales) count(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sold == nil {
		s.sold, s.placed = map[string]int{}, map[string]map[string]Line{}
	}
	f()
	s.seen++
}

// Sold returns the pieces sold of each product.
func (s *Sales) Sold() map[string]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.sold)
}

// Seen is how many events the view has counted.
func (s *Sales) Seen() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.seen
}
