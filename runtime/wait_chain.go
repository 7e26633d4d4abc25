package runtime

import (
	"context"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// waitForChain waits until sagas have handled a commit, all commits that came of
// their commands, and so on to the end. What belongs to the chain is what has
// its correlation: commands of sagas inherit that. Delayed commands are no part
// of it before they are sent.
//
// When sagas have finished a commit, the commands that they sent have outcomes,
// so what came of them is in the history. It is read from the commit on, once:
//
//	wait for 1 -> read 2..head, find 3 and 7 -> wait for 3 -> … -> nothing new up to the head
func (cs *consumers) waitForChain(ctx context.Context, first *store.Commit, who []*consumer) error {
	links := []*store.Commit{first}
	read := first.Position
	for len(links) > 0 {
		for _, c := range who {
			if err := c.wait(ctx, links[0]); err != nil {
				return &WaitError{ChainHandled, c.name, links[0].Position, err}
			}
		}
		links = links[1:]
		if len(links) > 0 {
			continue // those that are known first: each may lead to more
		}
		found, to, err := cs.sameChain(ctx, first.Correlation, read)
		if err != nil {
			return &WaitError{ChainHandled, who[0].name, read, err}
		}
		links, read = found, to
	}
	return nil
}

// sameChain returns the commits of a correlation behind a position, and how far
// it has read.
func (cs *consumers) sameChain(ctx context.Context, correlation string, after wow.Position) (found []*store.Commit, to wow.Position, err error) {
	head, err := cs.env.store.Head(ctx, after.Shard)
	for err == nil && after.Seq < head.Seq {
		var page []*store.Commit
		if page, err = cs.env.store.Read(ctx, after, tailBatch); err != nil || len(page) == 0 {
			break
		}
		for _, c := range page {
			if c.Correlation == correlation {
				found = append(found, c)
			}
		}
		after = page[len(page)-1].Position
	}
	return found, after, err
}
