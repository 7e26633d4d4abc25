package domain_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

func TestTheCartViewFollowsTheCart(t *testing.T) {
	view := new(domain.CartView)
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterCartView(r, view) })

	shop.Given(
		domain.ItemAdded{SKU: "tea", Qty: 12, Price: 400},
		domain.BulkPriceGranted{SKU: "tea", Price: 360},
		domain.ItemAdded{SKU: "jam", Qty: 1, Price: 250},
		domain.ItemRemoved{SKU: "jam"},
	).WhenEvent("c1", domain.CartCleared{OrderID: "o1", Bought: map[string]int{"tea": 10}})

	if got, want := view.Cart("c1"), map[string]int{"tea": 2}; !maps.Equal(got, want) {
		t.Errorf("the view shows %v, want %v", got, want)
	}
	if got := view.Seen(); got != 5 {
		t.Errorf("the view counted %d events, want 5", got)
	}
}

func TestSalesCountsWhatWasPaid(t *testing.T) {
	sales := new(domain.Sales)
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterSales(r, sales) })

	shop.Given(placed).WhenEvent("o1", paid, domain.Overpaid{Cents: 100})
	shop.Given(placed).WhenEvent("o2", domain.OrderReleased{Reason: "sold out"})

	if got, want := sales.Sold(), map[string]int{"tea": 2}; !maps.Equal(got, want) {
		t.Errorf("sold %v, want %v", got, want)
	}
	if got := sales.Seen(); got != 5 {
		t.Errorf("the view counted %d events, want 5", got)
	}
}

func TestTheDeskShowsOrdersThatAreNotPaid(t *testing.T) {
	desk := new(domain.Desk)
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterDesk(r, desk) })

	shop.WhenEvent("o1", placed)
	if got, want := desk.Open(), map[string]int{"o1": 800}; !maps.Equal(got, want) {
		t.Errorf("open are %v, want %v", got, want)
	}
	shop.Given(placed).WhenEvent("o1", paid)
	if got := desk.Open(); len(got) > 0 {
		t.Errorf("open are %v, want none", got)
	}
}

func TestAPaidOrderGetsAReceipt(t *testing.T) {
	dir := t.TempDir()
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterReceipts(r, &domain.Receipts{Dir: dir}) })

	for range 2 { // the second time as after a crash
		shop.Given(placed).WhenEvent("a/b", paid).ThenNothing()
	}

	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder holds %v (%v), want one receipt", files, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if got, want := string(text), "order a/b: paid 8.00\n"; err != nil || got != want {
		t.Errorf("the receipt says %q (%v), want %q", got, err, want)
	}
}

func TestAReceiptThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	wowtest.New(t, func(r *wowrt.Runtime) {
		domain.RegisterReceipts(r, &domain.Receipts{Dir: filepath.Join(t.TempDir(), "missing")})
	}).WhenEvent("o1", paid).ThenFails(fs.ErrNotExist)
}
