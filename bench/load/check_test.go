package load

import (
	"testing"

	"github.com/wowgen/wow/bench/peer"
	"go.uber.org/goleak"
)

// TestPeersKeepTheirPromises runs every workload in small on every peer: each
// message once, those of a key in order and never two at a time. Under -race,
// plain counters prove the last. Nothing may be left running.
func TestPeersKeepTheirPromises(t *testing.T) {
	for _, p := range peer.All() {
		t.Run(p.Name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			for _, w := range All() {
				if w.Keys > 1000 && !w.Once && w.Wait == 0 || !w.Suits(p) {
					continue
				}
				if err := Check(w, p, 3000); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// swapper handles messages in pairs, the second first.
type swapper struct {
	h    peer.Handler
	held *peer.Msg
	lose int // loses that one
	n    int
}

func (e *swapper) Submit(m *peer.Msg) {
	if e.n++; e.n == e.lose {
		m = e.held
	}
	if e.held == nil {
		e.held = m
		return
	}
	e.h.Handle(m)
	e.h.Handle(e.held)
	e.held = nil
}

func (e *swapper) Flush() {
	if e.held != nil {
		e.h.Handle(e.held)
		e.held = nil
	}
}

func (e *swapper) Close() {}

// TestCheckNoticesDisorder shows that the oracle is awake.
func TestCheckNoticesDisorder(t *testing.T) {
	p := peer.Peer{Name: "swapper", Traits: peer.Single | peer.Inline,
		New: func(h peer.Handler, _ peer.Config) peer.Exec { return &swapper{h: h} }}
	w := Workload{Name: "one key", Keys: 1, Producers: 1, InAll: 256}
	if err := Check(w, p, 3000); err == nil {
		t.Error("messages out of order were not noticed")
	}
	p.Traits |= peer.Unordered
	if err := Check(w, p, 3000); err != nil {
		t.Errorf("a peer that does not promise order: %v", err)
	}
}
