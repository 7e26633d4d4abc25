package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// CrashCycles is how many cycles Crash runs: WOW_CRASH_CYCLES, or 10.
func CrashCycles() int {
	if n, err := strconv.Atoi(os.Getenv("WOW_CRASH_CYCLES")); err == nil && n > 0 {
		return n
	}
	return 10
}

// crashWriters is how many writers a child has. Each owns an aggregate, and
// all of them share one more.
const crashWriters = 4

// Crash kills a process that appends, again and again, at random moments, and
// holds the store to what the process had been told: nothing acknowledged is
// lost, no position and no version is missing or double, and a request takes
// effect once, whatever became of its answer.
//
// child returns a command that opens the store, calls CrashChild with it and
// the process's standard output, and ends only when it is killed. open opens
// the store in this process, when no child runs.
func Crash(t *testing.T, cycles int, child func(ctx context.Context) *exec.Cmd, open Open) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := &witness{acked: map[string]ack{}}
	for cycle := range cycles {
		w.live(t, child(t.Context()), time.Duration(rnd.IntN(200))*time.Millisecond)
		if t.Failed() {
			t.Fatalf("cycle %d of %d, seed %d", cycle+1, cycles, seed)
		}
		s := open(t)
		w.check(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if t.Failed() {
			t.Fatalf("cycle %d of %d, seed %d", cycle+1, cycles, seed)
		}
	}
	if len(w.acked) == 0 {
		t.Errorf("no commit was acknowledged in %d cycles: the children never got to work", cycles)
	}
	t.Logf("%d kills, %d acknowledged commits, %d acknowledged refusals, %d commits in the log: 0 lost, 0 gaps, 0 doubled",
		cycles, len(w.acked), len(w.refused), w.length)
}

// ack is what a child was told about a commit.
type ack struct {
	target  string
	version int64
	seq     int64
	request string
}

// witness stands outside of the store and remembers what was acknowledged.
type witness struct {
	acked   map[string]ack // by commit ID
	refused []store.Settlement
	length  int
}

// live lets a child work for a while after it has opened the store, kills it
// and takes down what it said.
func (w *witness) live(t *testing.T, cmd *exec.Cmd, d time.Duration) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	kill := func() { once.Do(func() { _ = cmd.Process.Kill() }) }
	guard := time.AfterFunc(patience, kill) // a child that does not even start
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		switch f[0] {
		case "ready":
			defer time.AfterFunc(d, kill).Stop()
		case "stored":
			if len(f) == 6 {
				version, _ := strconv.ParseInt(f[3], 10, 64)
				seq, _ := strconv.ParseInt(f[4], 10, 64)
				w.acked[f[1]] = ack{target: f[2], version: version, seq: seq, request: f[5]}
			}
		case "refused":
			if len(f) == 4 {
				version, _ := strconv.ParseInt(f[2], 10, 64)
				w.refused = append(w.refused, kept(f[1], version, store.Refused, f[3]))
			}
		default:
			t.Errorf("child: %s", lines.Text())
		}
	}
	kill()
	_ = cmd.Wait()
	if !guard.Stop() {
		t.Errorf("a child did not end within %s", patience)
	}
}

// check compares the store with what was acknowledged.
func (w *witness) check(t *testing.T, s store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log := readAll(t, ctx, s, 0)
	if len(log) < w.length {
		t.Errorf("the log had %d commits and has %d", w.length, len(log))
	}
	w.length = len(log)
	stored, versions, requests := map[string]*store.Commit{}, map[wow.Target]int64{}, map[string]string{}
	for i, c := range log {
		if c.Position.Seq != int64(i)+1 {
			t.Fatalf("position %s where %d was to come", c.Position, i+1)
		}
		if c.Version != versions[c.Target]+1 {
			t.Fatalf("%s version %d after %d", c.Target, c.Version, versions[c.Target])
		}
		versions[c.Target] = c.Version
		if other, double := requests[key(c.Target, c.Request)]; double && c.Request != "" {
			t.Fatalf("request %s of %s came to commits %s and %s", c.Request, c.Target, other, c.ID)
		}
		requests[key(c.Target, c.Request)] = c.ID
		if stored[c.ID] != nil {
			t.Fatalf("commit %s is there twice", c.ID)
		}
		stored[c.ID] = c
	}
	for id, a := range w.acked {
		c := stored[id]
		switch {
		case c == nil:
			t.Errorf("commit %s (%s version %d) was acknowledged at %d and is lost", id, a.target, a.version, a.seq)
		case c.Position.Seq != a.seq || c.Version != a.version || c.Target.ID != a.target || c.Request != a.request:
			t.Errorf("commit %s was acknowledged as %+v and is %s version %d at %s", id, a, c.Target, c.Version, c.Position)
		}
	}
	if len(w.refused) > 0 {
		last := w.refused[max(0, len(w.refused)-100):]
		settled, err := s.Settle(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range settled {
			if d.First == nil || *d.First != last[i].Outcome {
				t.Errorf("the refusal of %s was acknowledged and is now %+v", last[i].Outcome.Request, d.First)
			}
		}
	}
}

// CrashChild appends and refuses until it is killed, and says on out what it
// was told, one line each, right after it was told.
//
// At the start each writer sends the last request of its aggregate again, as a
// sender would that never got the answer: it must be found, not done twice.
func CrashChild(s store.Store, out io.Writer) error {
	ctx := context.Background()
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format+"\n", args...)
	}
	say("ready")
	errs := make(chan error)
	for i := range crashWriters {
		go func() { errs <- crashWriter(ctx, s, fmt.Sprint("w", i), say) }()
		go func() { errs <- crashSharer(ctx, s, say) }()
	}
	err := <-errs
	say("%v", err)
	return err
}

func stored(say func(string, ...any), c *store.Commit) {
	say("stored\t%s\t%s\t%d\t%d\t%s", c.ID, c.Target.ID, c.Version, c.Position.Seq, c.Request)
}

// crashWriter is the only writer of an aggregate: its appends are chains.
func crashWriter(ctx context.Context, s store.Store, id string, say func(string, ...any)) error {
	history, err := s.Stream(ctx, cart(id), 0, 1<<20)
	if err != nil {
		return err
	}
	head := int64(len(history))
	if head > 0 {
		again := requested(cart(id), head+1, history[head-1].Request)
		if r := s.Append(ctx, []*store.Commit{again})[0]; r.Status != store.Repeated || r.First.Version != head {
			return fmt.Errorf("the last request of %s, sent again, is %s %+v (%v)", id, r.Status, r.First, r.Err)
		}
	}
	for {
		var chain []*store.Commit
		for range 1 + rand.IntN(4) {
			head++
			chain = append(chain, requested(cart(id), head, fmt.Sprint("r", head)))
		}
		for i, r := range s.Append(ctx, chain) {
			if r.Status != store.Stored {
				return fmt.Errorf("%s version %d: %s %v", id, chain[i].Version, r.Status, r.Err)
			}
			stored(say, chain[i])
		}
		refusal := kept(id, head, store.Refused, fmt.Sprint("refused", head))
		settled, err := s.Settle(ctx, []store.Settlement{refusal})
		if err != nil {
			return err
		}
		if settled[0].First == nil {
			say("refused\t%s\t%d\t%s", id, head, refusal.Outcome.Request)
		}
	}
}

// crashSharer is one of several writers of an aggregate.
func crashSharer(ctx context.Context, s store.Store, say func(string, ...any)) error {
	version := int64(1)
	for {
		c := commit(cart("shared"), version)
		switch r := s.Append(ctx, []*store.Commit{c})[0]; r.Status {
		case store.Stored:
			stored(say, c)
			version++
		case store.Conflict:
			version = r.Head + 1
		default:
			return fmt.Errorf("shared version %d: %s %v", version, r.Status, r.Err)
		}
	}
}
