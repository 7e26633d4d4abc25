package domain

import (
	"time"

	"github.com/wowgen/wow"
)

// PayWithin is how long an order waits for its payment unless it says otherwise.
const PayWithin = 15 * time.Minute

// Payment is the saga that gives up orders nobody pays: a command is delayed,
// and taken back when there is no need for it any more.
//
//wow:saga name=payment context=shop
type Payment struct{}

// OnOrderPlaced has the order released later.
func (Payment) OnOrderPlaced(e wow.Event[OrderPlaced]) wow.Delayed[ReleaseOrder] {
	within := PayWithin
	if e.Data.PaySeconds > 0 {
		within = time.Duration(e.Data.PaySeconds) * time.Second
	}
	return wow.Later(timeOut(e.Target), within, ReleaseOrder{OrderID: e.Target.ID, Reason: "not paid in time"})
}

// OnOrderPaid takes that back.
func (Payment) OnOrderPaid(e wow.Event[OrderPaid]) wow.Cancel {
	return wow.Cancel(timeOut(e.Target))
}

// OnOrderReleased takes that back too.
func (Payment) OnOrderReleased(e wow.Event[OrderReleased]) wow.Cancel {
	return wow.Cancel(timeOut(e.Target))
}

func timeOut(order wow.Target) string { return "pay " + order.ID }
