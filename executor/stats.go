package executor

import "slices"

// Stats is a picture of an executor, taken without stopping anything: its
// figures are not of one moment.
type Stats struct {
	Workers    []WorkerStats `json:"workers"`
	Lanes      []LaneStats   `json:"lanes"`
	Offload    OffloadStats  `json:"offload"`
	Stalls     uint64        `json:"stalls"`      // workers taken from handlers that blocked
	DonePanics uint64        `json:"done_panics"` // of lanes' Done functions
}

// WorkerStats tells about one worker.
type WorkerStats struct {
	State  string `json:"state"`   // running, parked, vacant (its handler waits) or closed
	Queue  int    `json:"queue"`   // mailboxes queued, lately
	Held   int    `json:"held"`    // messages bound to it and unfinished
	Wakes  uint64 `json:"wakes"`   // goroutines woken or started for it
	NsEach int    `json:"ns_each"` // a message, lately
}

// LaneStats tells about one lane.
type LaneStats struct {
	Name     string `json:"name"`
	Window   int    `json:"window"`
	InFlight int    `json:"in_flight"` // of the window
	Overflow int    `json:"overflow"`  // messages beyond their keys' bound
	Admitted uint64 `json:"admitted"`  // to the window
	Finished uint64 `json:"finished"`
	Blocked  uint64 `json:"blocked"` // admissions that had to wait for room
	Stalls   uint64 `json:"stalls"`
}

// OffloadStats tells about the offload pool.
type OffloadStats struct {
	Goroutines int    `json:"goroutines"`
	Idle       int    `json:"idle"`
	Queued     int    `json:"queued"`
	Waiting    int    `json:"waiting"` // beyond the queue's bound, in their mailboxes
	Ran        uint64 `json:"ran"`     // and running or queued
	Waited     uint64 `json:"waited"`  // of them, that found the queue full
}

var stateNames = [...]string{slotHeld: "running", slotParked: "parked", slotSeating: "running", slotVacant: "vacant", slotClosed: "closed"}

// Stats returns a picture of the executor. See [Executor.Keys] for its keys.
func (e *Executor) Stats() Stats {
	e.mu.Lock()
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	st := Stats{Stalls: e.stalls.Load(), DonePanics: e.donePanics.Load(), Offload: e.pool.stats()}
	for _, s := range e.slots {
		st.Workers = append(st.Workers, WorkerStats{
			State: stateNames[s.state.Load()], Queue: int(s.length.Load()), Wakes: s.wakes.Load(), NsEach: int(s.cost.Load()),
		})
	}
	for _, l := range lanes {
		ls := LaneStats{Name: l.name, Window: int(l.window), Overflow: int(l.spilt.Load()), Blocked: l.blocked.Load(), Stalls: l.stalls.Load()}
		for i := range l.ports {
			if p := l.ports[i].Load(); p != nil {
				finished := p.finished.Load()
				admitted := p.pub.Load()
				ls.Admitted += admitted
				ls.Finished += finished
				ls.InFlight += int(admitted - finished)
				st.Workers[i].Held += int(admitted - finished)
			}
		}
		st.Lanes = append(st.Lanes, ls)
	}
	return st
}

func (o *pool) stats() OffloadStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	queued := min(o.queued, o.e.cfg.OffloadQueue)
	return OffloadStats{Goroutines: o.goroutines, Idle: len(o.idle), Queued: queued, Waiting: o.queued - queued, Ran: o.ran, Waited: o.waited}
}
