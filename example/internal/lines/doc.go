// Package lines drives an app with a file: one JSON command per line comes in,
// one JSON result per line goes out, in the same order.
//
//	{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":2}}
//	{"line":1,"id":"c1","version":1,"stage":"PROCESSED"}
//
// A line that is no good gets a result with a code and a message, and the rest
// goes on. Commands for different aggregates run at the same time, those for
// one aggregate in the order of their lines.
package lines

import "time"

const (
	// MaxLine is the longest line, in bytes.
	MaxLine = 1 << 20
	// DefaultWindow is how many lines are under way at the same time.
	DefaultWindow = 64
	maxWindow     = 1 << 16
	// DefaultTimeout is how long one command may take.
	DefaultTimeout = 10 * time.Second
)

// Format is the help text about lines and results.
const Format = `One JSON object per line on standard input:
  {"command":"NAME","id":"ID","body":{...},"request":"KEY","version":N}
    command   what to do, as in the list below
    id        of the aggregate that does it
    body      the command's own fields; may be left out when it has none
    request   optional: the same key again takes effect once
    version   optional: do it only when the aggregate is at this version
Empty lines are skipped. A line has at most 1 MiB.

One JSON object per line on standard output, in the order of the input:
  {"line":1,"id":"ID","version":2,"stage":"PROCESSED"}
  {"line":2,"id":"ID","code":"CODE","message":"what went wrong"}
A request that had its effect before adds "repeated":true. Lines that fail do not
end the run, nor change its exit code.
Commands for one id run one after the other, others at the same time.
`
