package runtime

import "sync"

// batcher collects what many mailboxes hand in and does it in batches: while
// one batch is under way the next one gathers, so that a slow disk makes
// batches larger instead of senders slower. It waits for nothing else.
type batcher[T any] struct {
	queue chan T
	quit  chan struct{}
	once  sync.Once
	most  int         // in a batch
	bytes int         // in a batch, unless one alone has more
	size  func(T) int // of one, in bytes
}

// newBatcher returns a batcher whose queue holds room entries: add does not
// wait when no more than that can be unfinished at a time.
func newBatcher[T any](room, most, bytes int, size func(T) int) *batcher[T] {
	return &batcher[T]{queue: make(chan T, max(room, 1)), quit: make(chan struct{}), most: most, bytes: bytes, size: size}
}

// add hands one in. It reports false after close.
func (b *batcher[T]) add(one T) bool {
	select {
	case <-b.quit:
		return false
	default:
	}
	select {
	case b.queue <- one:
		return true
	case <-b.quit:
		return false
	}
}

// close ends run once it has done what was handed in before.
func (b *batcher[T]) close() { b.once.Do(func() { close(b.quit) }) }

// run calls do with one batch after the other until close.
func (b *batcher[T]) run(do func(batch []T)) {
	batch := make([]T, 0, b.most)
	for {
		var one T
		select {
		case one = <-b.queue:
		case <-b.quit:
			select {
			case one = <-b.queue:
			default:
				return
			}
		}
		for have := true; have; {
			batch, one, have = b.gather(batch[:0], one)
			do(batch)
			clear(batch)
		}
	}
}

// gather adds to the first one what waits behind it, up to the bounds. One that
// would exceed them in bytes is given back: it is the first of the next batch.
func (b *batcher[T]) gather(batch []T, first T) (_ []T, next T, have bool) {
	batch = append(batch, first)
	for size := b.size(first); len(batch) < b.most; {
		select {
		case one := <-b.queue:
			if size += b.size(one); size > b.bytes {
				return batch, one, true
			}
			batch = append(batch, one)
		default:
			return batch, next, false
		}
	}
	return batch, next, false
}
