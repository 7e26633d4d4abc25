package main

import (
	"context"
	"fmt"

	"github.com/wowgen/wow"
)

// books is what the history holds, counted from the store itself.
type books struct {
	commits  int64
	direct   int64                // commits of commands that no saga sent
	versions map[wow.Target]int64 // the highest of each aggregate
	counts   map[string]int64     // events by aggregate name
}

func (b *books) events() (n int64) {
	for _, c := range b.counts {
		n += c
	}
	return n
}

// audit reads the whole history. Each aggregate's versions must be 1, 2, 3, …
func (a *app) audit(ctx context.Context) (*books, error) {
	const page = 1000
	b := &books{versions: map[wow.Target]int64{}, counts: map[string]int64{}}
	for at := (wow.Position{}); ; {
		commits, err := a.runtime.Store().Read(ctx, at, page)
		if err != nil {
			return nil, fmt.Errorf("reading the history behind %v: %w", at, err)
		}
		if len(commits) == 0 {
			return b, nil
		}
		for _, c := range commits {
			if want := b.versions[c.Target] + 1; c.Version != want {
				return nil, fmt.Errorf("the history of %s goes on with version %d, want %d", c.Target, c.Version, want)
			}
			if want := at.Seq + 1; c.Position.Seq != want {
				return nil, fmt.Errorf("the history goes on at position %v, want %d", c.Position, want)
			}
			at = c.Position
			b.versions[c.Target] = c.Version
			b.counts[c.Target.Aggregate] += int64(len(c.Events))
			b.commits++
			if c.Causation == "" {
				b.direct++
			}
		}
	}
}

// verify checks the books against everybody else who counted: the aggregates
// themselves, the projections, and the senders, who were told of acked commits.
func (a *app) verify(ctx context.Context, b *books, acked int64) error {
	var sum int64
	for t, version := range b.versions {
		loaded, err := a.version(ctx, t)
		if err != nil {
			return err
		}
		if loaded != version {
			return fmt.Errorf("%s loads as version %d, the history has %d", t, loaded, version)
		}
		sum += loaded
	}
	carts, err := a.cartView.Seen(ctx)
	if err != nil {
		return err
	}
	orders, err := a.sales.Seen(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"versions summed over all aggregates, against commits", sum, b.commits},
		{"commits acknowledged to the senders, against those stored for them", acked, b.direct},
		{"events that the projection cart_view counted, against those of carts", carts, b.counts["shop.cart"]},
		{"events that the projection sales counted, against those of orders", orders, b.counts["shop.order"]},
	} {
		if c.got != c.want {
			return fmt.Errorf("something was lost or doubled: %s: %d, want %d", c.what, c.got, c.want)
		}
	}
	return nil
}

// version loads an aggregate and returns its version.
func (a *app) version(ctx context.Context, t wow.Target) (version int64, err error) {
	if t.Aggregate == "shop.cart" {
		_, version, err = a.carts.Load(ctx, t.ID)
	} else {
		_, version, err = a.orders.Load(ctx, t.ID)
	}
	return version, err
}
