// Command wowgen turns annotated Go types, or a wow.yaml, into typed
// dispatchers. Run wowgen -h for what it can do.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/wowgen/wow/gen/cli"
)

func main() {
	// A run lasts milliseconds and touches little: collecting garbage would
	// cost more than the memory does. The limit is for modules of any size.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wowgen:", err)
		os.Exit(cli.Usage)
	}
	os.Exit(cli.Main(cli.Env{Dir: dir, Stdout: os.Stdout, Stderr: os.Stderr}, os.Args[1:]))
}
