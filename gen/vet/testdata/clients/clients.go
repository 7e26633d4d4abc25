// Package clients has a handler that sends a command and waits for its receipt.
package clients

import (
	"github.com/wowgen/wow"
	"github.com/wowgen/wow/gen/vet/testdata/across/store"
	"github.com/wowgen/wow/runtime"
)

type Put struct {
	BoxID string `wow:"key"`
}

type PutDone struct{}

//wow:saga name=relay context=work
type Relay struct{ boxes Client }

// Client is like the typed clients that wowgen writes.
type Client struct{ gateway *runtime.Gateway }

func (c Client) Put(cmd Put) error {
	_, err := c.gateway.Send(nil, nil)
	return err
}

func (r *Relay) OnPutDone(e wow.Event[PutDone]) (Put, error) {
	store.Each([]string{"a"}, func(string) {
		_ = r.boxes.Put(Put{}) // want `Relay.OnPutDone -> Client.Put -> runtime.Gateway.Send`
	})
	return Put{}, nil
}
