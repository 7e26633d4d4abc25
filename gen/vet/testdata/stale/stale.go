// Package stale has handlers that are newer than the generated code.
package stale

import (
	"context"

	"github.com/wowgen/wow"
)

// Cart is the state.
//
//wow:aggregate name=cart context=shop
type Cart struct {
	base
	ID string `wow:"key"`
}

type Add struct {
	CartID string `wow:"key"`
}

type Swap struct {
	CartID string `wow:"key"`
}

// Drop is a command by its directive.
//
//wow:command exists key=Cart
type Drop struct{ Cart string }

type Added struct{ Qty int }

// Cleared is an event that nobody returns.
//
//wow:event
type Cleared struct{}

type base struct{ n int }

func (b *base) Added(e Added) { b.n++ }

func (b *base) Cleared(Cleared) {} // want `Cart.Cleared never runs: the generated code does not call it(?s:.*)fix: run wowgen`

func (c *Cart) Add(cmd Add) (Added, error) { return Added{}, nil }

func (c *Cart) Drop(cmd Drop) (wow.Events, error) { return nil, nil } // want `Cart.Drop never runs`

// Methods that are no handlers, whatever they are called.

func (c *Cart) String() string { return c.ID }

func (c *Cart) Scan(src any) error { return nil }

func (c *Cart) Price(cmd Add) int { return 0 }

func (c *Cart) Total(rule struct{ Rate int }) Added { return Added{} }

func (c *Cart) Variadic(cmds ...Add) (Added, error) { return Added{}, nil }

func (c *Cart) AddAll(a Add, d Drop) (Added, error) { return Added{}, nil }

func (c *Cart) Check(cmd Add) error { return nil }

//wow:handler aggregate=cart
type Handlers struct{}

func (Handlers) Swap(ctx context.Context, c *Cart, cmd Swap) (Added, error) { return Added{}, nil } // want `Handlers.Swap never runs`

//wow:processor name=log context=shop
type Log struct{}

//wow:blocking
func (Log) OnAdded(e Added) error { return nil } // want `Log.OnAdded is declared blocking, but the generated code calls it on a worker`

func (Log) OnCart(e wow.StateEvent[Cart]) {} // want `Log.OnCart never runs`

func (Log) Level() int { return 0 }

//wow:saga name=undo context=shop
type Undo struct{}

func (Undo) OnAdded(e wow.Event[Added]) (*Drop, error) { return nil, nil }

func (Undo) OnDropRefused(r wow.Refused[Drop]) Add { return Add{} } // want `Undo.OnDropRefused never runs`

type tally[T any] struct{ n T }

func (t *tally[T]) OnAdded(e wow.Event[Added]) {}

func (t *tally[T]) OnCleared(e wow.Event[Cleared]) {} // want `Tally.OnCleared never runs`

// Tally is an instance, which has what it needs of a type.
//
//wow:projection name=tally context=shop
type Tally = tally[int]
