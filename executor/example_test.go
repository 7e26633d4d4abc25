package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wowgen/wow/executor"
)

// open is New and Open for examples.
func open(done func(string, int, error), h executor.Handler[string, int]) (*executor.Executor, *executor.Lane[string, int]) {
	e, err := executor.New(executor.Config{Workers: 2})
	if err != nil {
		panic(err)
	}
	l, err := executor.Open(e, executor.LaneConfig[string, int]{Name: "example", Done: done}, h)
	if err != nil {
		panic(err)
	}
	return e, l
}

func send(l *executor.Lane[string, int], key string, msgs ...int) {
	for _, m := range msgs {
		if err := l.Submit(context.Background(), key, m); err != nil {
			panic(err)
		}
	}
}

func finish(e *executor.Executor) {
	if err := e.Close(context.Background()); err != nil {
		panic(err)
	}
}

// The messages of a key come in order, however they interleave with others'.
func Example() {
	var mu sync.Mutex
	got := map[string][]int{}
	e, lane := open(nil, func(_ context.Context, key string, m int) executor.Outcome {
		mu.Lock()
		defer mu.Unlock()
		got[key] = append(got[key], m)
		return executor.Done(nil)
	})
	for m := range 4 {
		send(lane, "a", m)
		send(lane, "b", m*10)
	}
	finish(e)
	fmt.Println(got["a"], got["b"])
	// Output: [0 1 2 3] [0 10 20 30]
}

// Wait in the middle of a handler as you would anywhere, but in Await.
func ExampleAwait() {
	e, lane := open(nil, func(ctx context.Context, key string, m int) executor.Outcome {
		answer, err := executor.Await(ctx, func(context.Context) (int, error) {
			time.Sleep(time.Millisecond) // a call to another service
			return m * 2, nil
		})
		fmt.Println(key, answer)
		return executor.Done(err)
	})
	send(lane, "a", 21)
	finish(e)
	// Output: a 42
}

// Let somebody else finish the message: a callback, a group commit.
func ExampleLater() {
	var pending []executor.Completion
	var mu sync.Mutex
	e, lane := open(func(_ string, m int, err error) { fmt.Println(m, err) },
		func(ctx context.Context, _ string, m int) executor.Outcome {
			outcome, completion := executor.Later(ctx)
			mu.Lock()
			defer mu.Unlock()
			if pending = append(pending, completion); len(pending) == 3 { // commit all three
				for _, c := range pending {
					go c.Complete(executor.Done(nil))
				}
			}
			return outcome
		})
	send(lane, "a", 1)
	send(lane, "b", 2)
	send(lane, "c", 3)
	finish(e)
	// Unordered output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

// Try again after a while: a conflict, a service that is busy.
func ExampleAgain() {
	tries := 0
	e, lane := open(nil, func(_ context.Context, _ string, m int) executor.Outcome {
		if tries++; tries < 3 {
			return executor.Again(time.Duration(tries) * time.Millisecond)
		}
		fmt.Println("message", m, "after", tries, "tries")
		return executor.Done(nil)
	})
	send(lane, "a", 7)
	finish(e)
	// Output: message 7 after 3 tries
}

// Block as long as you like, on a goroutine for that.
func ExampleOffload() {
	e, lane := open(func(_ string, _ int, err error) { fmt.Println(err) },
		func(context.Context, string, int) executor.Outcome {
			return executor.Offload(func(context.Context) executor.Outcome {
				time.Sleep(time.Millisecond) // a library that knows no contexts
				return executor.Done(errors.New("no space left"))
			})
		})
	send(lane, "a", 1)
	finish(e)
	// Output: no space left
}

// A saga that would wait for its own key gets an error and no deadlock.
func ExampleAwaitKey() {
	var lane *executor.Lane[string, int]
	e, lane := open(nil, func(ctx context.Context, key string, m int) executor.Outcome {
		answer := make(chan int)
		_, err := executor.AwaitKey(ctx, lane, key, func(context.Context) (int, error) { return <-answer, nil })
		fmt.Println(err)
		return executor.Done(err)
	})
	send(lane, "a", 1)
	finish(e)
	// Output: executor: handler waits for a message behind itself
}

// Per-key order in any consumer loop: batches in, acknowledgements out.
func ExampleLane_SubmitBatch() {
	type record struct {
		partition, offset int
		key               string
	}
	acks := make(chan int, 100)
	e, err := executor.New(executor.Config{})
	if err != nil {
		panic(err)
	}
	lane, err := executor.Open(e, executor.LaneConfig[string, record]{
		Name:         "payments",
		SingleSender: true, // the loop below
		PerKey:       16,   // a stuck key does not stop the loop
		Overflow:     1000,
		Done:         func(_ string, r record, err error) { acks <- r.offset },
	}, func(ctx context.Context, key string, r record) executor.Outcome {
		return executor.Done(nil) // handle it
	})
	if err != nil {
		panic(err)
	}
	fetch := func(at int) (batch []executor.Entry[string, record]) {
		for i := range 4 {
			r := record{0, at + i, fmt.Sprint("k", i%2)}
			batch = append(batch, executor.Entry[string, record]{Key: r.key, Msg: r})
		}
		return batch
	}
	for at := 0; at < 12; at += 4 { // the consumer loop: it waits here when the window is full
		if _, err := lane.SubmitBatch(context.Background(), fetch(at)); err != nil {
			panic(err)
		}
	}
	finish(e)
	close(acks)
	sum := 0
	for offset := range acks {
		sum += offset
	}
	fmt.Println("acknowledged offsets add up to", sum)
	// Output: acknowledged offsets add up to 66
}

// Stop with a deadline, and learn what was left.
func ExampleExecutor_Close() {
	e, lane := open(nil, func(ctx context.Context, _ string, _ int) executor.Outcome {
		outcome, _ := executor.Later(ctx) // nobody completes it
		return outcome
	})
	send(lane, "a", 1, 2)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var left *executor.LeftError
	if err := e.Close(ctx); errors.As(err, &left) {
		fmt.Println(left.Total, left.Keys)
	}
	// Output: 2 [{example a 2}]
}
