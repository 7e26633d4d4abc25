package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/emit"
	"github.com/wowgen/wow/gen/plan"
	"github.com/wowgen/wow/schema"
)

var explainCommand = command{
	name: "explain", usage: "explain NAME [patterns]", summary: "say what a type, command, event or consumer is, and why",
	example: "wowgen explain AddItem ./...\nwowgen explain shop.projection.cart_view ./...",
	flags: func(*flag.FlagSet) func(Env, []string) int {
		return func(env Env, args []string) int {
			if len(args) == 0 {
				return usage(env, fmt.Errorf("explain needs a name: a Go type or a wire name"))
			}
			r, code := planned(env, args[1:])
			if r == nil {
				return code
			}
			e := &explainer{env: env, w: env.Stdout, name: args[0], units: r.Program.Units}
			if e.explain() {
				return Fine
			}
			fmt.Fprintf(env.Stderr, "wowgen: nothing here is called %q", args[0])
			if similar := schema.Suggest(args[0], e.names); similar != "" {
				fmt.Fprintf(env.Stderr, ", did you mean %s?", similar)
			}
			fmt.Fprint(env.Stderr, "\nwowgen explain NAME ./... looks in all packages below.\n")
			return Usage
		}
	},
}

// explainer tells about everything that a name fits.
type explainer struct {
	env   Env
	w     io.Writer
	name  string
	units []*plan.Unit
	names []string // that would have fitted something
	first bool
}

// fits tells whether the user's name means something of these names.
func (e *explainer) fits(pkg *schema.Package, typ string, wire ...string) bool {
	all := append([]string{typ, pkg.Name + "." + typ, pkg.Path + "." + typ}, wire...)
	e.names = append(e.names, all...)
	return slices.Contains(all, e.name)
}

func (e *explainer) explain() bool {
	found := false
	for _, u := range e.units {
		p := u.Model
		for _, a := range p.Aggregates {
			if e.fits(p, a.Type, a.Name, a.FullName()) {
				e.aggregate(u, a)
				found = true
			}
			for _, h := range a.Handlers {
				if e.fits(p, h.Type) {
					e.title("handler type %s of the aggregate %s", h.Type, a.FullName())
					e.methods(u, h.Type)
					found = true
				}
			}
		}
		for _, c := range p.Commands {
			if e.fits(p, c.Type, c.Name, c.Target()+"/"+c.Name) {
				e.command(u, c)
				found = true
			}
		}
		for _, ev := range p.Events {
			wire := []string{ev.Name}
			for _, a := range ev.Aggregates {
				wire = append(wire, a+"/"+ev.Name)
			}
			if e.fits(p, ev.Type, wire...) {
				e.event(u, ev)
				found = true
			}
		}
		for _, c := range p.Consumers {
			if e.fits(p, c.Type, c.Name, c.FullName()) {
				e.consumer(u, c)
				found = true
			}
		}
	}
	return found
}

func (e *explainer) title(format string, args ...any) {
	if e.first {
		fmt.Fprintln(e.w)
	}
	e.first = true
	fmt.Fprintf(e.w, format+"\n", args...)
}

func (e *explainer) line(what, format string, args ...any) {
	fmt.Fprintf(e.w, "  %-12s %s\n", what, fmt.Sprintf(format, args...))
}

func (e *explainer) pos(p schema.Pos) string {
	return (&diag.Printer{Dir: e.env.Dir}).Where(p)
}

func (e *explainer) aggregate(u *plan.Unit, a *schema.Aggregate) {
	e.title("aggregate %s, its state is %s (%s)", a.FullName(), a.Type, e.pos(a.Pos))
	if a.Key != nil {
		e.line("key", "%s, set when the state is made", a.Key.Field)
	}
	if a.Snapshot > 0 {
		e.line("snapshot", "every %d commits", a.Snapshot)
	}
	for _, h := range a.Handlers {
		e.line("handlers", "%s", h.Type)
	}
	e.line("generated", "%sDispatcher, Register%s, %sClient", schema.Camel(a.Type), schema.Export(a.Type), schema.Export(a.Type))
	e.methods(u, a.Type)
}

// methods lists what became of every method of a type.
func (e *explainer) methods(u *plan.Unit, typ string) {
	for _, m := range u.Explained {
		if m.Type == typ {
			e.line(m.Role, "%s (%s)", m.Name, e.pos(m.Pos))
			e.line("", "%s", m.Why)
		}
	}
}

func (e *explainer) command(u *plan.Unit, c *schema.Command) {
	e.title("command %s (%s)", c.Type, e.pos(c.Pos))
	e.line("because", "%s", c.Why)
	e.line("wire name", "%s of %s, %s", c.Name, c.Target(), c.Mode)
	if c.Key.Method {
		e.line("key", "AggregateID()")
	} else {
		e.line("key", "%s", c.Key.Field)
	}
	for _, f := range []struct {
		name string
		key  *schema.Key
	}{{"tenant", c.Tenant}, {"version", c.Version}, {"request", c.Request}} {
		if f.key != nil {
			e.line(f.name, "%s", f.key.Field)
		}
	}
	here := schema.Ref{Path: u.Model.Path, Name: c.Type}
	for _, other := range e.units {
		for _, a := range other.Model.Aggregates {
			for i, d := range a.Decides {
				if d.Command != here {
					continue
				}
				recv, method := a.Type, emit.DispatchName(i)
				if d.On != nil {
					recv = d.On.Type
				}
				if d.Blocking {
					method = "offload" + schema.Export(c.Type)
				}
				e.line("decided by", "%s.%s (%s)%s", recv, d.Method, e.pos(d.Pos), options(&d.Call))
				e.line("", "%s", d.Why)
				e.line("generated", "%sDispatcher.%s, %sClient.%s", schema.Camel(a.Type), method, schema.Export(a.Type), schema.Export(c.Type))
			}
		}
		for _, consumer := range other.Model.Consumers {
			if slices.Contains(consumer.Sends, here) {
				e.line("sent by", "%s", consumer.FullName())
			}
			for _, f := range consumer.Functions {
				if f.Kind == schema.OnRefused && f.Message == here {
					e.line("refusals to", "%s.%s (%s)", consumer.Type, f.Method, e.pos(f.Pos))
				}
			}
		}
	}
}

func options(c *schema.Call) string {
	var parts []string
	if c.Blocking {
		pool := "the shared pool"
		if c.Pool != "" {
			pool = "the pool " + c.Pool
		}
		parts = append(parts, "blocking on "+pool)
	}
	if c.Retry != nil {
		parts = append(parts, "with a retry policy of its own")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

func (e *explainer) event(u *plan.Unit, ev *schema.Event) {
	e.title("event %s (%s)", ev.Type, e.pos(ev.Pos))
	e.line("because", "%s", ev.Why)
	e.line("wire name", "%s revision %d of %s", ev.Name, ev.Revision, strings.Join(ev.Aggregates, ", "))
	if ev.Newest != ev {
		e.line("read as", "%s, through %s", ev.Newest.Type, ev.Upcast)
	}
	here := schema.Ref{Path: u.Model.Path, Name: ev.Type}
	handled := false
	for _, other := range e.units {
		for _, a := range other.Model.Aggregates {
			for _, d := range a.Decides {
				for _, r := range d.Results {
					if r.Type == here && r.Kind != schema.Mixed {
						e.line("decided by", "%s for %s (%s)", d.Method, d.Command.Name, e.pos(d.Pos))
					}
				}
			}
			for _, apply := range a.Applies {
				if apply.Event == here {
					e.line("applied by", "%s.%s (%s)", a.Type, apply.Method, e.pos(apply.Pos))
				}
			}
		}
		for _, c := range other.Model.Consumers {
			for _, f := range c.Functions {
				if f.Kind == schema.OnEvent && f.Message == here {
					handled = true
					e.line("handled by", "%s.%s of %s (%s)%s", c.Type, f.Method, c.FullName(), e.pos(f.Pos), options(&f.Call))
				}
			}
		}
	}
	if !handled && ev.Newest == ev {
		e.line("handled by", "no consumer of these packages")
	}
}

func (e *explainer) consumer(u *plan.Unit, c *schema.Consumer) {
	e.title("%s %s, %s (%s)", c.Kind, c.FullName(), c.Type, e.pos(c.Pos))
	for _, f := range c.Functions {
		from := ""
		if f.From != "" {
			from = ", from " + f.From
		}
		e.line("function", "%s: %s takes %s%s (%s)%s", f.Name, f.Method, f.Message.Name, from, e.pos(f.Pos), options(&f.Call))
		e.line("", "%s", f.Why)
	}
	if c.Run != "" {
		e.line("progress", "in its own transactions, by %s and %s", c.Resume, c.Run)
	}
	for _, r := range c.Sends {
		e.line("sends", "%s", r.Name)
	}
	e.line("generated", "%sDispatcher, Register%s", schema.Camel(c.Type), schema.Export(c.Type))
	for _, m := range u.Explained {
		if m.Type == c.Type && m.Role != "handle" {
			e.line(m.Role, "%s (%s): %s", m.Name, e.pos(m.Pos), m.Why)
		}
	}
}
