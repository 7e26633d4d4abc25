// Package blocking has handlers that wait, and handlers that only look so.
package blocking

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/wowgen/wow"
)

//wow:aggregate name=job context=work
type Job struct {
	ID   string `wow:"key"`
	Done bool
}

type Start struct {
	JobID string `wow:"key"`
}

type Stop struct {
	JobID string `wow:"key"`
}

type Started struct{ At time.Time }

type Stopped struct{}

// Start waits in plain sight.
func (j *Job) Start(cmd Start) (Started, error) {
	time.Sleep(time.Second) // want `Job.Start can block(?s:.*)found: Job.Start -> time.Sleep(?s:.*)fix: write //wow:blocking above the method`
	time.Sleep(time.Second) // the fix is the same, so it is told once
	return Started{At: time.Now()}, nil
}

// Stop only calculates.
func (j *Job) Stop(cmd wow.Command[Stop]) (*Stopped, error) {
	if j.Done {
		return nil, wow.Refuse("done", "it is done")
	}
	return &Stopped{}, nil
}

func (j *Job) Started(Started) {}

func (j *Job) Stopped(Stopped) { j.Done = true }

// Wait is a question of the user's, not a handler.
func (j *Job) Wait(d time.Duration) { time.Sleep(d) }

//wow:handler aggregate=job
type Handlers struct {
	db *sql.DB
	mu sync.Mutex
	n  int
}

type Load struct {
	JobID string `wow:"key"`
}

type Save struct {
	JobID string `wow:"key"`
}

type Count struct {
	JobID string `wow:"key"`
}

// Load has a row read two calls further down.
//
//wow:on name=load
func (h *Handlers) Load(ctx context.Context, j *Job, cmd Load) ([]Started, error) {
	n, err := h.count(ctx) // want `Handlers.Load can block(?s:.*)Handlers.Load -> Handlers.count -> Handlers.scan \(blocking.go:\d+\) -> sql.DB.QueryRowContext \(blocking.go:\d+\)`
	return make([]Started, n), err
}

func (h *Handlers) count(ctx context.Context) (int, error) { return h.scan(ctx) }

func (h *Handlers) scan(ctx context.Context) (n int, err error) {
	err = h.db.QueryRowContext(ctx, "select 1").Scan(&n)
	return n, err
}

// Save does so as well, but says it.
//
//wow:blocking
func (h *Handlers) Save(ctx context.Context, j *Job, cmd Save) (Stopped, error) {
	_, err := h.count(ctx)
	return Stopped{}, err
}

// Count holds a lock, which is not waiting.
func (h *Handlers) Count(j *Job, cmd Count) (Stopped, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	return Stopped{}, nil
}

//wow:projection name=view context=work
type View struct {
	ch    chan int
	done  chan struct{}
	wg    sync.WaitGroup
	cond  *sync.Cond
	conn  net.Conn
	out   *os.File
	fetch func()
	api   interface{ Fetch() }
}

type A struct{}
type B struct{}
type C struct{}
type D struct{}
type E struct{}
type F struct{}
type G struct{}
type H struct{}
type I struct{}
type K struct{}
type L struct{}
type M struct{}
type N struct{}
type O struct{}
type P struct{}
type Q struct{}
type R struct{}
type S struct{}
type T struct{}
type U struct{}
type V struct{}
type W struct{}

func (v *View) OnA(e wow.Event[A]) {
	v.ch <- 1 // want `View.OnA can block(?s:.*)View.OnA -> a channel send`
}

func (v *View) OnB(e wow.Event[B]) {
	<-v.done // want `a channel receive`
}

func (v *View) OnC(e wow.Event[C]) {
	for range v.ch { // want `a channel receive`
	}
}

func (v *View) OnD(e wow.Event[D]) {
	select { // want `a select without default`
	case <-v.done:
	case v.ch <- 1:
	}
}

// OnE drops what there is no room for.
func (v *View) OnE(e wow.Event[E]) {
	select {
	case v.ch <- 1:
	default:
	}
}

func (v *View) OnF(e wow.Event[F]) {
	v.wg.Wait() // want `View.OnF -> sync.WaitGroup.Wait`
}

func (v *View) OnG(e wow.Event[G]) {
	v.cond.Wait() // want `sync.Cond.Wait`
}

func (v *View) OnH(e wow.Event[H]) error {
	_, err := v.conn.Read(nil) // want `View.OnH -> net.Conn.Read`
	return err
}

func (v *View) OnI(e wow.Event[I]) error {
	_, err := http.Get("http://localhost") // want `http.Get`
	return err
}

func (v *View) OnK(ctx context.Context, e wow.Event[K]) error {
	return exec.CommandContext(ctx, "true").Run() // want `exec.Cmd.Run`
}

func (v *View) OnL(e wow.Event[L]) error {
	defer v.out.Sync() // want `os.File.Sync`
	return nil
}

// OnM has something else wait.
func (v *View) OnM(e wow.Event[M]) {
	go func() { time.Sleep(time.Second) }()
	go v.pause()
}

func (v *View) pause() { time.Sleep(time.Second) }

// OnN waits as one should.
func (v *View) OnN(ctx context.Context, e wow.Event[N]) error {
	_, err := wow.Await(ctx, func(ctx context.Context) (int, error) {
		time.Sleep(time.Second)
		v.pause()
		return 0, nil
	})
	return err
}

// OnO waits in a closure that it calls.
func (v *View) OnO(e wow.Event[O]) {
	func() {
		time.Sleep(1) // want `time.Sleep`
	}()
}

// OnP waits in a closure that a helper calls.
func (v *View) OnP(e wow.Event[P]) {
	v.locked(func() {
		v.pause() // want `View.OnP -> View.pause -> time.Sleep`
	})
}

func (v *View) locked(f func()) {
	defer func() { f() }()
}

// OnQ keeps a closure for later.
func (v *View) OnQ(e wow.Event[Q]) {
	v.fetch = func() { time.Sleep(1) }
}

// OnR calls what nobody knows.
func (v *View) OnR(e wow.Event[R]) {
	v.fetch()
	v.api.Fetch()
}

// OnS sends into a channel with room.
func (v *View) OnS(e wow.Event[S]) {
	first := make(chan error, 1)
	first <- nil
}

// OnT sorts with a comparison that waits.
func (v *View) OnT(e wow.Event[T]) {
	slices.SortFunc([]int{1, 2}, func(a, b int) int {
		time.Sleep(1) // want `time.Sleep`
		return a - b
	})
}

// OnU loops over an iterator.
func (v *View) OnU(e wow.Event[U]) {
	for range slices.Values([]int{1}) {
		v.pause() // want `View.pause`
	}
}

// OnV reads the environment and the clock, which takes no time.
func (v *View) OnV(e wow.Event[V]) {
	_ = os.Getenv("HOME") + time.Now().String()
}

// OnW calls itself and a generic helper.
func (v *View) OnW(e wow.Event[W]) {
	if len(each([]string{"a"}, os.Remove)) > 0 {
		v.OnW(e)
	}
	each([]string{"a"}, func(s string) error {
		return os.Remove(s) // want `View.OnW -> os.Remove`
	})
}

func each[T any](list []T, f func(T) error) (errs []error) {
	for _, x := range list {
		errs = append(errs, f(x))
	}
	return errs
}

// Ledger is blocking as a whole.
//
//wow:processor name=ledger context=work
//wow:blocking pool=disk
type Ledger struct{}

func (Ledger) OnA(e wow.Event[A]) error { return os.Remove("a") }

func (Ledger) OnB(e wow.Event[B]) error { return os.Remove("b") }

// Rows keeps its own progress, so all of it runs off the workers.
//
//wow:projection name=rows context=work
type Rows struct{ db *sql.DB }

func (r *Rows) Resume(ctx context.Context, shard int32) (wow.Position, error) {
	return wow.Position{}, r.db.PingContext(ctx)
}

func (r *Rows) Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
	return handle(ctx)
}

func (r *Rows) OnStarted(ctx context.Context, e wow.Event[Started]) error {
	_, err := r.db.ExecContext(ctx, "INSERT INTO started VALUES (1)")
	return err
}
