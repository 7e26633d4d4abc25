// Package order has handlers that return what they find in maps.
package order

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/wowgen/wow"
)

//wow:aggregate name=stock context=shop
type Stock struct {
	ID    string `wow:"key"`
	Items map[string]int
	List  []string
}

type Key struct {
	StockID string `wow:"key"`
}
type (
	C1  struct{ Key }
	C2  struct{ Key }
	C3  struct{ Key }
	C4  struct{ Key }
	C5  struct{ Key }
	C6  struct{ Key }
	C7  struct{ Key }
	C8  struct{ Key }
	C9  struct{ Key }
	C10 struct{ Key }
	C11 struct{ Key }
	C12 struct{ Key }
)

type Gone struct {
	SKU  string
	SKUs []string
	Text string
	N    int
}

func (s *Stock) C1(cmd C1) ([]Gone, error) {
	var gone []Gone
	for sku := range s.Items { // want `Stock.C1 returns events in the order of a map(?s:.*)Stock.C1 -> range s.Items(?s:.*)slices.Sorted`
		gone = append(gone, Gone{SKU: sku})
	}
	return gone, nil
}

func (s *Stock) C2(cmd C2) (events wow.Events, err error) {
	for sku := range maps.Keys(s.Items) { // want `range maps.Keys\(s.Items\)`
		events = append(events, Gone{SKU: sku})
	}
	return
}

func (s *Stock) C3(cmd C3) (Gone, error) {
	g := Gone{}
	for sku, n := range s.Items { // want `Stock.C3 returns events in the order of a map`
		if n > 0 {
			g.SKUs = append(g.SKUs, sku)
		}
	}
	return g, nil
}

func (s *Stock) C4(cmd C4) (*Gone, error) {
	text := ""
	for sku := range s.Items { // want `range s.Items`
		text += sku
	}
	return &Gone{Text: text}, nil
}

// C5 goes over two variables, a slice between them.
func (s *Stock) C5(cmd C5) (wow.Events, error) {
	var skus []string
	for sku := range s.Items { // want `range s.Items`
		skus = append(skus, sku)
	}
	var events wow.Events
	for _, sku := range skus {
		events = append(events, Gone{SKU: sku})
	}
	return events, nil
}

func (s *Stock) C6(cmd C6) (Gone, error) {
	return Gone{SKUs: slices.Collect(maps.Keys(s.Items))}, nil // want `slices.Collect\(maps.Keys\(s.Items\)\)`
}

func (s *Stock) C7(cmd C7) (Gone, error) {
	return Gone{SKUs: s.skus()}, nil // want `Stock.C7 -> Stock.skus -> range s.Items \(order.go:\d+\)`
}

func (s *Stock) skus() []string {
	var skus []string
	for sku := range s.Items {
		skus = append(skus, sku)
	}
	return skus
}

// C8 sorts, in several ways.
func (s *Stock) C8(cmd C8) ([]Gone, error) {
	var skus []string
	for sku := range s.Items {
		skus = append(skus, sku)
	}
	sort.Strings(skus)
	var gone []Gone
	for _, sku := range skus {
		gone = append(gone, Gone{SKU: sku})
	}
	return gone, nil
}

func (s *Stock) C9(cmd C9) ([]Gone, error) {
	var gone []Gone
	for sku := range s.Items {
		gone = append(gone, Gone{SKU: sku})
	}
	slices.SortFunc(gone, func(a, b Gone) int { return strings.Compare(a.SKU, b.SKU) })
	for _, sku := range slices.Collect(maps.Keys(s.Items)) {
		gone = append(gone, Gone{SKU: sku})
	}
	sort.Slice(gone, func(i, j int) bool { return gone[i].SKU < gone[j].SKU })
	for _, sku := range slices.Sorted(maps.Keys(s.Items)) {
		gone = append(gone, Gone{SKU: sku})
	}
	return gone, nil
}

// C10 counts, and looks things up.
func (s *Stock) C10(cmd C10) (*Gone, error) {
	n, best := 0, ""
	var seen []string
	byCount := map[int][]string{}
	for sku, count := range s.Items {
		n += count
		seen = append(seen, sku)
		byCount[count] = append(byCount[count], sku)
		if sku == cmd.StockID {
			best = sku
		}
	}
	return &Gone{N: n + len(seen), SKU: best}, nil
}

// C11 has nothing of the loop in its events.
func (s *Stock) C11(cmd C11) ([]Gone, error) {
	var gone []Gone
	for range s.Items {
		gone = append(gone, Gone{})
	}
	for _, sku := range s.List {
		gone = append(gone, Gone{SKU: sku})
	}
	return gone, nil
}

// C12 fills a map, which has no order, and sorts in a helper.
func (s *Stock) C12(cmd C12) (Gone, error) {
	left := map[string]int{}
	for sku, n := range s.Items {
		left[sku] = n
	}
	skus := slices.Collect(maps.Keys(left))
	sortAll(skus)
	return Gone{SKUs: skus}, nil
}

func sortAll(s []string) { slices.Sort(s) }

func (s *Stock) Gone(e Gone) {
	for sku := range s.Items {
		s.List = append(s.List, sku) // the order of a state is not looked at
	}
}

//wow:saga name=refill context=shop
type Refill struct{ wanted map[string]int }

func (r *Refill) OnGone(e wow.Event[Gone]) []C1 {
	var cmds []C1
	for sku := range r.wanted { // want `Refill.OnGone returns commands in the order of a map(?s:.*)the IDs by which each takes effect once`
		cmds = append(cmds, C1{Key{sku}})
	}
	return cmds
}
