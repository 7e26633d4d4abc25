// Package across has handlers that call another package of the module.
package across

import (
	"github.com/wowgen/wow/gen/vet/testdata/across/store"
)

//wow:aggregate name=box context=work
type Box struct {
	ID    string `wow:"key"`
	Items store.Items
	Last  store.Stamp
}

type Put struct {
	BoxID string `wow:"key"`
}

type PutDone struct{ N int }

func (b *Box) Put(cmd Put) (PutDone, error) {
	store.Save("a")        // want `Box.Put can block(?s:.*)Box.Put -> store.Save -> save \(store.go:\d+\) -> os.WriteFile \(store.go:\d+\)`
	b.Items.Add("a")       // want `Box.Put decides, but changes the state(?s:.*)Box.Put -> store.Items.Add -> it\[key\]\+\+ \(store.go:\d+\)`
	b.Items.All()["a"] = 1 // want `decides, but changes the state`
	items := b.Items.Clone()
	items.Add("a")
	return PutDone{N: b.Items.Count("a")}, nil
}

func (b *Box) PutDone(e PutDone) {
	b.Items.Add("a")
	b.Last = store.Now() // want `Box.PutDone applies an event, but reads the clock(?s:.*)Box.PutDone -> store.Now -> time.Now`
}
