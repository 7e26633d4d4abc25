package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// A saga can delay a command: it is stored with the saga's progress as a timer
// and sent when that is due.
//
//	function returns -> SetTimers -> (wait) -> Timers -> mailbox of the aggregate -> send -> done
//
// Setting is part of handling the commit, so it happens again when that is
// handled again, and changes nothing then: a timer remembers which commit set
// it. Sending uses the request ID that the command would have had without the
// delay, so a command that is sent twice, by a process that died or by two that
// both think it is theirs, takes effect once.

// What a function sets, and what is set in answer to a refusal of it, is in one
// order: a step of the commit has orderOfStep places, each thing that it sets
// orderStep, for what is set when that is refused.
const (
	orderStep   = 1 << 12
	orderOfStep = 1 << 32
)

const (
	// timerPage is how many delayed commands of a saga are sent at once.
	timerPage = 32
	// timerBehind is how long it waits while it has not read yet what happened
	// before it began.
	timerBehind = 20 * time.Millisecond
	// timerLook is how long a saga waits at most before it looks for delayed
	// commands again: another process may have set them.
	timerLook = 30 * time.Second
	// A delayed command that fails is put off by timerRetry, then by twice as
	// much each time, up to timerRetryMax. One whose aggregate has parked
	// messages waits for timerLook: what is parked may take it back.
	timerRetry    = time.Second
	timerRetryMax = 5 * time.Minute
)

// delays keeps what a saga wants sent later.
type delays struct {
	store   store.Timers
	command func(aggregate, name string) (*wow.CommandType, error)
	wake    chan struct{} // holds a token when there may be something due earlier
}

// delayed is what is stored of a command that is delayed. It is frozen: fields
// are added, never changed.
type delayed struct {
	Tenant    string          `json:"tenant,omitempty"` // of the commit that the saga answered
	Aggregate string          `json:"aggregate"`
	ID        string          `json:"id"`
	Version   int64           `json:"version"`
	Event     int             `json:"event"` // in the commit, from 0
	Function  string          `json:"function"`
	Cause     string          `json:"cause"` // see sagaRequest
	Chain     int             `json:"chain"`
	Request   string          `json:"request"`
	To        string          `json:"to"` // the aggregate that decides it
	Command   string          `json:"command"`
	Key       string          `json:"key"`
	Body      json.RawMessage `json:"body"`
}

// timer returns what is stored of a delay.
func (sg *saga) timer(d wow.Deferred, request string, to *reply) (store.Timer, error) {
	name, after, cmd := d.Deferred()
	t := store.Timer{Consumer: sg.name, Name: name, Position: to.cause.Position, Index: *to.order}
	*to.order += orderStep
	if cmd == nil {
		return t, store.CheckTimer(&t)
	}
	kind := cmd.WowCommand()
	if kind == nil || kind.Decode == nil {
		return t, fmt.Errorf("a %T cannot be delayed: %w", cmd, wow.ErrInvalid)
	}
	body, err := json.Marshal(cmd)
	if err != nil {
		return t, fmt.Errorf("encoding %T, to be sent later: %w", cmd, err)
	}
	from := to.cause.Target
	t.Data, err = json.Marshal(delayed{
		Tenant: from.Tenant, Aggregate: from.Aggregate, ID: from.ID, Version: to.cause.Version, Event: to.cause.Index,
		Function: to.function, Cause: to.causeID, Chain: to.chain, Request: request,
		To: kind.Aggregate, Command: kind.Name, Key: cmd.WowTarget().ID, Body: body,
	})
	t.Due = max(1, to.cause.Time.Add(after).UnixMicro())
	return t, errors.Join(err, store.CheckTimer(&t))
}

// set stores timers, and has the saga look when the first of them is due.
func (ds *delays) set(ctx context.Context, timers []store.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	_, err := executor.Await(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, ds.store.SetTimers(ctx, timers)
	})
	if err != nil {
		return fmt.Errorf("runtime: storing what is to be sent later: %w", err)
	}
	nudge(ds.wake)
	return nil
}

// sendDelayed sends what is due until ctx ends.
func (c *consumer) sendDelayed(ctx context.Context, f *feed, m *watermark) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	under := flying{names: map[string]bool{}}
	defer under.all.Wait()
	for tries := 0; ctx.Err() == nil; {
		wait, err := c.sendDue(ctx, f, m, &under)
		if err == nil {
			err = under.fault()
		}
		if err == nil {
			tries = 0
			pause.Reset(wait)
			await(ctx, pause.C, c.saga.later.wake)
			continue
		}
		tries++
		if ctx.Err() == nil && !c.stopping.Load() {
			c.env.out.Error("delayed commands are left for later: the store fails", "consumer", c.name, "error", err)
		}
		pause.Reset(pauseBefore(tries, readRetry, readRetryMax))
		await(ctx, pause.C, nil)
	}
}

// flying are the delayed commands that are being sent, at most timerPage. One
// that takes long holds no other up.
type flying struct {
	all   sync.WaitGroup
	mu    sync.Mutex
	names map[string]bool
	err   error // of one that the store failed
}

// begin reports whether a timer may be sent now.
func (fl *flying) begin(name string) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.names[name] || len(fl.names) >= timerPage {
		return false
	}
	fl.names[name] = true
	return true
}

func (fl *flying) end(name string, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	delete(fl.names, name)
	if err != nil {
		fl.err = err
	}
}

func (fl *flying) fault() (err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	err, fl.err = fl.err, nil
	return err
}

// sendDue begins to send a page of what is due, and returns how long to wait
// before the next look; the end of each that is sent is another occasion.
//
// What a process finds at its start is not sent before it has read what happened
// meanwhile: that may take it back.
func (c *consumer) sendDue(ctx context.Context, f *feed, m *watermark, under *flying) (time.Duration, error) {
	if c.held() {
		return timerLook, nil // or until it is roused
	}
	if m.checkpoint() < f.knew {
		return timerBehind, nil
	}
	page, err := c.saga.later.store.Timers(ctx, c.name, math.MaxInt64, 2*timerPage)
	if err != nil {
		return 0, err
	}
	now := time.Now().UnixMicro()
	for i := range page {
		t := &page[i]
		if t.Due > now {
			// A little too late is harmless, too early means another look.
			return min(timerLook, time.Duration(t.Due-now+1)*time.Microsecond), nil
		}
		if !under.begin(t.Name) {
			continue
		}
		under.all.Go(func() {
			err := c.sendTimer(ctx, t)
			under.end(t.Name, err)
			nudge(c.saga.later.wake)
		})
	}
	return timerLook, nil
}

// sendTimer sends one delayed command, in the mailbox of the aggregate that it
// was set for: what takes it back is handled before or after, not meanwhile. Its
// error is the store's; a command that fails is put off.
func (c *consumer) sendTimer(ctx context.Context, t *store.Timer) error {
	var d delayed
	if err := json.Unmarshal(t.Data, &d); err != nil {
		return c.putOff(ctx, t, fmt.Errorf("reading it: %w", err))
	}
	from := wow.Target{Tenant: d.Tenant, Aggregate: d.Aggregate, ID: d.ID}
	return c.ask(ctx, &wish{timer: true, target: from, reply: make(chan error, 1), do: func(ctx context.Context, c *consumer, _ wow.Target) error {
		now, err := c.saga.later.store.Timer(ctx, c.name, t.Name)
		if err != nil {
			return err
		}
		if now == nil || now.Position != t.Position || now.Index != t.Index || now.Due != t.Due {
			return nil // taken back or replaced since
		}
		if c.blocks.blocked(from) {
			wait := *t
			wait.Due = time.Now().Add(timerLook).UnixMicro()
			return c.saga.later.store.SetTimers(ctx, []store.Timer{wait})
		}
		if err := guarded(func() error { return c.saga.sendNow(ctx, c, t, &d) }); err != nil {
			return c.putOff(ctx, t, err)
		}
		done := *t
		done.Due, done.Data = 0, nil
		return c.saga.later.store.SetTimers(ctx, []store.Timer{done})
	}})
}

// putOff has a delayed command that failed tried again later.
func (c *consumer) putOff(ctx context.Context, t *store.Timer, cause error) error {
	if c.stopping.Load() || ctx.Err() != nil {
		return nil // it is due at the next start
	}
	again := *t
	again.Attempts++
	wait := pauseBefore(again.Attempts, timerRetry, timerRetryMax)
	again.Due = time.Now().Add(wait).UnixMicro()
	c.env.out.Error("sending a delayed command failed, trying again", "consumer", c.name, "name", t.Name,
		"attempt", again.Attempts, "after", wait, "error", cause)
	nudge(c.saga.later.wake)
	return c.saga.later.store.SetTimers(ctx, []store.Timer{again})
}

// sendNow sends a delayed command and what the saga answers to its refusal. A
// refusal that no method takes is an outcome: the usual fate of a time-out that
// comes too late.
func (sg *saga) sendNow(ctx context.Context, c *consumer, t *store.Timer, d *delayed) error {
	from := wow.Target{Tenant: d.Tenant, Aggregate: d.Aggregate, ID: d.ID}
	commits, err := c.env.store.Stream(ctx, from, d.Version-1, 1)
	if err != nil {
		return err
	}
	if len(commits) == 0 || commits[0].Position != t.Position {
		return fmt.Errorf("runtime: the commit of %s that set it is not in the history", from)
	}
	kind, err := sg.later.command(d.To, d.Command)
	if err != nil {
		return err
	}
	cmd, err := kind.Decode(json.Unmarshal, d.Key, d.Body)
	if err != nil {
		return fmt.Errorf("runtime: decoding %s.%s: %w", d.To, d.Command, err)
	}
	order := t.Index + 1
	if part := t.Index % orderOfStep; part < orderOfStep/2 { // behind all that its function set
		order = t.Index - part + orderOfStep/2 + part
	}
	to := &reply{
		function: d.Function, causeID: d.Cause, chain: d.Chain, order: &order,
		cause: wow.EventMeta{CommitMeta: commitMeta(commits[0]), Index: d.Event},
	}
	caused := withCause(ctx, &to.cause.CommitMeta, to.cause.ID(), to.chain)
	err = sg.send(caused, cmd, d.Request)
	if err == nil || !isRefusal(err) {
		return err
	}
	if sg.table.refusal(kind) == nil {
		return nil
	}
	return sg.refused(ctx, cmd, wow.RefusalOf(err), d.Request, to)
}
