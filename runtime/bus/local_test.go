package bus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/bustest"
)

func TestContract(t *testing.T) {
	bustest.Run(t, func(testing.TB) bus.Bus { return &bus.Local{Drain: time.Second} })
}

func TestTheLowestFinishedDeliveryIsRemembered(t *testing.T) {
	var k bus.Tracker
	for _, offset := range []int64{3, 4, 7, 9} { // Kafka leaves gaps
		k.Deliver(offset)
	}
	for _, step := range []struct {
		finish, next int64
		moved        bool
	}{{7, 0, false}, {4, 0, false}, {3, 8, true}, {3, 0, false}, {100, 0, false}, {9, 10, true}, {9, 0, false}} {
		next, moved := k.Finish(step.finish)
		require.Equal(t, step.moved, moved, step)
		require.Equal(t, step.next, next, step)
	}
	require.Zero(t, k.Open())
}

func TestAKeyNamesItsAggregateAlone(t *testing.T) {
	require.Equal(t, "|shop.cart|c1", bus.Key(wow.Target{Aggregate: "shop.cart", ID: "c1"}))
	require.Equal(t, "a%7Cb|shop.cart|50%25", bus.Key(wow.Target{Tenant: "a|b", Aggregate: "shop.cart", ID: "50%"}))
}
