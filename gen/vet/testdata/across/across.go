// Package across has handlers that call another package of the module.
package across

import (
	"github.com/wowgen/wow"
	"github.com/wowgen/wow/gen/vet/testdata/across/store"
	"github.com/wowgen/wow/runtime"
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

//wow:saga name=relay context=work
type Relay struct{ boxes Client }

// Client is like the typed clients that wowgen writes.
type Client struct{ gateway *runtime.Gateway }

func (c Client) Put(cmd Put) error {
	_, err := c.gateway.Send(nil, nil)
	return err
}

func (r *Relay) OnPutDone(e wow.Event[PutDone]) (Put, error) {
	store.Each([]string{"a"}, func(s string) {
		_ = r.boxes.Put(Put{}) // want `Relay.OnPutDone -> Client.Put -> runtime.Gateway.Send`
	})
	return Put{}, nil
}
