// Package wow is the vocabulary of an event-sourced domain: what command
// handlers, event handlers and sagas take and return.
//
// A domain package imports wow and nothing else of the project. It declares
// aggregates, commands and events as plain structs, marks the handler types
// with //wow: directives, and runs wowgen, which writes the dispatchers, the
// typed clients and the Register functions beside it. Package runtime runs
// them.
package wow

//go:generate go tool wowgen ./example/...

import (
	"strconv"
	"strings"
)

// Target is the address of one aggregate: everything that happens to one
// Target runs one at a time and in order.
type Target struct {
	Tenant    string // "" where the aggregate has no tenants; at most 64 bytes
	Aggregate string // "context.aggregate", as in "shop.cart"; at most 128 bytes
	ID        string // at most 256 bytes, valid UTF-8, no control characters
}

// Context returns the bounded context, the part of Aggregate before the dot.
func (t Target) Context() string {
	name, _, _ := strings.Cut(t.Aggregate, ".")
	return name
}

// String returns "shop.cart/c1", or "tenant:shop.cart/c1" where there is a
// tenant. It is for people; nothing parses it.
func (t Target) String() string {
	if t.Tenant != "" {
		return t.Tenant + ":" + t.Aggregate + "/" + t.ID
	}
	return t.Aggregate + "/" + t.ID
}

// Position orders the commits of one shard of a store. Seq counts from 1
// without gaps; 0 is before all of them. Positions of different shards cannot
// be compared.
type Position struct {
	Shard int32
	Seq   int64
}

// String returns "shard/seq".
func (p Position) String() string {
	return strconv.FormatInt(int64(p.Shard), 10) + "/" + strconv.FormatInt(p.Seq, 10)
}
