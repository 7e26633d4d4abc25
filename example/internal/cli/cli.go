// Package cli gives the examples one face: subcommands with flags, help that
// helps, and exit codes. 0 is fine, 1 means that something went wrong, 2 that
// the command line was not understood.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Program is an example with its subcommands. The first is run when none is
// named.
type Program struct {
	Name     string // how it is called: "go run ./example/shop"
	Summary  string
	Commands []Command
}

// Command is one subcommand.
type Command struct {
	Name    string
	Args    string // of the usage line: "[-n N]"
	Summary string // one line, as in "Sends N commands."
	Help    string // what -h says besides; may be empty
	Free    bool   // it reads the rest of the command line itself: flags.Args
	// Prepare declares the flags and returns what is run once they are set.
	// An error of it is written to Err, and the exit code is 1, or 2 for an
	// error of Usage. When ctx ends, it finishes what it has begun and returns
	// nil.
	Prepare func(flags *flag.FlagSet) func(ctx context.Context, s Streams) error
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the program with the arguments and streams of the process.
//
// A reader of the output that goes away is a failed write like others, so that
// what the program has made for itself is put away.
func (p *Program) Main() {
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(p.Run(context.Background(), os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}))
}

// Run runs the program and returns its exit code.
func (p *Program) Run(ctx context.Context, args []string, s Streams) int {
	c := &p.Commands[0]
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		if args[0] == "help" {
			p.usage(s.Out)
			return 0
		}
		if c = p.find(args[0]); c == nil {
			fmt.Fprintf(s.Err, "%s: there is no command %q\n\n", p.Name, args[0])
			p.usage(s.Err)
			return 2
		}
		args = args[1:]
	} else if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		p.usage(s.Out)
		return 0
	}
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	run := c.Prepare(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		p.help(s.Out, c, flags)
		return 0
	case err == nil && flags.NArg() > 0 && !c.Free:
		err = fmt.Errorf("%q is one argument too many", flags.Arg(0))
		fallthrough
	case err != nil:
		fmt.Fprintf(s.Err, "%s %s: %v\n\n", p.Name, c.Name, err)
		p.help(s.Err, c, flags)
		return 2
	}
	err := run(ctx, s)
	if err == nil {
		return 0
	}
	if code := (Exit(0)); errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(s.Err, "%s %s: %v\n", p.Name, c.Name, err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// Exit is the error of a command that has said itself what went wrong: the exit
// code.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Usage makes one error of everything that is wrong with the values of flags,
// nil if nothing is.
func Usage(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

type usageError struct{ error }

func (p *Program) find(name string) *Command {
	for i := range p.Commands {
		if p.Commands[i].Name == name {
			return &p.Commands[i]
		}
	}
	return nil
}

func (p *Program) usage(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage:\n", p.Summary)
	for _, c := range p.Commands {
		fmt.Fprintf(w, "  %s %s\n        %s\n", p.Name, strings.TrimSpace(c.Name+" "+c.Args), c.Summary)
	}
	fmt.Fprintf(w, "\nWithout a command it is %s. More about one: %s COMMAND -h\n", p.Commands[0].Name, p.Name)
}

func (p *Program) help(w io.Writer, c *Command, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: %s %s\n\n%s\n", p.Name, strings.TrimSpace(c.Name+" "+c.Args), c.Summary)
	if c.Help != "" {
		fmt.Fprintf(w, "\n%s", c.Help)
	}
	declared := 0
	flags.VisitAll(func(*flag.Flag) { declared++ })
	if declared > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
}
