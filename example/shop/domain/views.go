package domain

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/view"
)

// CartView answers what a cart holds without loading it. Its rows live in
// SQLite, and so does its progress: each commit takes effect there once.
//
//wow:projection name=cart_view context=shop
type CartView struct{ rows }

// OpenCartView opens the view in a database, for the history with that
// identity.
func OpenCartView(ctx context.Context, db *sql.DB, history string) (*CartView, error) {
	r, err := openRows(ctx, db, "shop.projection.cart_view", history, view.Generation{Number: 1},
		`CREATE TABLE IF NOT EXISTS cart_view (cart TEXT, sku TEXT, qty INTEGER NOT NULL, PRIMARY KEY (cart, sku)) WITHOUT ROWID`)
	return &CartView{r}, err
}

// Resume and Run make the projection transactional.
func (v *CartView) Resume(ctx context.Context, shard int32) (wow.Position, error) {
	return v.view.Resume(ctx, shard)
}

// Run calls handle in a transaction.
func (v *CartView) Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
	return v.view.Run(ctx, done, handle)
}

// OnItemAdded adds the pieces.
func (v *CartView) OnItemAdded(ctx context.Context, e wow.Event[ItemAdded]) error {
	return v.change(ctx, `INSERT INTO cart_view (cart, sku, qty) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET qty = qty + excluded.qty`,
		e.Target.ID, e.Data.SKU, e.Data.Qty)
}

// OnBulkPriceGranted changes nothing that the view shows.
func (v *CartView) OnBulkPriceGranted(ctx context.Context, _ wow.Event[BulkPriceGranted]) error {
	return v.count(ctx)
}

// OnItemRemoved takes the product out.
func (v *CartView) OnItemRemoved(ctx context.Context, e wow.Event[ItemRemoved]) error {
	return v.change(ctx, `DELETE FROM cart_view WHERE cart = ? AND sku = ?`, e.Target.ID, e.Data.SKU)
}

// OnCartCleared takes out what was bought.
func (v *CartView) OnCartCleared(ctx context.Context, e wow.Event[CartCleared]) error {
	for sku, qty := range e.Data.Bought {
		if err := v.exec(ctx, `UPDATE cart_view SET qty = qty - ? WHERE cart = ? AND sku = ?`, qty, e.Target.ID, sku); err != nil {
			return err
		}
	}
	return v.change(ctx, `DELETE FROM cart_view WHERE cart = ? AND qty <= 0`, e.Target.ID)
}

// Cart returns the pieces of each product in a cart.
func (v *CartView) Cart(ctx context.Context, id string) (map[string]int, error) {
	return v.pieces(ctx, `SELECT sku, qty FROM cart_view WHERE cart = ?`, id)
}

// Sales counts the pieces sold of each product. An order may hold any product,
// so rows are shared by orders. It can be rebuilt: each generation has tables of
// its own.
//
//wow:projection name=sales context=shop serial
type Sales struct {
	rows
	generation view.Generation
}

// OpenSales opens the generation of the view that answers, for the history with
// that identity.
func OpenSales(ctx context.Context, db *sql.DB, history string) (*Sales, error) {
	live, err := view.Active(ctx, db, view.SQLite, salesView)
	if err != nil {
		return nil, err
	}
	return OpenSalesGeneration(ctx, db, history, max(1, live))
}

// OpenSalesGeneration opens one generation. One above that which answers is
// rebuilt from the history, and answers once it has caught up.
func OpenSalesGeneration(ctx context.Context, db *sql.DB, history string, number int) (*Sales, error) {
	g := view.Generation{Number: number}
	tables := []string{
		`CREATE TABLE IF NOT EXISTS ` + g.Table("sales") + ` (sku TEXT PRIMARY KEY, qty INTEGER NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE IF NOT EXISTS ` + g.Table("sales_open") + ` (order_id TEXT, sku TEXT, qty INTEGER NOT NULL, PRIMARY KEY (order_id, sku)) WITHOUT ROWID`,
	}
	r, err := openRows(ctx, db, salesView, history, g, tables...)
	return &Sales{r, g}, err
}

const salesView = "shop.projection.sales"

// Generation is the number of this generation.
func (s *Sales) Generation() int { return s.generation.Number }

// Answers reports whether this generation is the one that answers.
func (s *Sales) Answers(ctx context.Context) (bool, error) {
	live, err := s.view.Active(ctx)
	return live == s.generation.Number, err
}

// Resume and Run make the projection transactional.
func (s *Sales) Resume(ctx context.Context, shard int32) (wow.Position, error) {
	return s.view.Resume(ctx, shard)
}

// Run calls handle in a transaction.
func (s *Sales) Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
	return s.view.Run(ctx, done, handle)
}

// OnOrderPlaced remembers what the order is about.
func (s *Sales) OnOrderPlaced(ctx context.Context, e wow.Event[OrderPlaced]) error {
	for sku, line := range e.Data.Lines {
		if err := s.exec(ctx, `INSERT INTO `+s.open()+` (order_id, sku, qty) VALUES (?, ?, ?)`, e.Target.ID, sku, line.Qty); err != nil {
			return err
		}
	}
	return s.count(ctx)
}

// OnOrderPaid counts the order's pieces as sold.
func (s *Sales) OnOrderPaid(ctx context.Context, e wow.Event[OrderPaid]) error {
	if err := s.exec(ctx, `INSERT INTO `+s.sold()+` (sku, qty) SELECT sku, qty FROM `+s.open()+` WHERE order_id = ? ON CONFLICT DO UPDATE SET qty = qty + excluded.qty`,
		e.Target.ID); err != nil {
		return err
	}
	return s.forget(ctx, e.Target.ID)
}

// OnOverpaid changes nothing that the view shows.
func (s *Sales) OnOverpaid(ctx context.Context, _ Overpaid) error { return s.count(ctx) }

// OnOrderReleased forgets the order.
func (s *Sales) OnOrderReleased(ctx context.Context, e wow.Event[OrderReleased]) error {
	return s.forget(ctx, e.Target.ID)
}

func (s *Sales) forget(ctx context.Context, order string) error {
	return s.change(ctx, `DELETE FROM `+s.open()+` WHERE order_id = ?`, order)
}

// Sold returns the pieces sold of each product.
func (s *Sales) Sold(ctx context.Context) (map[string]int, error) {
	return s.pieces(ctx, `SELECT sku, qty FROM `+s.sold())
}

func (s *Sales) sold() string { return s.generation.Table("sales") }
func (s *Sales) open() string { return s.generation.Table("sales_open") }

// rows is what the views have in common: a database, and how many events they
// have counted.
type rows struct {
	db   *sql.DB
	name string
	view *view.View
}

func openRows(ctx context.Context, db *sql.DB, name, history string, g view.Generation, tables ...string) (rows, error) {
	tables = append(tables, `CREATE TABLE IF NOT EXISTS seen (view TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID`)
	for _, t := range tables {
		if _, err := db.ExecContext(ctx, t); err != nil {
			return rows{}, fmt.Errorf("shop: making the tables of %s: %w", name, err)
		}
	}
	v, err := view.OpenGeneration(ctx, db, view.SQLite, name, history, g)
	return rows{db, g.Table(name), v}, err
}

func (r *rows) exec(ctx context.Context, statement string, args ...any) error {
	_, err := view.Tx(ctx).ExecContext(ctx, statement, args...)
	return err
}

// change is exec, for the last statement of an event.
func (r *rows) change(ctx context.Context, statement string, args ...any) error {
	if err := r.exec(ctx, statement, args...); err != nil {
		return err
	}
	return r.count(ctx)
}

func (r *rows) count(ctx context.Context) error {
	return r.exec(ctx, `INSERT INTO seen (view, events) VALUES (?, 1) ON CONFLICT DO UPDATE SET events = events + 1`, r.name)
}

// Seen is how many events the view has counted.
func (r *rows) Seen(ctx context.Context) (n int64, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM seen WHERE view = ?`, r.name).Scan(&n)
	return n, err
}

func (r *rows) pieces(ctx context.Context, query string, args ...any) (_ map[string]int, err error) {
	found, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	out := map[string]int{}
	for found.Next() {
		var sku string
		var qty int
		if err := found.Scan(&sku, &qty); err != nil {
			return nil, err
		}
		out[sku] = qty
	}
	return out, found.Err()
}
