package lines

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/wowgen/wow"
)

// Answer is what a command came to.
type Answer struct {
	Version  int64
	Stage    string
	Repeated bool
}

// Driver turns lines into commands and answers into lines.
type Driver struct {
	// Commands are the types that lines may name.
	Commands []*wow.CommandType
	// Send sends one command and waits for its answer, or until ctx ends.
	Send func(ctx context.Context, c Command) (Answer, error)
	// Window bounds the lines under way: default DefaultWindow.
	Window int
	// Timeout bounds each command: default DefaultTimeout.
	Timeout time.Duration
}

// result is the form of a line of output.
type result struct {
	Line     int    `json:"line"`
	ID       string `json:"id,omitempty"`
	Version  int64  `json:"version,omitempty"`
	Stage    string `json:"stage,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
}

// job is a line under way. Its result is set before done is closed.
type job struct {
	result result
	done   chan struct{}
}

// Run reads lines until the input or ctx ends, lets what was read finish, and
// writes all results. The end of ctx is no error.
//
// A read cannot be interrupted: when ctx ends first, a goroutine stays behind
// until in returns from the read it is in.
func (d *Driver) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	if d.Window <= 0 {
		d.Window = DefaultWindow
	}
	if d.Timeout <= 0 {
		d.Timeout = DefaultTimeout
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	queue := make(chan *job, d.Window-1) // and one that the writer holds
	var written error
	var writer sync.WaitGroup
	writer.Go(func() {
		if written = write(queue, out); written != nil {
			stop() // nobody reads the results: read no more lines
			for range queue {
			}
		}
	})
	read := d.read(ctx, in, queue)
	close(queue)
	writer.Wait()
	return errors.Join(read, written)
}

// read parses lines and starts what they say, until the input or ctx ends.
func (d *Driver) read(ctx context.Context, in io.Reader, queue chan<- *job) error {
	type item struct {
		line
		err error
	}
	items := make(chan item)
	go func() { // ends with the input, or after the read that is under way
		for r := newReader(in); ; {
			l, err := r.next()
			select {
			case items <- item{l, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	commands := d.commands(ctx)
	defer commands.running.Wait()
	for {
		select {
		case i := <-items:
			switch {
			case errors.Is(i.err, io.EOF):
				return nil
			case i.err != nil:
				return fmt.Errorf("lines: reading the input: %w", i.err)
			case blank(i.text):
				continue
			}
			j := &job{done: make(chan struct{}), result: result{Line: i.number}}
			queue <- j // the writer always takes it in the end
			commands.start(j, i.line)
		case <-ctx.Done():
			return nil
		}
	}
}

// commands runs one goroutine per line under way.
type commands struct {
	*Driver
	ctx     context.Context
	running sync.WaitGroup
	mu      sync.Mutex
	last    map[wow.Target]chan struct{} // done of the last command of each aggregate under way
}

// commands outlive the end of ctx: what was read finishes.
func (d *Driver) commands(ctx context.Context) *commands {
	return &commands{Driver: d, ctx: context.WithoutCancel(ctx), last: map[wow.Target]chan struct{}{}}
}

// start begins what a line says. Only the goroutine that reads calls it, so
// the commands of one aggregate queue up in the order of their lines.
func (c *commands) start(j *job, l line) {
	id, cmd, err := c.parse(l)
	j.result.ID = id
	if err != nil {
		j.fail(err)
		close(j.done)
		return
	}
	target := cmd.Body.WowTarget()
	c.mu.Lock()
	before := c.last[target]
	c.last[target] = j.done
	c.mu.Unlock()
	c.running.Go(func() {
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.Timeout)
		defer cancel()
		if answer, err := c.Send(ctx, cmd); err != nil {
			j.fail(err)
		} else {
			j.result.Version, j.result.Stage, j.result.Repeated = answer.Version, answer.Stage, answer.Repeated
		}
		c.mu.Lock()
		if c.last[target] == j.done {
			delete(c.last, target)
		}
		c.mu.Unlock()
		close(j.done)
	})
}

func (j *job) fail(err error) { j.result.Code, j.result.Message = wow.Code(err), err.Error() }

// write writes results in the order of the queue. It flushes when the next one
// is not there yet, so that a person at a terminal sees each at once.
func write(queue <-chan *job, out io.Writer) error {
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for j := range queue {
		select {
		case <-j.done:
		default:
			if err := w.Flush(); err != nil {
				return fmt.Errorf("lines: writing results: %w", err)
			}
			<-j.done
		}
		if err := e.Encode(j.result); err != nil {
			return fmt.Errorf("lines: writing the result of line %d: %w", j.result.Line, err)
		}
		if len(queue) == 0 {
			if err := w.Flush(); err != nil {
				return fmt.Errorf("lines: writing results: %w", err)
			}
		}
	}
	return nil
}

// blank reports whether a line holds only white space.
func blank(text []byte) bool {
	for _, b := range text {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}
