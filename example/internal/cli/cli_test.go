package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
)

var program = Program{
	Name: "toy", Summary: "A toy.",
	Commands: []Command{
		{Name: "play", Summary: "Plays.", Prepare: func(f *flag.FlagSet) func(context.Context, Streams) error {
			return func(_ context.Context, s Streams) error { fmt.Fprintln(s.Out, "playing"); return nil }
		}},
		{Name: "load", Args: "[-n N]", Summary: "Works hard.", Help: "It takes a while.\n", Prepare: func(f *flag.FlagSet) func(context.Context, Streams) error {
			n := f.Int("n", 10, "how much")
			return func(_ context.Context, s Streams) error {
				switch {
				case *n > 100:
					return errors.New("it broke")
				case *n < 0:
					return Usage(nil, errors.New("less than nothing"))
				}
				fmt.Fprintln(s.Out, "loading", *n)
				return nil
			}
		}},
	},
}

func TestTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args     string
		code     int
		out, err string // what each must hold; "" is nothing at all
	}{
		{"", 0, "playing", ""},
		{"play", 0, "playing", ""},
		{"load", 0, "loading 10", ""},
		{"load -n 3", 0, "loading 3", ""},
		{"load -n 200", 1, "", "toy load: it broke"},
		{"load -n -3", 2, "", "toy load: less than nothing"},
		{"-h", 0, "toy load [-n N]", ""},
		{"--help", 0, "Without a command it is play.", ""},
		{"help", 0, "A toy.", ""},
		{"load -h", 0, "It takes a while.\n\nFlags:\n  -n int", ""},
		{"play -h", 0, "Plays.", ""},
		{"lode", 2, "", `toy: there is no command "lode"`},
		{"load -m", 2, "", "flag provided but not defined: -m"},
		{"load -n x", 2, "", `invalid value "x"`},
		{"load 3", 2, "", `"3" is one argument too many`},
		{"-x", 2, "", "toy play: flag provided but not defined: -x"},
	} {
		var out, err strings.Builder
		code := program.Run(t.Context(), strings.Fields(c.args), Streams{Out: &out, Err: &err})
		if code != c.code || !holds(out.String(), c.out) || !holds(err.String(), c.err) {
			t.Errorf("toy %s: exit %d, want %d; out %q, want %q; err %q, want %q", c.args, code, c.code, out.String(), c.out, err.String(), c.err)
		}
	}
}

func holds(text, part string) bool {
	return strings.Contains(text, part) && (part != "" || text == "")
}
