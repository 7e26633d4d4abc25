package runtime

import "sync"

// batcher collects what many mailboxes hand in and does it in batches: while
// one batch is under way the next one gathers, so that a slow disk makes
// batches larger instead of senders slower. It waits for nothing else.
type batcher[T any] struct {
	queue chan T
	most  int         // in a batch
	bytes int         // in a batch, unless one alone has more
	size  func(T) int // of one, in bytes
	once  sync.Once
}

// newBatcher returns a batcher whose queue holds room entries. add never waits
// when no more than that can be unfinished at a time.
func newBatcher[T any](room, most, bytes int, size func(T) int) *batcher[T] {
	return &batcher[T]{queue: make(chan T, max(room, 1)), most: most, bytes: bytes, size: size}
}

func (b *batcher[T]) add(one T) { b.queue <- one }

// close ends run once the queue is empty. Nothing may be added after it.
func (b *batcher[T]) close() { b.once.Do(func() { close(b.queue) }) }

// run calls do with one batch after the other until close.
func (b *batcher[T]) run(do func(batch []T)) {
	batch := make([]T, 0, b.most)
	var held T // taken from the queue, and too large for the batch before
	have := false
	for {
		if !have {
			first, ok := <-b.queue
			if !ok {
				return
			}
			held = first
		}
		batch = append(batch[:0], held)
		have = false
		for size := b.size(held); len(batch) < b.most && !have; {
			select {
			case next, ok := <-b.queue:
				if !ok {
					do(batch)
					return
				}
				if size += b.size(next); size > b.bytes {
					held, have = next, true
					continue
				}
				batch = append(batch, next)
				continue
			default:
			}
			break
		}
		do(batch)
		clear(batch)
	}
}
