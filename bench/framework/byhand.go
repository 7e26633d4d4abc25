package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
)

// byHand is the floor: what somebody writes who needs nothing but this. A
// worker per shard of the accounts, an append with a version check, JSON, a
// goroutine that projects.
type byHand struct {
	queues   []chan *job
	balances [accounts]int64
	versions [accounts]int
	mu       sync.Mutex // of the log
	log      []entry
	stored   [accounts]int
	events   chan entry
	jobs     sync.Pool
	n, sum   atomic.Int64
	workers  sync.WaitGroup
	reader   sync.WaitGroup
}

type job struct {
	account int
	amount  int64
	done    chan error
}

type entry struct {
	account, version int
	data             []byte
}

type paidIn struct {
	Amount  int64 `json:"amount"`
	Balance int64 `json:"balance"`
}

func openByHand() (system, error) {
	s := &byHand{events: make(chan entry, 1024), queues: make([]chan *job, 8)}
	s.jobs.New = func() any { return &job{done: make(chan error, 1)} }
	for i := range s.queues {
		q := make(chan *job, 256)
		s.queues[i] = q
		s.workers.Go(func() {
			for j := range q {
				j.done <- s.handle(j.account, j.amount)
			}
		})
	}
	s.reader.Go(func() {
		for e := range s.events {
			var d paidIn
			if json.Unmarshal(e.data, &d) == nil {
				s.sum.Add(d.Amount)
				s.n.Add(1)
			}
		}
	})
	return s, nil
}

func (s *byHand) deposit(_ context.Context, account int, amount int64) error {
	j := s.jobs.Get().(*job)
	j.account, j.amount = account, amount
	s.queues[account%len(s.queues)] <- j
	err := <-j.done
	s.jobs.Put(j)
	return err
}

func (s *byHand) handle(account int, amount int64) error {
	if amount <= 0 {
		return errors.New("not positive")
	}
	data, err := json.Marshal(paidIn{amount, s.balances[account] + amount})
	if err != nil {
		return err
	}
	e := entry{account, s.versions[account] + 1, data}
	if err := s.append(e); err != nil {
		return err
	}
	s.versions[account]++
	s.balances[account] += amount
	s.events <- e
	return nil
}

func (s *byHand) append(e entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored[e.account]+1 != e.version {
		return errors.New("conflict")
	}
	s.stored[e.account]++
	s.log = append(s.log, e)
	return nil
}

func (s *byHand) projected() (int64, int64) { return s.n.Load(), s.sum.Load() }

func (s *byHand) close() error {
	for _, q := range s.queues {
		close(q)
	}
	s.workers.Wait()
	close(s.events)
	s.reader.Wait()
	return nil
}
