// Command mutants plants bugs in a package, one at a time, and shows that the
// package's tests catch each of them. A test suite that has never failed has
// proved nothing.
//
//	go run ./internal/mutants                  # all of them
//	go run ./internal/mutants -only 'parks'    # those whose name matches
//
// It works on copies: the tree is not touched.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"
)

//go:embed executor.mutants
var planted string

func main() {
	only := flag.String("only", "", "plant only those whose name matches")
	root := flag.String("root", ".", "folder of the module")
	parallel := flag.Int("parallel", runtime.NumCPU(), "mutants at a time")
	flag.Parse()
	if err := run(*root, *only, *parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, only string, parallel int) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("mutants: reading -only: %w", err)
	}
	all, err := parse(planted)
	if err != nil {
		return err
	}
	pkg, err := read(root, "executor")
	if err != nil {
		return err
	}
	began := time.Now()
	if v := pkg.calm(); v.kind != survived {
		return fmt.Errorf("mutants: the tests fail without a mutant: %s\n%s", v.by, v.output[:min(len(v.output), 3000)])
	}
	fmt.Printf("%-65s %s\n", "(no change at all)", "passes")
	var wg sync.WaitGroup
	var mu sync.Mutex
	count := map[kind]int{}
	room := make(chan struct{}, parallel)
	for _, m := range all {
		if !pattern.MatchString(m.name) {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			v := pkg.try(m)
			mu.Lock()
			defer mu.Unlock()
			count[v.kind]++
			fmt.Printf("%-65s %v\n", m.name, v)
			<-room
		})
	}
	wg.Wait()
	fmt.Printf("%d caught, %d survived, %d stale or broken, in %v\n",
		count[caught], count[survived], count[broken], time.Since(began).Round(time.Second))
	if bad := count[survived] + count[broken]; bad > 0 || count[caught] == 0 {
		return fmt.Errorf("mutants: %d of %d were not caught", bad, bad+count[caught])
	}
	return nil
}
