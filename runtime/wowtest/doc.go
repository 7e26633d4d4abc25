// Package wowtest tests a domain the way its requirements are told: given what
// happened, when somebody asks for something, then this happens.
//
//	func TestAnOrderIsPaidOnce(t *testing.T) {
//		shop := wowtest.New(t, domain.RegisterOrder)
//
//		shop.Given(placed, domain.OrderPaid{Cents: 500}).
//			When(domain.PayOrder{OrderID: "o1", Cents: 500}).
//			ThenRefused("not_payable")
//	}
//
// Nothing runs in the background: handlers are called through the generated
// dispatchers, on the goroutine of the test, without a store, a mailbox or a
// clock. Consumers are tested the same way: [App.WhenEvent] hands a commit to
// the registered projections, processors and sagas.
//
// Besides what a test asks for, each step checks what every handler promises,
// and says so when it is broken:
//
//   - a command, event or state is the same after it was encoded and decoded
//   - a command has a key, and keeps it
//   - a decision does not change the state; events do
//   - every event that is decided can be applied
//   - applying an event twice, to two equal states, gives two equal states
//   - a saga asks for the same commands when it sees the same event again
//
// Two values are equal when their fields are. Nil and empty maps and slices
// are equal, and types with a method Equal decide for themselves.
package wowtest
