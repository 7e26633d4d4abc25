// Package executor runs messages one at a time per key, and different keys in
// parallel, on a fixed number of workers. It needs the standard library only.
//
//	e, err := executor.New(executor.Config{})
//	lane, err := executor.Open(e, executor.LaneConfig[string, Order]{Name: "orders"},
//		func(ctx context.Context, key string, o Order) executor.Outcome {
//			return executor.Done(save(o))
//		})
//	err = lane.Submit(ctx, o.ID, o)
//	err = e.Close(ctx)
//
// # What to call
//
//   - [New] or [Shared], then [Open] a lane for each receiver; [OpenShards] where
//     one lane's senders are too many.
//   - [Lane.Submit] waits for room, [Lane.TrySubmit] does not, [Lane.SubmitBatch]
//     hands over a fetch.
//   - A [Handler] answers [Done], or with a way to wait: [Await] and [AwaitKey]
//     inside the handler, [Later] for a callback, [Again] for a delay, [Offload]
//     for blocking work.
//   - [Lane.Close], [Executor.Close]: what was admitted is finished, or reported.
//   - [Executor.Stats] and [Executor.Keys] tell what is going on.
//
// All but the guarantees below is for readers of the source.
//
// # Guarantees
//
//   - Messages of one key and lane are handled one at a time, in the order of
//     their admission. The next starts only when the one before has finished,
//     however its handler waited in between.
//   - Different keys run in parallel, on at most Config.Workers workers for all
//     lanes together.
//   - A lane holds at most MaxInFlight unfinished messages (and Overflow more if
//     keys are bounded). When it is full, [Lane.Submit] waits and
//     [Lane.TrySubmit] refuses.
//   - A message that was refused never runs; one that was admitted runs exactly
//     once, or is reported by [Executor.Close].
//   - A key with many messages goes behind the others of its worker after
//     Throughput of them.
//   - A handler that waits in [Await], [Later], [Again] or [Offload] holds no
//     worker. One that blocks without saying so loses its worker after
//     StallAfter.
//   - A panic, or runtime.Goexit, in a handler is that message's error.
//   - Handlers that complete at once cost no allocation per message, and a key
//     without messages takes no memory.
//
// Not promised: that a key stays on one worker when its mailbox was empty in
// between, an order across lanes or processes, and exactly-once effects.
//
// # Words
//
// A lane is a receiver's door. Its sender's side has the credits of the window
// and a table of entries, one per key with unfinished messages. A slot is a
// worker: the right to run one handler, with a run queue of mailboxes. A carrier
// is a goroutine that holds a slot and can give it away in the middle of a
// handler. A port joins a lane and a slot by two rings: messages there,
// completions back. A turn is one visit of a carrier to a mailbox.
//
//	Submit -> entry -> port ring -> mailbox -> run queue -> turn -> handler
//	  ^                                                              |
//	  +-------- credits <- port ring of completions <----------------+
//
// # How it works
//
// Everything has one writer. The sending side (whoever holds the lane's lock,
// or the only sender) writes entries, credits and the heads of the rings; the
// owner of a slot writes its mailboxes and its run queue, in plain memory. They
// meet in the rings only. A ring has room for as many messages as the window has
// credits, so it cannot be full, and nobody checks.
//
// A new mailbox goes to the slot with the shortest expected wait, where a parked
// slot counts as 20 us: what a wake costs the waker in a virtual machine. It
// stays there until it is empty. There is no stealing: the sender, which knows
// what is outstanding where, balances as it places (place.go).
//
// A slot that runs dry looks on for a moment if that paid lately (spin.go) and
// parks. Credits come back in batches of 1/16 of the window; a sender that waits
// is woken when half of what a slot has of the lane is done, or it runs dry
// (window.go).
//
// An Await leaves the slot vacant, or to a spare carrier if mailboxes are
// queued; afterwards the handler gets it back in line (await.go). The monitor
// does the same to a handler that stalls (stall.go), and so does Close to one
// that must not be waited for. All of them, and the handler's return, must win
// one CAS on the slot's epoch, so just one of them has the slot.
//
// # The races
//
// Each is argued as a timeline where it is decided: the lost wake-up of a parked
// slot (port.notify), of a port that is no longer watched (slot.disarm), of a
// sender that waits (lane.await) and of a closer (lane.checkEmpty); a stall
// against a return (carrier.reclaim); a vacant slot that its handler and a
// bringer of work both want (slot.give); a mailbox that another worker gets
// while its completion is published (carrier.finish); a completion that is
// faster than its handler (pend); what a carrier may still read when it has given
// its slot up (view); a carrier that comes back to a closed slot (slot.release).
// schedule_test.go runs small scenarios through all of them in orders that a
// seed decides.
//
// # Rejected
//
// Measured on two cores, a handler that does nothing, 1,000 keys, 256 messages
// in flight; ns per message.
//
//   - A channel per worker, keys hashed to them: 100, and a slow key blocks its
//     shard.
//   - A mutex and a queue per key, ready queue for N workers: 262.
//   - A goroutine and a channel per key: 150 to 500, and 5 KB per key.
//   - A lock-free queue per mailbox, many senders to many workers: 128 for the
//     hand-over alone. With one writer per ring there is one store per message.
//   - A set-associative table instead of chains: slower by 5 to 10; it
//     mispredicts, and half its sets overflow.
//   - Waking the next worker as soon as one message is queued: 10 slower, and a
//     core more. A wake is worth 20 us of waiting.
//   - Spinning always instead of when it pays: twice the time of a sender that
//     parks, as it needs the P.
//   - An inbox with tickets in front of many senders: up to 40 less with eight of
//     them, but a worker must route, so a message waits for one that is in a
//     handler while others are free. A lock held for some 30 ns per message, and
//     one per batch in SubmitBatch, has no such case.
//
// # Bounds
//
// Workers 1 to 1024; window 1 to 1<<20; throughput 1 to 65,536; offload
// goroutines 10 per worker. Up to 16 messages between two looks at the ports;
// up to 16 credits held back by a turn, and one once a handler of the lane was
// seen to wait; 4 ports watched by a parked slot; 4 spare carriers kept per
// slot; 8 slots looked at for a new mailbox; 1 slot that spins, for 150 us; 20
// looks before a single sender parks; 1,000 keys in a report of Close. What
// waits for an offload goroutine is bounded by the windows.
//
// # Many cores
//
// Slots share nothing: a message moves two or three cache lines between the
// sender's core and the worker's. What is shared is a lane's sending side, by
// its senders: some 30 ns a message under the lock, and on different cores the
// time that the lock's line and the table's take to move, so about 6 million a
// second. [Shards] divides a receiver's keys among lanes for more; SubmitBatch
// pays once per batch. A lane has a port for each slot it has used, 6 KB at a
// window of 256. Placement looks at 8 slots, not all. The completions of a lane
// are read by its sender alone. bench/README.md has the estimate for 64 cores.
package executor
