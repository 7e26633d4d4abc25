// Package state has command handlers that change their state, and some that
// work on a copy.
package state

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"sort"

	"github.com/wowgen/wow"
)

//wow:aggregate name=cart context=shop
type Cart struct {
	ID    string `wow:"key"`
	Count int
	Lines map[string]Line
	Refs  map[string]*Line
	Names []string
	Total *big.Int
	Last  Line
	First [3]int
	Next  *Cart
	cache map[string]int
}

type Line struct {
	Qty  int
	Tags []string
}

type Done struct{ Qty int }

func (c *Cart) Done(e Done) {
	c.Count++
	c.put("a", Line{})
}

type Nothing struct{}

func (c *Cart) Nothing(Nothing) {}

func (c *Cart) put(sku string, l Line) {
	if c.Lines == nil {
		c.Lines = map[string]Line{}
	}
	c.Lines[sku] = l
}

// Helpers that hand out what the state holds, or a copy of it.

func (c *Cart) lines() map[string]Line { return c.Lines }

func (c *Cart) ref(sku string) *Line { return c.Refs[sku] }

func (c *Cart) clone() *Cart {
	next := *c
	next.Lines = maps.Clone(c.Lines)
	return &next
}

func (c *Cart) has(sku string) bool { _, ok := c.Lines[sku]; return ok }

type Command1 struct {
	CartID string `wow:"key"`
	SKU    string
	Extra  map[string]Line
}
type (
	Command2  struct{ Command1 }
	Command3  struct{ Command1 }
	Command4  struct{ Command1 }
	Command5  struct{ Command1 }
	Command6  struct{ Command1 }
	Command7  struct{ Command1 }
	Command8  struct{ Command1 }
	Command9  struct{ Command1 }
	Command10 struct{ Command1 }
	Command11 struct{ Command1 }
	Command12 struct{ Command1 }
	Command13 struct{ Command1 }
	Command14 struct{ Command1 }
	Command15 struct{ Command1 }
)

func (c *Cart) Command1(cmd Command1) (Done, error) {
	c.Count++                      // want `Cart.Command1 decides, but changes the state: c.Count\+\+(?s:.*)fix: return an event`
	c.Last.Qty = 1                 // want `c.Last.Qty = ...`
	c.Next.Next = nil              // want `c.Next.Next = ...`
	c.First[1] = 1                 // want `c.First\[1\] = ...`
	c.Count, c.First = 1, [3]int{} // want `c.Count, c.First = ...`
	for i := range c.Names {
		c.Names[i] = "" // want `c.Names\[i\] = ...`
	}
	assign(c.Lines, cmd.SKU, Line{}) // want `Cart.Command1 -> assign -> m\[k\] = ...`
	c.Names[0] = "first"             // want `c.Names\[0\] = ...`
	return Done{}, nil
}

func (c *Cart) Command2(cmd Command2) (Done, error) {
	c.Lines[cmd.SKU] = Line{}   // want `c.Lines\[cmd.SKU\] = ...`
	delete(c.Lines, cmd.SKU)    // want `delete\(c.Lines, cmd.SKU\)`
	clear(c.Lines)              // want `clear\(c.Lines\)`
	c.Names = append(c.Names)   // want `c.Names = ...`
	c.Refs[cmd.SKU].Qty++       // want `c.Refs\[cmd.SKU\].Qty\+\+`
	copy(c.Names, []string{""}) // want `copy`
	return Done{}, nil
}

func (c *Cart) Command3(cmd Command3) (Done, error) {
	c.put(cmd.SKU, Line{}) // want `Cart.Command3 -> Cart.put -> c.Lines = ... \(state.go:\d+\)`
	c.Done(Done{})         // want `Cart.Command3 -> Cart.Done -> c.Count\+\+`
	c.Nothing(Nothing{})
	return Done{}, nil
}

// Command4 reaches the state through other names for it.
func (c *Cart) Command4(cmd Command4) (Done, error) {
	lines := c.Lines
	lines[cmd.SKU] = Line{} // want `lines\[cmd.SKU\] = ...`
	last := &c.Last
	last.Qty = 1 // want `last.Qty = ...`
	for _, r := range c.Refs {
		r.Qty = 0 // want `r.Qty = ...`
	}
	c.lines()["a"] = Line{} // want `c.lines\(\)\["a"\] = ...`
	c.ref("a").Qty++        // want `c.ref\("a"\).Qty\+\+`
	self := c
	self.Count = 2 // want `self.Count = ...`
	return Done{}, nil
}

// Command5 reaches it through the standard library.
func (c *Cart) Command5(cmd Command5) (Done, error) {
	sort.Strings(c.Names)                                                        // want `sort.Strings`
	slices.SortFunc(c.Names, func(a, b string) int { return cmp.Compare(a, b) }) // want `slices.SortFunc`
	maps.Copy(c.Lines, cmd.Extra)                                                // want `maps.Copy`
	c.Total.Add(c.Total, big.NewInt(1))                                          // want `c.Total.Add`
	err := json.Unmarshal(nil, c)                                                // want `json.Unmarshal`
	return Done{}, err
}

// Command6 does so in closures.
func (c *Cart) Command6(ctx context.Context, cmd Command6) (Done, error) {
	add := func(n int) {
		c.Count += n // want `c.Count \+= ...`
	}
	add(1)
	_, err := wow.Await(ctx, func(context.Context) (int, error) {
		c.Count = 3 // want `c.Count = ...`
		return 0, nil
	})
	return Done{}, err
}

// Command7 changes what is its own.
func (c *Cart) Command7(cmd Command7) (Done, error) {
	lines := maps.Clone(c.Lines)
	lines[cmd.SKU] = Line{}
	names := append([]string(nil), c.Names...)
	sort.Strings(names)
	sorted := slices.Sorted(maps.Keys(c.Lines))
	sorted[0] = ""
	total := new(big.Int).Add(c.Total, big.NewInt(1))
	total.Add(total, total)
	line := c.Lines[cmd.SKU]
	line.Qty++
	first := c.First
	first[0] = 1
	sum := 0
	for _, l := range c.Lines {
		l.Qty--
		sum += l.Qty
	}
	return Done{Qty: sum}, nil
}

// Command8 decides on a copy.
func (c *Cart) Command8(cmd Command8) (Done, error) {
	next := *c
	next.Count++
	next.Lines = maps.Clone(c.Lines)
	next.Lines[cmd.SKU] = Line{}
	next.put(cmd.SKU, Line{})
	other := c.clone()
	other.Done(Done{})
	other.Lines["a"] = Line{}
	return Done{Qty: next.Count}, nil
}

// Command9 has a copy that shares the map.
func (c *Cart) Command9(cmd Command9) (Done, error) {
	next := *c
	next.Lines[cmd.SKU] = Line{} // want `next.Lines\[cmd.SKU\] = ...`
	return Done{}, nil
}

// Command10 sets a variable anew before changing it.
func (c *Cart) Command10(cmd Command10) (Done, error) {
	lines := c.Lines
	if !c.has(cmd.SKU) {
		lines = nil
	}
	n := len(lines)
	lines = maps.Clone(lines)
	lines[cmd.SKU] = Line{}
	names := append(c.Names[:0:0], c.Names...)
	names[0] = "a"
	func() {
		lines["b"] = Line{}
	}()
	return Done{Qty: n}, nil
}

// Command11 changes the command, which is nobody else's.
func (c *Cart) Command11(cmd Command11) (Done, error) {
	cmd.SKU = "x"
	if cmd.Extra == nil {
		cmd.Extra = map[string]Line{}
	}
	cmd.Extra["x"] = Line{Qty: c.Count}
	return Done{}, nil
}

// Command12 has a copy for a receiver, but not of what its map holds.
func (c Cart) Command12(cmd Command12) (Done, error) {
	c.Count = 1
	c.Lines["a"] = Line{} // want `c.Lines\["a"\] = ...`
	return Done{}, nil
}

//wow:handler aggregate=cart
type Handlers struct{ asked int }

// Command13 may count for itself.
func (h *Handlers) Command13(c *Cart, cmd Command13) (Done, error) {
	h.asked++
	c.Count = h.asked // want `Handlers.Command13 decides, but changes the state: c.Count = ...`
	return Done{}, nil
}

func (h *Handlers) Command14(ctx context.Context, cart *Cart, cmd wow.Command[Command14]) (Done, error) {
	h.reset(cart, nil) // want `Handlers.reset -> c.Names = ...`
	return Done{}, nil
}

func (h *Handlers) reset(c *Cart, names []string) { c.Names = names }

// Command15 builds something of the same type.
func (h *Handlers) Command15(c *Cart, cmd Command15) (Done, error) {
	fresh := &Cart{Lines: map[string]Line{}}
	fresh.put("a", Line{})
	fresh.Done(Done{})
	h.reset(fresh, c.Names)
	all := []*Cart{fresh}
	all[0].Count = 2
	return Done{}, nil
}

// Reset is no decision: it may change what it likes.
func (c *Cart) Reset() { *c = Cart{} }

// Restore is one by its looks, but said not to be.
//
//wow:ignore used when importing
func (c *Cart) Restore(cmd Command1) (Done, error) {
	c.Count = 0
	return Done{}, nil
}

func assign[K comparable, V any](m map[K]V, k K, v V) { m[k] = v }
