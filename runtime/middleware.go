package runtime

import (
	"context"

	"github.com/wowgen/wow"
)

// Next sends a command on: to the middleware inside, in the end to the
// aggregate. It returns its answer.
type Next func(ctx context.Context, c *Command) (Receipt, error)

// Middleware wraps the sending of commands: to say who may send what, to fill
// in a tenant, to keep an audit. It may change the command's metadata, send it
// more than once, answer in its place, or look at the answer. It runs on the
// sender's goroutine, before the command is validated.
type Middleware func(next Next) Next

// On is a middleware for one type of command, typed; others pass it by.
//
//	runtime.On(func(ctx context.Context, c *wow.Command[shop.PayOrder], next func(context.Context) (runtime.Receipt, error)) (runtime.Receipt, error) {
//		if !mayPay(ctx) {
//			return runtime.Receipt{}, wow.Refuse("forbidden", "log in first")
//		}
//		return next(ctx)
//	})
func On[C wow.Sendable](f func(ctx context.Context, c *wow.Command[C], next func(context.Context) (Receipt, error)) (Receipt, error)) Middleware {
	return func(next Next) Next {
		return func(ctx context.Context, c *Command) (Receipt, error) {
			body, ok := c.Body.(C)
			if !ok {
				return next(ctx, c)
			}
			typed := &wow.Command[C]{CommandMeta: c.CommandMeta, Data: body}
			return f(ctx, typed, func(ctx context.Context) (Receipt, error) {
				c.CommandMeta, c.Body = typed.CommandMeta, typed.Data
				return next(ctx, c)
			})
		}
	}
}

// chained returns all middleware around the sending itself, or nil if there is
// none.
func (r *Runtime) chained() Next {
	if len(r.cfg.Middleware) == 0 && r.cfg.Bus == nil {
		return nil
	}
	next := func(ctx context.Context, c *Command) (Receipt, error) {
		f := r.flights.get()
		f.Command = *c
		return r.send(ctx, f)
	}
	if r.cfg.Bus != nil {
		next = r.publish
	}
	for i := len(r.cfg.Middleware) - 1; i >= 0; i-- {
		if m := r.cfg.Middleware[i]; m != nil { // Start reports it
			next = m(next)
		}
	}
	return next
}
