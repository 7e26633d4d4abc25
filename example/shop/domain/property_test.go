package domain_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

// TestNoCartEverHoldsLessThanNothing grows histories out of what random
// commands decide. wowtest checks its own promises along every one of them.
func TestNoCartEverHoldsLessThanNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shop := wowtest.New(t, func(r *wowrt.Runtime) {
			domain.RegisterCart(r, &domain.CartHandlers{Prices: prices{"tea": 400, "jam": 250}})
		})
		var history []wow.DomainEvent
		for range rapid.IntRange(1, 20).Draw(t, "commands") {
			o := shop.Given(history...).When(drawCartCommand(t))
			history = append(history, o.Events()...)
			for sku, line := range wowtest.StateOf[domain.Cart](o).Lines {
				if line.Qty < 1 || line.Price < 1 {
					t.Fatalf("after %v the cart holds %d of %s for %d each", history, line.Qty, sku, line.Price)
				}
			}
		}
	})
}

func drawCartCommand(t *rapid.T) wow.Sendable {
	sku := rapid.SampledFrom([]string{"tea", "jam"}).Draw(t, "sku")
	qty := rapid.IntRange(-3, 12).Draw(t, "qty")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return domain.RemoveItem{CartID: "c1", SKU: sku}
	case 1:
		return domain.ClearCart{CartID: "c1", OrderID: "o1", Bought: map[string]int{sku: qty}}
	}
	return domain.AddItem{CartID: "c1", SKU: sku, Qty: qty}
}
