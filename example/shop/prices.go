package main

import (
	"context"

	"github.com/wowgen/wow"
)

// priceList is the price service of the shop. A real one would ask another
// process, which is why the handler that uses it is marked blocking.
type priceList struct{}

// prices of a piece, in cents.
var prices = map[string]int{
	"tea": 400, "jam": 250, "cup": 900,
	"s1": 100, "s2": 200, "s3": 300, "s4": 400, "s5": 500, "s6": 600, "s7": 700, "s8": 800, "s9": 900,
}

// Price answers from the list. Two products are trouble on purpose.
func (priceList) Price(ctx context.Context, sku string) (int, error) {
	switch sku {
	case "haunted":
		panic("the price of this is a scream")
	case "frozen":
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if cents, ok := prices[sku]; ok {
		return cents, nil
	}
	return 0, wow.Refuse("unknown_product", "the shop does not sell %q", sku)
}
