// Package story lets an example tell what happens in it: on the left of a line
// what was done, on the right what came of it.
//
//	s.Tell("Ann takes 2 tea").Did(carts.AddItem(ctx, …, wowrt.WaitFor(wowrt.Projected)))
//	  Ann takes 2 tea                    shop.cart/ann: version 1, item_added
//
// The text is the same each time as long as the example waits for what it
// shows. A real app seldom waits.
package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/store"
)

// Story is one telling. After the first error, or the end of its context, it is
// silent.
type Story struct {
	ctx     context.Context
	runtime *wowrt.Runtime
	out     io.Writer
	err     error
}

// New begins a story about what r does.
func New(ctx context.Context, r *wowrt.Runtime, out io.Writer) *Story {
	return &Story{ctx: ctx, runtime: r, out: out}
}

// Play plays chapters until the context ends, and returns what went wrong. The
// end of the context is told and is no error.
func (s *Story) Play(chapters ...func()) error {
	for _, chapter := range chapters {
		if s.ctx.Err() == nil && s.err == nil {
			chapter()
		}
	}
	if s.ctx.Err() != nil {
		_, err := fmt.Fprint(s.out, "\nInterrupted. What was sent is finished.\n")
		return err
	}
	return s.err
}

// OK notes an error and reports whether there was none so far.
func (s *Story) OK(err error) bool {
	if s.err == nil {
		s.err = err
	}
	return s.err == nil
}

// Print prints a line as it is.
func (s *Story) Print(format string, args ...any) {
	if s.err == nil && s.ctx.Err() == nil {
		_, err := fmt.Fprintf(s.out, format+"\n", args...)
		s.OK(err)
	}
}

// Title begins a chapter and says what it shows.
func (s *Story) Title(text, shows string) { s.Print("\n%s\n  (%s)", text, shows) }

// Tell begins a line. What it is about was done before, as an argument of Did.
func (s *Story) Tell(text string) Line { return Line{s, text} }

// Line is a line whose left side is told.
type Line struct {
	s    *Story
	left string
}

// width is that of the left side. A longer one gets a line of its own.
const width = 34

// Say ends the line with a text.
func (l Line) Say(format string, args ...any) {
	if len(l.left) > width {
		l.s.Print("  %s:", l.left)
		l.left = ""
	}
	l.s.Print("  %-*s %s", width, l.left, fmt.Sprintf(format, args...))
}

// Did ends the line with what a command came to. An error of the command is
// told and is none of the story.
func (l Line) Did(r wowrt.Receipt, err error) {
	var refused *wow.Refusal
	switch {
	case errors.As(err, &refused):
		l.Say("refused, %s: %s", refused.Code, refused.Message)
	case err != nil:
		l.Say("%v", err)
	case r.Repeated:
		l.Say("%s: version %d, as before", r.Target, r.Version)
	case r.Commit == "":
		l.Say("%s: version %d, nothing to do", r.Target, r.Version)
	default:
		commits, err := l.s.runtime.Store().Read(l.s.ctx, wow.Position{Shard: r.Position.Shard, Seq: r.Position.Seq - 1}, 1)
		l.commit(commits, err)
	}
}

// Happened ends the line with the newest commit of an aggregate.
func (l Line) Happened(t wow.Target) {
	const enough = 1000 // a story has no longer histories where it shows the last of one
	commits, err := l.s.runtime.Store().Stream(l.s.ctx, t, 0, enough)
	l.commit(commits, err)
}

// commit tells the last of some commits.
func (l Line) commit(commits []*store.Commit, err error) {
	if err == nil && len(commits) == 0 {
		err = errors.New("story: looking for what happened: there is no commit")
	}
	if !l.s.OK(err) {
		return
	}
	last := commits[len(commits)-1]
	events := make([]string, len(last.Events))
	for i, e := range last.Events {
		events[i] = e.Name
	}
	l.Say("%s: version %d, %s", last.Target, last.Version, strings.Join(events, ", "))
}
