package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wowgen/wow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put is the command of the tests.
type put struct {
	BoxID string
	N     int
}

var (
	putType  = &wow.CommandType{Aggregate: "test.box", Name: "put", Decode: decodePut}
	sendType = &wow.CommandType{Aggregate: "test.box", Name: "send", Decode: decodePut}
	otherPut = &wow.CommandType{Aggregate: "test.bag", Name: "send", Decode: decodePut}
)

func decodePut(decode wow.Unmarshal, key string, body []byte) (wow.Sendable, error) {
	var c put
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	if c.BoxID == "" {
		c.BoxID = key
	}
	return c, nil
}

func (put) WowCommand() *wow.CommandType { return putType }
func (c put) WowTarget() wow.Target      { return wow.Target{Aggregate: "test.box", ID: c.BoxID} }

// counting answers with how many commands a box has seen.
func counting() func(context.Context, Command) (Answer, error) {
	var mu sync.Mutex
	seen := map[string]int64{}
	return func(_ context.Context, c Command) (Answer, error) {
		p := c.Body.(put)
		if p.N < 0 {
			return Answer{}, wow.Refuse("too_few", "%d is too few", p.N)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[p.BoxID]++
		return Answer{Version: seen[p.BoxID], Stage: "PROCESSED"}, nil
	}
}

func run(t *testing.T, d *Driver, in io.Reader) string {
	t.Helper()
	var out bytes.Buffer
	if err := d.Run(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEachLineGetsItsResult(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"a command", `{"command":"put","id":"b1","body":{"N":1}}` + "\n", `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"no body", `{"command":"put","id":"b1"}` + "\n", `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"a qualified name", `{"command":"box.put","id":"b1"}`, `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"the end without a line end", `{"command":"put","id":"b1"}`, `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"a byte order mark", "\ufeff" + `{"command":"put","id":"b1"}`, `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"CRLF", "{\"command\":\"put\",\"id\":\"b1\"}\r\n\r\n{\"command\":\"put\",\"id\":\"b1\"}\r\n",
			`{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}` + "\n" + `{"line":3,"id":"b1","version":2,"stage":"PROCESSED"}`},
		{"empty lines", "\n\n  \t\n{\"command\":\"put\",\"id\":\"b1\"}\n\n", `{"line":4,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"a refusal", `{"command":"put","id":"b1","body":{"N":-1}}`, `{"line":1,"id":"b1","code":"too_few","message":"-1 is too few"}`},
		{"no JSON", `hello`, `{"line":1,"code":"invalid","message":"reading the line: not JSON at byte 1: invalid character 'h' looking for beginning of value: invalid"}`},
		{"half an object", `{"command":"put"`, `{"line":1,"code":"invalid","message":"reading the line: the JSON ends too early: invalid"}`},
		{"two objects", `{"command":"put","id":"b1"} {}`, `{"line":1,"id":"b1","code":"invalid","message":"reading the line: something follows the JSON value, from byte 30: invalid"}`},
		{"an array", `[1]`, `{"line":1,"code":"invalid","message":"reading the line: got array, want an object: invalid"}`},
		{"null", `null`, `{"line":1,"code":"invalid","message":"\"command\" is missing: name one of put, test.bag.send, test.box.send: invalid"}`},
		{"an unknown field", `{"command":"put","ID":"b1","extra":1}`, `{"line":1,"id":"b1","code":"invalid","message":"reading the line: unknown field \"extra\": invalid"}`},
		{"an unknown command", `{"command":"pot","id":"b1"}`, `{"line":1,"id":"b1","code":"unknown_type","message":"there is no command \"pot\", only put, test.bag.send, test.box.send: unknown type"}`},
		{"an ambiguous command", `{"command":"send","id":"b1"}`, `{"line":1,"id":"b1","code":"unknown_type","message":"several commands are called \"send\": name one of test.box.send, test.bag.send: unknown type"}`},
		{"no command", `{"id":"b1"}`, `{"line":1,"id":"b1","code":"invalid","message":"\"command\" is missing: name one of put, test.bag.send, test.box.send: invalid"}`},
		{"no id", `{"command":"put"}`, `{"line":1,"code":"invalid","message":"\"id\" is missing: say which aggregate does it: invalid"}`},
		{"a wrong kind of id", `{"command":"put","id":7}`, `{"line":1,"code":"invalid","message":"reading the line: field \"id\": got number, want string: invalid"}`},
		{"a wrong version", `{"command":"put","id":"b1","version":-1}`, `{"line":1,"id":"b1","code":"invalid","message":"\"version\" is -1: the first is 1: invalid"}`},
		{"an unknown field in the body", `{"command":"put","id":"b1","body":{"M":1}}`, `{"line":1,"id":"b1","code":"invalid","message":"reading the body of put: unknown field \"M\": invalid"}`},
		{"a wrong kind in the body", `{"command":"put","id":"b1","body":{"N":"1"}}`, `{"line":1,"id":"b1","code":"invalid","message":"reading the body of put: field \"N\": got string, want int: invalid"}`},
		{"a body that is no object", `{"command":"put","id":"b1","body":[]}`, `{"line":1,"id":"b1","code":"invalid","message":"reading the body of put: got array, want an object: invalid"}`},
		{"two ids", `{"command":"put","id":"b1","body":{"BoxID":"b2"}}`, `{"line":1,"id":"b1","code":"invalid","message":"\"id\" is \"b1\" and the body says \"b2\": leave it out of the body: invalid"}`},
		{"no UTF-8", "{\"command\":\"put\",\"id\":\"\xff\"}", `{"line":1,"code":"invalid","message":"the line is not UTF-8: byte 24 is 0xff: invalid"}`},
		{"a long line", strings.Repeat("x", MaxLine+1) + "\n" + `{"command":"put","id":"b1"}`,
			`{"line":1,"code":"invalid","message":"the line is longer than 1048576 bytes: invalid"}` + "\n" + `{"line":2,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"the longest line", `{"command":"put","id":"b1"}` + strings.Repeat(" ", MaxLine-27) + "\r\n", `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`},
		{"a line of NULs", "\x00\x00\n", `{"line":1,"code":"invalid","message":"reading the line: not JSON at byte 1: invalid character '\\x00' looking for beginning of value: invalid"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			types := []*wow.CommandType{putType, sendType, otherPut}
			for _, window := range []int{1, 2, 64} {
				d := &Driver{Commands: types, Send: counting(), Window: window}
				if got := strings.TrimSuffix(run(t, d, iotest.HalfReader(strings.NewReader(c.in))), "\n"); got != c.want {
					t.Errorf("window %d:\ngot  %s\nwant %s", window, got, c.want)
				}
			}
		})
	}
}

func TestTheRestGoesOnAfterBadLines(t *testing.T) {
	in := "{\n{\"command\":\"put\",\"id\":\"b1\"}\n\xff\n{\"command\":\"put\",\"id\":\"b1\"}"
	got := run(t, &Driver{Commands: []*wow.CommandType{putType}, Send: counting()}, strings.NewReader(in))
	for i, want := range []string{`"code":"invalid"`, `"version":1`, `"code":"invalid"`, `"version":2`} {
		if line := strings.Split(got, "\n")[i]; !strings.Contains(line, want) {
			t.Errorf("line %d: got %s, want %s", i+1, line, want)
		}
	}
}

func TestOneIDRunsInOrderAndOthersBeside(t *testing.T) {
	const lines = 500
	var in strings.Builder
	for i := range lines {
		fmt.Fprintf(&in, `{"command":"put","id":"b%d","body":{"N":%d}}`+"\n", i%7, i)
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		last, running, most := map[string]int{}, 0, 0
		d := &Driver{Commands: []*wow.CommandType{putType}, Window: 16, Send: func(_ context.Context, c Command) (Answer, error) {
			p := c.Body.(put)
			mu.Lock()
			if n, ok := last[p.BoxID]; ok && n >= p.N {
				t.Errorf("box %s: %d came after %d", p.BoxID, p.N, n)
			}
			last[p.BoxID] = p.N
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Duration(p.N%5) * time.Millisecond)
			mu.Lock()
			running--
			mu.Unlock()
			return Answer{Version: int64(p.N) + 1}, nil
		}}
		got := strings.Split(strings.TrimSpace(run(t, d, strings.NewReader(in.String()))), "\n")
		if len(got) != lines {
			t.Fatalf("got %d results, want %d", len(got), lines)
		}
		for i, line := range got {
			if want := fmt.Sprintf(`{"line":%d,"id":"b%d","version":%d}`, i+1, i%7, i+1); line != want {
				t.Fatalf("result %d: got %s, want %s", i+1, line, want)
			}
		}
		if most != 7 {
			t.Errorf("at most %d commands ran at the same time, want 7: one for each box", most)
		}
	})
}

func TestTheWindowBoundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		d := &Driver{Commands: []*wow.CommandType{putType}, Window: 4, Send: func(context.Context, Command) (Answer, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return Answer{}, nil
		}}
		var in strings.Builder
		for i := range 50 {
			fmt.Fprintf(&in, `{"command":"put","id":"b%d"}`+"\n", i)
		}
		run(t, d, strings.NewReader(in.String()))
		if got := most.Load(); got != 4 {
			t.Errorf("%d commands were under way, want 4", got)
		}
	})
}

func TestACommandThatHangsTimesOutAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Driver{Commands: []*wow.CommandType{putType}, Timeout: time.Second, Send: func(ctx context.Context, c Command) (Answer, error) {
			if c.Body.(put).N == 0 {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}
			return Answer{Version: 1}, nil
		}}
		got := run(t, d, strings.NewReader(`{"command":"put","id":"b1"}`+"\n"+`{"command":"put","id":"b2","body":{"N":1}}`))
		want := `{"line":1,"id":"b1","code":"deadline_exceeded","message":"context deadline exceeded"}` + "\n" + `{"line":2,"id":"b2","version":1}` + "\n"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestCancellingFinishesWhatWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		var out bytes.Buffer
		started := make(chan struct{})
		d := &Driver{Commands: []*wow.CommandType{putType}, Send: func(ctx context.Context, c Command) (Answer, error) {
			close(started)
			time.Sleep(time.Second)
			return Answer{Version: 1}, ctx.Err()
		}}
		done := make(chan error)
		go func() { done <- d.Run(ctx, in, &out) }()
		io.WriteString(feed, `{"command":"put","id":"b1"}`+"\n")
		<-started
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		feed.Close() // ends the read that is under way
		if got, want := out.String(), `{"line":1,"id":"b1","version":1}`+"\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestAnInputThatBreaksIsReportedAfterItsResults(t *testing.T) {
	broken := errors.New("the wire is cut")
	in := io.MultiReader(strings.NewReader(`{"command":"put","id":"b1"}`+"\n"), iotest.ErrReader(broken))
	var out bytes.Buffer
	d := &Driver{Commands: []*wow.CommandType{putType}, Send: counting()}
	if err := d.Run(t.Context(), in, &out); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if got, want := out.String(), `{"line":1,"id":"b1","version":1,"stage":"PROCESSED"}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// shut is an output that nobody reads any more.
type shut struct{}

var errShut = errors.New("shut")

func (shut) Write([]byte) (int, error) { return 0, errShut }

func TestAnOutputThatBreaksStopsTheReading(t *testing.T) {
	in, feed := io.Pipe()
	done := make(chan error)
	d := &Driver{Commands: []*wow.CommandType{putType}, Send: counting()}
	go func() { done <- d.Run(t.Context(), in, shut{}) }()
	io.WriteString(feed, `{"command":"put","id":"b1"}`+"\n")
	if err := <-done; !errors.Is(err, errShut) {
		t.Errorf("got %v, want %v", err, errShut)
	}
	feed.Close()
}

func TestResultsAreThereAtOnce(t *testing.T) {
	in, feed := io.Pipe()
	out, results := io.Pipe()
	done := make(chan error)
	d := &Driver{Commands: []*wow.CommandType{putType}, Send: counting()}
	go func() {
		err := d.Run(t.Context(), in, results)
		results.Close()
		done <- err
	}()
	buf := make([]byte, 1000)
	for i := 1; i <= 3; i++ { // the input stays open, as at a terminal
		io.WriteString(feed, `{"command":"put","id":"b1"}`+"\n")
		n, err := out.Read(buf)
		if want := fmt.Sprintf(`{"line":%d,"id":"b1","version":%d,"stage":"PROCESSED"}`+"\n", i, i); err != nil || string(buf[:n]) != want {
			t.Errorf("got %s (%v), want %s", buf[:n], err, want)
		}
	}
	feed.Close()
	io.Copy(io.Discard, out)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func FuzzAnyInputGivesOneResultPerLine(f *testing.F) {
	f.Add([]byte("{\"command\":\"put\",\"id\":\"b1\"}\r\n\n[]\n\xff"))
	f.Add([]byte(`{"command":"put","id":"b1","body":{"N":-1},"request":"r","version":2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		d := &Driver{Commands: []*wow.CommandType{putType}, Send: counting(), Window: 3}
		if err := d.Run(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		want := 0
		for l := range bytes.SplitSeq(in, []byte("\n")) {
			if !blank(l) {
				want++
			}
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("got %d results, want %d", got, want)
		}
	})
}
