package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/golden"
	"github.com/wowgen/wow/example/internal/idle"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashing); dir != "" {
		fmt.Fprintln(os.Stderr, sell(dir))
		os.Exit(1)
	}
	if os.Getenv("SHOP_MAIN") != "" { // started by a test, to be the program
		main()
	}
	goleak.VerifyTestMain(m)
}

// shop runs the program as from a shell.
func shop(t *testing.T, in io.Reader, args ...string) (out, errs string, code int) {
	t.Helper()
	var o bytes.Buffer
	var e output
	code = program().Run(t.Context(), args, cli.Streams{In: in, Out: &o, Err: &e})
	return o.String(), e.String(), code
}

// output is a buffer that the progress and the log write to at the same time.
// It calls seen with all that is written.
type output struct {
	seen func(text string)
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	if o.seen != nil {
		o.seen(string(p))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// whenSeen returns an output that calls f once a text is written to it.
func whenSeen(text string, f func()) *output {
	return &output{seen: func(written string) {
		if strings.Contains(written, text) {
			f()
		}
	}}
}

func TestTheSessionTellsTheSameEachTime(t *testing.T) {
	golden.Session(t, program(), "testdata/session.txt")
}

func TestRunDoesWhatTheLinesSay(t *testing.T) { golden.Run(t, program(), "testdata/run") }

func TestASessionThatIsInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := whenSeen("Ann pays", cancel), new(bytes.Buffer)
	code := program().Run(ctx, nil, cli.Streams{Out: out, Err: errs})
	if code != 0 || errs.Len() > 0 || !strings.HasSuffix(out.String(), "\nInterrupted. What was sent is finished.\n") {
		t.Errorf("exit %d: %s%s", code, out.String(), errs)
	}
}

func TestAHandlerThatHangsTimesOutAndTheRestGoesOn(t *testing.T) {
	in := `{"command":"add_item","id":"c1","body":{"SKU":"frozen","Qty":1}}
{"command":"add_item","id":"c2","body":{"SKU":"tea","Qty":1}}
{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":1}}
`
	out, errs, code := shop(t, strings.NewReader(in), "run", "-timeout", "100ms")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	got := strings.Split(out, "\n")
	// Whether the handler or its sender gives up first is a race.
	if !strings.Contains(got[0], `"code":"deadline_exceeded"`) && !strings.Contains(got[0], `"code":"unknown_outcome"`) {
		t.Errorf("the command that hangs came to %s", got[0])
	}
	for i := 1; i <= 2; i++ {
		if !strings.Contains(got[i], `"version":1,"stage":"PROCESSED"`) {
			t.Errorf("the command after it came to %s", got[i])
		}
	}
}

func TestASecondRunFindsWhatTheFirstStored(t *testing.T) {
	dir := t.TempDir()
	line := `{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":2}}` + "\n"
	for version := 1; version <= 3; version++ {
		out, errs, code := shop(t, strings.NewReader(line), "run", "-data", dir)
		if want := fmt.Sprintf(`"version":%d,`, version); code != 0 || !strings.Contains(out, want) {
			t.Fatalf("exit %d: %s%s, want %s", code, out, errs, want)
		}
	}
	err := with(t.Context(), settings{data: dir, logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, a *app) error {
		if err := idle.Wait(ctx, a.runtime); err != nil {
			return err
		}
		seen, err := a.cartView.Seen(ctx)
		if cart, err := a.cartView.Cart(ctx, "c1"); err != nil || cart["tea"] != 6 || seen != 3 {
			t.Errorf("the view shows %v after %d events, %v", cart, seen, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for args, want := range map[string]string{
		"state -version 2 shop.cart/c1": `"Qty": 4`,
		"verify":                        "3 commits of 1 aggregates, 3 events; 1 replayed",
	} {
		out, errs, code := shop(t, nil, append([]string{"ctl", "-data", dir}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("ctl %s: exit %d: %s%s, want %s", args, code, out, errs, want)
		}
	}
	if _, errs, code := shop(t, nil, "ctl", "-data", dir, "show", "nobody"); code != 2 || !strings.Contains(errs, "write context.aggregate/ID") {
		t.Errorf("ctl show nobody: exit %d: %s", code, errs)
	}
	if _, errs, code := shop(t, nil, "session", "-data", dir); code != 1 || !strings.Contains(errs, "holds 3 commits already") {
		t.Errorf("a session on it: exit %d: %s", code, errs)
	}
}

func TestLoadLosesNothing(t *testing.T) {
	for _, aggregates := range []string{"1", "50"} {
		out, errs, code := shop(t, nil, "load", "-n", "3000", "-aggregates", aggregates, "-senders", "32")
		if code != 0 || !strings.Contains(out, "3000 commands") || !strings.HasSuffix(out, "nothing was lost\n") {
			t.Errorf("%s carts: exit %d: %s%s", aggregates, code, out, errs)
		}
	}
}

func TestLoadThatIsInterruptedChecksWhatWasSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := whenSeen(" of 1000000000, ", cancel)
	var out bytes.Buffer
	code := program().Run(ctx, []string{"load", "-n", "1000000000"}, cli.Streams{Out: &out, Err: progress})
	if code != 0 || !strings.HasSuffix(out.String(), "nothing was lost\n") || strings.HasPrefix(out.String(), "0 commands") {
		t.Errorf("exit %d: %s%s", code, out.String(), progress)
	}
}

func TestAnInterruptBeforeTheStartIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"session"}, {"load"}, {"run"}} {
		var out, errs bytes.Buffer
		in, feed := io.Pipe()
		code := program().Run(ctx, args, cli.Streams{In: in, Out: &out, Err: &errs})
		feed.Close()
		if code != 0 || errs.Len() > 0 {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
	}
}

func TestLoadNamesAllThatIsWrongWithItsFlags(t *testing.T) {
	_, errs, code := shop(t, nil, "load", "-n", "0", "-senders", "-1")
	if code != 2 || !strings.Contains(errs, "-n is 0") || !strings.Contains(errs, "-senders is -1") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestRunNamesAllThatIsWrongWithItsFlags(t *testing.T) {
	_, errs, code := shop(t, nil, "run", "-window", "0", "-timeout", "-1s")
	if code != 2 || !strings.Contains(errs, "-window is 0") || !strings.Contains(errs, "-timeout is -1s") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestTheBooksFindWhatIsLost(t *testing.T) {
	err := with(t.Context(), settings{logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, a *app) error {
		for range 3 {
			if _, err := a.carts.AddItem(t.Context(), domain.AddItem{CartID: "c1", SKU: "tea", Qty: 1}); err != nil {
				return err
			}
		}
		if err := idle.Wait(t.Context(), a.runtime); err != nil {
			return err
		}
		b, err := a.audit(t.Context())
		if err != nil {
			return err
		}
		if err := a.verify(t.Context(), b, 3); err != nil {
			return err
		}
		for what, spoil := range map[string]func(*books){
			"acknowledged": func(b *books) { b.direct = 2 },
			"loads as":     func(b *books) { b.versions[wow.Target{Aggregate: "shop.cart", ID: "c1"}] = 4 },
			"summed":       func(b *books) { b.commits = 4 },
			"cart_view":    func(b *books) { b.counts["shop.cart"] = 2 },
			"sales":        func(b *books) { b.counts["shop.order"] = 1 },
		} {
			b, err := a.audit(t.Context())
			if err != nil {
				return err
			}
			spoil(b)
			if err := a.verify(t.Context(), b, 3); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: the books say %v", what, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// process is the program in a process of its own, its input still open.
type process struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, args...)}
	p.Env = append(os.Environ(), "SHOP_MAIN=1", "TMPDIR="+t.TempDir()) // a killed process leaves its receipts
	p.Stderr = &p.errs
	in, err1 := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	if err := errors.Join(err1, err2, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p
}

func TestASignalDrainsAndExitsZero(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := start(t, "run")
		io.WriteString(p.in, `{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":2}}`+"\n")
		line, err := p.out.ReadString('\n')
		if want := `{"line":1,"id":"c1","version":1,"stage":"PROCESSED"}` + "\n"; err != nil || line != want {
			t.Errorf("got %q (%v), want %q", line, err, want)
		}
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
			t.Errorf("after %v came %q (%v)", sig, rest, err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("after %v: %v: %s", sig, err, p.errs.String())
		}
	}
}

func TestASecondSignalDoesNotWaitForWhatHangs(t *testing.T) {
	p := start(t, "run", "-timeout", "1h")
	io.WriteString(p.in, `{"command":"add_item","id":"c1","body":{"SKU":"frozen","Qty":1}}`+"\n")
	// A pipe and a reader hold much less than this: once it is written, the
	// command before it has begun.
	if _, err := p.in.Write(bytes.Repeat([]byte("\n"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v, want to be killed by the second signal: %s", err, p.errs.String())
			}
			return
		case <-again.C: // the first asks it to drain, the next must end it
			p.Process.Signal(os.Interrupt)
		}
	}
}

// A value that was forgotten is told at the start, not by the first event.
func TestEachHandlerThatWasForgottenIsToldAtTheStart(t *testing.T) {
	r := wowrt.New(wowrt.Config{})
	domain.RegisterCart(r, nil)
	domain.RegisterOrder(r)
	domain.RegisterCheckout(r, domain.Checkout{})
	domain.RegisterCartView(r, nil)
	domain.RegisterSales(r, nil)
	domain.RegisterReceipts(r, nil)
	domain.RegisterDesk(r, nil)
	err := r.Start(t.Context())
	for _, want := range []string{
		"aggregate shop.cart was registered with nil", "projection shop.projection.cart_view was registered with nil",
		"projection shop.projection.sales was registered with nil", "processor shop.processor.receipts was registered with nil",
		"processor shop.processor.desk was registered with nil",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
