// Package ctl is a program for operators, on the stores' own interface: look at
// aggregates, take a history out and in, and prove that one is whole.
//
// cmd/wowctl is that program alone. It shows events and stored snapshots as they
// are. An app that mounts it, with [Program.States], also shows states at any
// version or time, and verify also checks that events decode and snapshots equal
// what the events say:
//
//	os.Exit(ctl.Program{Store: store, States: ctl.States(r)}.Run(ctx, os.Args[2:], os.Stdout, os.Stderr))
//
// Nothing here writes to a history but import. retry, skip and edit ask the process
// that runs a consumer to do something about what it has parked.
package ctl

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/store"
)

// Exit codes.
const (
	Fine  = 0
	Wrong = 1 // something failed, or verify found something
	Usage = 2 // the command line was not understood
)

// Program is what the commands work on.
type Program struct {
	Name   string // how it is called, for help; default wowctl
	Store  store.Store
	States []*wow.StateType // that this program knows; may be empty
	In     io.Reader        // what "-" reads; default the standard input
}

// States lists the states of the aggregates that are registered with a runtime,
// which need not be started.
func States(r *wowrt.Runtime) []*wow.StateType {
	var all []*wow.StateType
	for _, a := range r.Handlers().Aggregates {
		all = append(all, a.State)
	}
	return all
}

// command is one of the program's.
type command struct {
	name, args, summary, help string
	takes                     [2]int // how many arguments at least and at most; -1 is any number
	prepare                   func(*flag.FlagSet) func(context.Context, *job) error
}

// job is one run of a command.
type job struct {
	Program
	args     []string
	in       io.Reader
	out, err io.Writer
}

func commands() []command {
	return []command{streams, show, state, export, imports, verify, parked, retry, skip, edit, backup}
}

// errUsage marks what is the command line's fault.
var errUsage = errors.New("")

func misused(format string, args ...any) error {
	return fmt.Errorf("%w"+format, append([]any{errUsage}, args...)...)
}

// Run runs one command and returns the exit code. It ends early when ctx does.
func (p Program) Run(ctx context.Context, args []string, out, errs io.Writer) int {
	if p.Name == "" {
		p.Name = "wowctl"
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		p.usage(out)
		if len(args) == 0 {
			return Usage
		}
		return Fine
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return p.run(ctx, c, args[1:], out, errs)
		}
	}
	fmt.Fprintf(errs, "%s: there is no command %q\n\n", p.Name, args[0])
	p.usage(errs)
	return Usage
}

func (p Program) run(ctx context.Context, c command, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := c.prepare(flags)
	err := flags.Parse(args)
	switch n := flags.NArg(); {
	case errors.Is(err, flag.ErrHelp):
		p.describe(out, c, flags)
		return Fine
	case err != nil:
		err = misused("%w", err)
	case n < c.takes[0] || c.takes[1] >= 0 && n > c.takes[1]:
		err = misused("%d arguments, and it takes %s", n, strings.TrimSpace(c.args))
	default:
		err = do(ctx, &job{Program: p, args: flags.Args(), in: cmp.Or[io.Reader](p.In, os.Stdin), out: out, err: errs})
	}
	if err == nil {
		return Fine
	}
	fmt.Fprintf(errs, "%s %s: %v\n", p.Name, c.name, err)
	if errors.Is(err, errUsage) {
		fmt.Fprintln(errs)
		p.describe(errs, c, flags)
		return Usage
	}
	return Wrong
}

func (p Program) usage(w io.Writer) {
	fmt.Fprintf(w, "Looks at a history of wow, moves it, and proves that it is whole.\n\nUsage:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s %s\n        %s\n", p.Name, strings.TrimSpace(c.name+" "+c.args), c.summary)
	}
	fmt.Fprintf(w, "\nMore about one: %s COMMAND -h. Exit codes: 0 fine, 1 failed or found wrong, 2 not understood.\n", p.Name)
}

func (p Program) describe(w io.Writer, c command, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: %s %s\n\n%s\n", p.Name, strings.TrimSpace(c.name+" "+c.args), c.summary)
	if c.help != "" {
		fmt.Fprintf(w, "\n%s", strings.ReplaceAll(c.help, "wowctl", p.Name))
	}
	declared := false
	flags.VisitAll(func(*flag.Flag) { declared = true })
	if declared {
		fmt.Fprint(w, "\nFlags:\n")
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
}

// target reads "context.aggregate/ID". The ID may have slashes of its own.
func target(tenant, text string) (wow.Target, error) {
	aggregate, id, ok := strings.Cut(text, "/")
	t := wow.Target{Tenant: tenant, Aggregate: aggregate, ID: id}
	if !ok || !strings.Contains(aggregate, ".") {
		return t, misused("%q is no aggregate: write context.aggregate/ID, as in shop.cart/c1", text)
	}
	if err := store.CheckTarget(t); err != nil {
		return t, misused("%w", err)
	}
	return t, nil
}

// page is how many commits are read at once.
const page = 500

// each calls f for every commit up to the heads that the shards have now, in
// the order of each shard.
func (j *job) each(ctx context.Context, f func(c *store.Commit) error) error {
	for shard := range j.Store.Shards() {
		head, err := j.Store.Head(ctx, shard)
		if err != nil {
			return err
		}
		bar := newProgress(j.err, head.Seq)
		for at := (wow.Position{Shard: shard}); at.Seq < head.Seq; {
			commits, err := j.Store.Read(ctx, at, page)
			if err != nil {
				return fmt.Errorf("reading behind position %v: %w", at, err)
			}
			if len(commits) == 0 {
				return fmt.Errorf("nothing is found behind position %v, and the head is %v", at, head)
			}
			for _, c := range commits {
				if c.Position.Seq > head.Seq {
					break
				}
				if err := f(c); err != nil {
					return err
				}
			}
			at = commits[len(commits)-1].Position
			bar.tell(min(at.Seq, head.Seq))
		}
		bar.end()
	}
	return nil
}
