package domain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

// prices is the price list of the tests.
type prices map[string]int

func (p prices) Price(_ context.Context, sku string) (int, error) {
	if price, ok := p[sku]; ok {
		return price, nil
	}
	return 0, fmt.Errorf("price of %s: %w (%w)", sku, errNoAnswer, wow.Retryable)
}

var errNoAnswer = errors.New("the price service does not answer")

func carts(t *testing.T) *wowtest.App {
	return wowtest.New(t, func(r *wowrt.Runtime) {
		domain.RegisterCart(r, &domain.CartHandlers{Prices: prices{"tea": 400, "jam": 250}})
	})
}

func TestAddingAnItemRemembersItsPrice(t *testing.T) {
	carts(t).
		When(domain.AddItem{CartID: "c1", SKU: "tea", Qty: 2}).
		Then(domain.ItemAdded{SKU: "tea", Qty: 2, Price: 400}).
		ThenState(&domain.Cart{ID: "c1", Lines: map[string]domain.Line{"tea": {Qty: 2, Price: 400}}})
}

func TestTheTenthPieceBringsTheBulkPrice(t *testing.T) {
	cart := carts(t).
		Given(domain.ItemAdded{SKU: "tea", Qty: 8, Price: 400}).
		When(domain.AddItem{CartID: "c1", SKU: "tea", Qty: 2}).
		Then(
			domain.ItemAdded{SKU: "tea", Qty: 2, Price: 400},
			domain.BulkPriceGranted{SKU: "tea", Price: 360},
		)
	if got, want := wowtest.StateOf[domain.Cart](cart).Total(), 10*360; got != want {
		t.Errorf("the cart costs %d cents, want %d", got, want)
	}
}

func TestTheBulkPriceIsGrantedOnce(t *testing.T) {
	carts(t).
		Given(
			domain.ItemAdded{SKU: "tea", Qty: 10, Price: 400},
			domain.BulkPriceGranted{SKU: "tea", Price: 360},
		).
		When(domain.AddItem{CartID: "c1", SKU: "tea", Qty: 10}).
		Then(domain.ItemAdded{SKU: "tea", Qty: 10, Price: 400}).
		ThenState(&domain.Cart{ID: "c1", Lines: map[string]domain.Line{"tea": {Qty: 20, Price: 360}}})
}

func TestACartTakesASensibleQuantity(t *testing.T) {
	for _, qty := range []int{-1, 0, 1001} {
		carts(t).
			When(domain.AddItem{CartID: "c1", SKU: "tea", Qty: qty}).
			ThenRefused("bad_quantity")
	}
}

func TestAPriceServiceThatDoesNotAnswerIsNoRefusal(t *testing.T) {
	carts(t).
		When(domain.AddItem{CartID: "c1", SKU: "cake", Qty: 1}).
		ThenFails(errNoAnswer)
}

func TestRemovingAnItem(t *testing.T) {
	carts(t).
		Given(domain.ItemAdded{SKU: "tea", Qty: 2, Price: 400}).
		When(domain.RemoveItem{CartID: "c1", SKU: "tea"}).
		Then(domain.ItemRemoved{SKU: "tea"}).
		ThenState(&domain.Cart{ID: "c1"})
}

func TestRemovingWhatIsNotThereChangesNothing(t *testing.T) {
	carts(t).
		Given(domain.ItemAdded{SKU: "tea", Qty: 2, Price: 400}).
		When(domain.RemoveItem{CartID: "c1", SKU: "jam"}).
		ThenNothing()
}

func TestOnlyACartThatExistsLosesItems(t *testing.T) {
	carts(t).
		When(domain.RemoveItem{CartID: "c1", SKU: "tea"}).
		ThenRefused(wowrt.CodeNotFound)
}

func TestClearingTakesOutWhatWasBought(t *testing.T) {
	carts(t).
		Given(
			domain.ItemAdded{SKU: "tea", Qty: 3, Price: 400},
			domain.ItemAdded{SKU: "jam", Qty: 1, Price: 250},
		).
		When(domain.ClearCart{CartID: "c1", OrderID: "o1", Bought: map[string]int{"tea": 2, "jam": 1}}).
		Then(domain.CartCleared{OrderID: "o1", Bought: map[string]int{"tea": 2, "jam": 1}}).
		ThenState(&domain.Cart{ID: "c1", Lines: map[string]domain.Line{"tea": {Qty: 1, Price: 400}}})
}

func TestACartIsNotClearedOfWhatItDoesNotHold(t *testing.T) {
	carts(t).
		Given(domain.ItemAdded{SKU: "tea", Qty: 1, Price: 400}).
		When(domain.ClearCart{CartID: "c1", OrderID: "o1", Bought: map[string]int{"tea": 2}}).
		ThenRefused("cart_changed")
}
