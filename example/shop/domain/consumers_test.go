package domain_test

import (
	"database/sql"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

// database is a real SQLite, as the views run on.
func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "views.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestTheCartViewFollowsTheCart(t *testing.T) {
	view, err := domain.OpenCartView(t.Context(), database(t), "test")
	require.NoError(t, err)
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterCartView(r, view) })

	shop.Given(
		domain.ItemAdded{SKU: "tea", Qty: 12, Price: 400},
		domain.BulkPriceGranted{SKU: "tea", Price: 360},
		domain.ItemAdded{SKU: "jam", Qty: 1, Price: 250},
		domain.ItemRemoved{SKU: "jam"},
	).WhenEvent("c1", domain.CartCleared{OrderID: "o1", Bought: map[string]int{"tea": 10}})

	got, err := view.Cart(t.Context(), "c1")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"tea": 2}, got)
	seen, err := view.Seen(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, seen)
}

func TestSalesCountsWhatWasPaid(t *testing.T) {
	sales, err := domain.OpenSales(t.Context(), database(t), "test")
	require.NoError(t, err)
	shop := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterSales(r, sales) })

	shop.Given(placed).WhenEvent("o1", paid, domain.Overpaid{Cents: 100})
	shop.Given(placed).WhenEvent("o2", domain.OrderReleased{Reason: "sold out"})

	got, err := sales.Sold(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"tea": 2}, got)
	seen, err := sales.Seen(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, seen)
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
