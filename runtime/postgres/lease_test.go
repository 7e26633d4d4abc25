package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
)

// Real processes, as one test of them may not see what another does: three of
// them run three consumers, are killed, and are stopped for longer than their
// leases last.

// childConsumers is the DSN on which a process of this test runs consumers.
const childConsumers = "WOW_POSTGRES_CONSUMERS"

type ticked struct{}

func (ticked) WowEvent() *wow.EventType { return &tickedEvent }

var tickedEvent = wow.EventType{Aggregates: []string{"lease.clock"}, Name: "ticked", Revision: 1,
	Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) { return ticked{}, nil }}

// sight is what a process says that it has handled.
type sight struct {
	Process  string
	Consumer string
	Seq      int64
	At       time.Time
}

// runConsumers is the process: it says each commit that it handles, until its
// input ends.
func runConsumers(dsn string) error {
	s, err := postgres.Open(context.Background(), dsn, postgres.Config{})
	if err != nil {
		return err
	}
	r := wowrt.New(wowrt.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	for i := range 3 {
		name := fmt.Sprint("lease.processor.p", i)
		r.AddProcessor(wowrt.Processor{
			Name:      name,
			Functions: []wowrt.Function{{Name: "on_ticked", Event: &tickedEvent}},
			OnEvent: func(_ context.Context, in *wowrt.Recorded, _ *wowrt.Reaction) error {
				mu.Lock()
				defer mu.Unlock()
				return out.Encode(sight{os.Getenv("WOW_NAME"), name, in.Position.Seq, time.Now()})
			},
		})
	}
	return wowrt.Main(context.Background(), r, func(context.Context) error {
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

// fleet is the processes, and what they have said.
type fleet struct {
	t     *testing.T
	dsn   string
	mu    sync.Mutex
	said  []sight
	procs map[string]*exec.Cmd
	stdin map[string]io.Closer
	read  sync.WaitGroup
}

func (f *fleet) start(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childConsumers+"="+f.dsn, "WOW_NAME="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(f.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, cmd.Start())
	f.procs[name], f.stdin[name] = cmd, in
	f.read.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s sight
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				continue // cut off by a kill
			}
			f.mu.Lock()
			f.said = append(f.said, s)
			f.mu.Unlock()
		}
	})
}

// since are the processes that handled something of each consumer from a
// position on.
func (f *fleet) since(seq int64) map[string]map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	by := map[string]map[string]bool{}
	for _, s := range f.said {
		if s.Seq >= seq {
			if by[s.Consumer] == nil {
				by[s.Consumer] = map[string]bool{}
			}
			by[s.Consumer][s.Process] = true
		}
	}
	return by
}

// eventually waits until ok, at most for a time, and says how long that took.
func (f *fleet) eventually(most time.Duration, what string, ok func() bool) time.Duration {
	f.t.Helper()
	begun := time.Now()
	for !ok() {
		if time.Since(begun) > most {
			f.t.Fatalf("%s: not within %v; the last commits were handled by %v", what, most, f.since(0))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(begun)
}

func TestThreeProcessesRunEachConsumerOnce(t *testing.T) {
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{})
	f := &fleet{t: t, dsn: dsn, procs: map[string]*exec.Cmd{}, stdin: map[string]io.Closer{}}
	t.Cleanup(func() {
		for name, p := range f.procs {
			_ = p.Process.Signal(syscall.SIGCONT)
			f.stdin[name].Close()
			_ = p.Wait()
		}
		f.read.Wait()
	})
	var version int64
	tick := func() int64 {
		version++
		c := &store.Commit{Target: wow.Target{Aggregate: "lease.clock", ID: "c"}, Version: version, ID: uuid.NewString(), DecidedAt: time.Now().UnixMicro(),
			Events: []store.Event{{Name: "ticked", Revision: 1, Codec: store.JSON, Data: []byte("{}")}}}
		r := s.Append(t.Context(), []*store.Commit{c})
		require.Equal(t, store.Stored, r[0].Status, r[0].Err)
		return r[0].Position.Seq
	}
	// all have handled a new commit, one process for each consumer, and each
	// process as many as it should.
	spread := func(names int) func() bool {
		return func() bool {
			at := tick()
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				by, who := f.since(at), map[string]bool{}
				for _, by := range by {
					for p := range by {
						who[p] = true
					}
				}
				if len(by) == 3 && len(who) == names {
					return true
				}
			}
			return false
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		f.start(name)
	}
	t.Logf("spread over three after %v", f.eventually(30*time.Second, "each process runs one consumer", spread(3)))
	at := version
	for range 20 {
		tick()
	}
	f.eventually(5*time.Second, "all have handled 20 commits", func() bool { return len(f.since(at+20)) == 3 })
	for consumer, who := range f.since(at + 1) {
		require.Len(t, who, 1, "%s runs in one process", consumer)
	}

	require.NoError(t, f.procs["b"].Process.Kill())
	_ = f.procs["b"].Wait()
	at = tick()
	took := f.eventually(15*time.Second, "the others take over after kill -9", func() bool { return len(f.since(at)) == 3 })
	t.Logf("taken over after %v", took)

	// c sleeps for longer than its lease lasts, wakes up, and is late.
	require.NoError(t, f.procs["c"].Process.Signal(syscall.SIGSTOP))
	at = tick()
	f.eventually(15*time.Second, "a takes over from one that sleeps", func() bool { return len(f.since(at)) == 3 })
	require.NoError(t, f.procs["c"].Process.Signal(syscall.SIGCONT))
	f.eventually(30*time.Second, "the two divide them again", spread(2))

	// Each consumer has seen each commit, in order, and is where it should be.
	last := tick()
	f.eventually(5*time.Second, "all have handled the last commit", func() bool { return len(f.since(last)) == 3 })
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range 3 {
		name := fmt.Sprint("lease.processor.p", i)
		seen, twice := map[int64]int{}, 0
		for _, s := range f.said {
			if s.Consumer == name {
				seen[s.Seq]++
			}
		}
		for seq := int64(1); seq <= last; seq++ {
			require.NotZero(t, seen[seq], "%s has not seen %d", name, seq)
			twice += seen[seq] - 1
		}
		t.Logf("%s: %d commits, %d handled twice", name, last, twice)
	}
}
