package domain

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/wowgen/wow"
)

// Receipts writes a receipt for each paid order into a folder.
//
//wow:processor name=receipts context=shop
type Receipts struct {
	Dir string
}

// OnOrderPaid writes the receipt. It may run again for the same order, also
// after a crash half-way, so it writes beside the final name and renames.
// When the disk is full it is tried again for some seconds, then set aside;
// later receipts of other orders do not wait for it.
//
//wow:blocking
//wow:retry max=12 backoff=20ms
func (r *Receipts) OnOrderPaid(ctx context.Context, e wow.Event[OrderPaid]) error {
	text := fmt.Sprintf("order %s: paid %d.%02d\n", e.Target.ID, e.Data.Cents/100, e.Data.Cents%100)
	name := filepath.Join(r.Dir, url.PathEscape(e.Target.ID)+".txt")
	if err := os.WriteFile(name+".tmp", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// Desk watches whole orders: it shows those that wait for their money.
//
//wow:processor name=desk context=shop
type Desk struct {
	mu   sync.Mutex
	open map[string]int // cents by order
}

// OnOrder keeps the list of open orders.
func (d *Desk) OnOrder(e wow.StateEvent[Order]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.State.Status != Placed {
		delete(d.open, e.Target.ID)
		return
	}
	if d.open == nil {
		d.open = map[string]int{}
	}
	d.open[e.Target.ID] = e.State.Total()
}

// Open returns what is still to be paid for each open order, in cents.
func (d *Desk) Open() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.open)
}
