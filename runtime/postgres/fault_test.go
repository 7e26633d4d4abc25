package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

func cart(id string) wow.Target { return wow.Target{Aggregate: "shop.cart", ID: id} }

func commit(t wow.Target, version int64) *store.Commit {
	return &store.Commit{
		Target: t, Version: version, ID: fmt.Sprint(t.ID, "-", version), Request: fmt.Sprint("r", version),
		Events: []store.Event{{Name: "e", Codec: store.JSON, Data: []byte("{}")}},
	}
}

func appends(s *postgres.Store, cs ...*store.Commit) []store.Result {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.Append(ctx, cs)
}

func mustAppend(t testing.TB, s *postgres.Store, cs ...*store.Commit) {
	t.Helper()
	for i, r := range appends(s, cs...) {
		if r.Status != store.Stored {
			t.Fatalf("%s version %d: %s %v", cs[i].Target, cs[i].Version, r.Status, r.Err)
		}
	}
}

func opened(t testing.TB, dsn string, c postgres.Config) *postgres.Store {
	s := open(t, dsn, c)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// says requires an error to be one and to tell an operator something.
func says(t testing.TB, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// with returns a DSN with one more setting.
func with(t testing.TB, dsn, name, value string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// appendOpen appends as another process would, in a transaction that it leaves
// open.
const appendOpen = `SELECT last_seq FROM wow_append_1((SELECT locks FROM wow_meta), '5s', 0, '{}', '{}', '{""}', '{shop.cart}', ARRAY[$1],
	'{1}', ARRAY[$1 || '-1'], '{""}', '{""}', '{""}', '{0}', '{e}', '{1}', '{"\\x00"}', '{"\\x00"}', '{0}')`

func TestAnAppendHeldOpen(t *testing.T) {
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{LockTimeout: 300 * time.Millisecond})
	mustAppend(t, s, commit(cart("a"), 1))
	other, ctx := connect(t, dsn), t.Context()

	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		head, err := s.Head(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(ctx, "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(ctx, appendOpen, "held-"+end); err != nil {
			t.Fatal(err)
		}

		// Others wait, within their bound, and then store nothing.
		start := time.Now()
		r := appends(s, commit(cart("b"+end), 1))[0]
		if r.Status != store.Failed || time.Since(start) < 300*time.Millisecond {
			t.Errorf("append after %s: %s, want a definite failure after the lock timeout", time.Since(start), r.Status)
		}
		says(t, r.Err, postgres.ErrBusy, "pg_stat_activity")

		// Readers do not wait, and see no hole.
		if cs, err := s.Read(ctx, head, 10); err != nil || len(cs) != 0 {
			t.Errorf("read beside an open append: %d commits, %v", len(cs), err)
		}
		if h, err := s.Head(ctx, 0); err != nil || h != head {
			t.Errorf("head %s, %v, want %s", h, err, head)
		}

		// One that waits goes on when the other ends, behind what it left.
		waiting := make(chan store.Result)
		patient := opened(t, dsn, postgres.Config{})
		go func() { waiting <- appends(patient, commit(cart("c"+end), 1))[0] }()
		waitForLock(t, dsn)
		if _, err := other.Exec(ctx, end); err != nil {
			t.Fatal(err)
		}
		want := head.Seq + 1
		if end == "COMMIT" {
			want++
		}
		if r := <-waiting; r.Status != store.Stored || r.Position.Seq != want {
			t.Errorf("after %s: %s at %s (%v), want position %d", end, r.Status, r.Position, r.Err, want)
		}
		mustAppend(t, s, commit(cart("d"+end), 1))
	}
	run(t, dsn, "UPDATE wow_commits SET crc = 0 WHERE commit_id LIKE 'held-%'") // it was no real commit
	if n := run(t, dsn, "UPDATE wow_commits a SET crc = crc WHERE seq > 1 AND NOT EXISTS (SELECT FROM wow_commits b WHERE b.seq = a.seq - 1)"); n != 0 {
		t.Errorf("%d positions have none before them", n)
	}
}

// waitForLock returns once a session waits for an advisory lock.
func waitForLock(t testing.TB, dsn string) {
	c := connect(t, dsn)
	for {
		var waits bool
		if err := c.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if waits {
			return
		}
	}
}

func TestSeveralProcessesAppendInOneLine(t *testing.T) {
	dsn := schema(t)
	const processes, each = 3, 60
	var stores []*postgres.Store
	for range processes {
		stores = append(stores, opened(t, dsn, postgres.Config{}))
	}
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			for v := int64(1); v <= each; v++ {
				mine := commit(cart(fmt.Sprint("own", i)), v)
				shared := commit(cart("shared"), v) // each version: one of them wins
				shared.ID = fmt.Sprint(shared.ID, "-", i)
				rs := appends(s, shared, mine)
				if rs[1].Status != store.Stored || rs[0].Status != store.Stored && rs[0].Status != store.Repeated {
					t.Errorf("process %d version %d: %s %v, %s %v", i, v, rs[0].Status, rs[0].Err, rs[1].Status, rs[1].Err)
					return
				}
			}
		})
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			for at := (wow.Position{}); at.Seq < (processes+1)*each; {
				if err := s.Wait(ctx, at); err != nil {
					t.Errorf("wait behind %s: %v", at, err)
					return
				}
				cs, err := s.Read(ctx, at, 50) // which says so if there is a hole
				if err != nil {
					t.Error(err)
					return
				}
				at.Seq += int64(len(cs))
			}
		})
	}
	wg.Wait()
	if cs, err := stores[0].Stream(t.Context(), cart("shared"), 0, 1000); err != nil || len(cs) != each {
		t.Errorf("shared stream of %d, %v", len(cs), err)
	}
}

func TestManyProcessesCreateTheTablesOnce(t *testing.T) {
	dsn := schema(t)
	var wg sync.WaitGroup
	var ids [8]string
	for i := range ids {
		wg.Go(func() {
			s, err := postgres.Open(context.Background(), dsn, postgres.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
			_ = s.Close()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("identities %q", ids)
			break
		}
	}
}

// proxy stands between a store and its server and can keep the answers.
type proxy struct {
	addr   string
	silent atomic.Bool
}

func newProxy(t testing.TB, server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			wg.Go(func() { // questions
				_, _ = io.Copy(out, in)
				_ = out.Close()
			})
			wg.Go(func() { // answers
				defer in.Close()
				defer out.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := out.Read(buf)
					if err != nil || p.silent.Load() {
						return
					}
					if _, err := in.Write(buf[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return p
}

func TestALostAnswerIsUnknownAndSettledByTheSameCommit(t *testing.T) {
	dsn := schema(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Host)
	u.Host = p.addr
	s := open(t, u.String(), postgres.Config{})
	defer s.Close() // before the proxy, which waits for its connections
	mustAppend(t, s, commit(cart("a"), 1))

	c := commit(cart("a"), 2)
	p.silent.Store(true)
	r := appends(s, c)[0]
	if r.Status != store.Unknown || r.Err == nil {
		t.Fatalf("%s %v, want unknown", r.Status, r.Err)
	}
	p.silent.Store(false)
	again := appends(s, c, commit(cart("a"), 3))
	if again[0].Status != store.Stored || again[0].Position.Seq != 2 || again[1].Position.Seq != 3 {
		t.Errorf("the same commit again: %+v", again)
	}
	if cs, err := s.Read(t.Context(), wow.Position{}, 10); err != nil || len(cs) != 3 {
		t.Errorf("read: %d commits, %v", len(cs), err)
	}
}

func TestClosedConnectionsAreReplaced(t *testing.T) {
	dsn := schema(t)
	s := opened(t, with(t, dsn, "application_name", "wow-closed"), postgres.Config{})
	for v := int64(1); v <= 5; v++ {
		mustAppend(t, s, commit(cart("a"), v))
		run(t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wow-closed'")
		again := commit(cart("a"), v) // the runtime does so after an unknown outcome
		for tries := 0; ; tries++ {
			r := appends(s, again)[0]
			if r.Status == store.Stored {
				if r.Position.Seq != v {
					t.Errorf("version %d is at %s", v, r.Position)
				}
				break
			}
			if r.Err == nil || tries > 10 {
				t.Fatalf("%s %v", r.Status, r.Err)
			}
		}
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	_, err := postgres.Open(t.Context(), "postgres://wow@127.0.0.1:1/wow?sslmode=disable&connect_timeout=1", postgres.Config{})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("open: %v", err)
	}
	if _, err := postgres.Open(t.Context(), "postgres://%zz", postgres.Config{}); err == nil || !strings.Contains(err.Error(), "DSN") {
		t.Errorf("open of a bad DSN: %v", err)
	}
}

func TestSettingsThatWouldBreakAPromise(t *testing.T) {
	dsn := schema(t)
	_, err := postgres.Open(t.Context(), with(t, dsn, "default_transaction_isolation", "serializable"), postgres.Config{})
	if err == nil || !strings.Contains(err.Error(), `"read committed"`) {
		t.Errorf("isolation: %v", err)
	}
}

func TestAppendsAreDurableWhateverTheSessionSays(t *testing.T) {
	dsn := schema(t)
	opened(t, dsn, postgres.Config{})
	c := connect(t, with(t, dsn, "synchronous_commit", "off"))
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), appendOpen, "a"); err != nil {
		t.Fatal(err)
	}
	var setting string
	if err := tx.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&setting); err != nil || setting != "on" {
		t.Errorf("synchronous_commit %q, %v", setting, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatTakesNoWrites(t *testing.T) {
	dsn := schema(t)
	mustAppend(t, opened(t, dsn, postgres.Config{}), commit(cart("a"), 1))
	s := opened(t, with(t, dsn, "default_transaction_read_only", "on"), postgres.Config{})
	r := appends(s, commit(cart("a"), 2))[0]
	if r.Status != store.Failed {
		t.Errorf("%s, want a definite failure", r.Status)
	}
	says(t, r.Err, postgres.ErrReadOnly, "replica")
	if cs, err := s.Read(t.Context(), wow.Position{}, 10); err != nil || len(cs) != 1 {
		t.Errorf("read: %d commits, %v", len(cs), err)
	}
}

func TestTablesOfANewerVersion(t *testing.T) {
	dsn := schema(t)
	opened(t, dsn, postgres.Config{})
	run(t, dsn, "UPDATE wow_meta SET version = 99")
	mustAppend(t, opened(t, dsn, postgres.Config{}), commit(cart("a"), 1)) // whose steps this one may write past
	run(t, dsn, "UPDATE wow_meta SET writers = 99")
	_, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	says(t, err, postgres.ErrNewer, "99", "upgrade")
}

func TestChangedAndLostRowsAreNamed(t *testing.T) {
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{})
	for v := int64(1); v <= 5; v++ {
		mustAppend(t, s, commit(cart("a"), v))
	}
	if err := s.SaveSnapshot(t.Context(), &store.Snapshot{Target: cart("a"), Revision: "r", Version: 2, Commit: "c2", Data: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	run(t, dsn, `UPDATE wow_commits SET payload = set_byte(payload, 4, 9) WHERE seq = 2`)
	run(t, dsn, `UPDATE wow_snapshots SET data = '\x00'`)
	_, err := s.Read(t.Context(), wow.Position{}, 10)
	says(t, err, frame.ErrCorrupt, "0/2", "shop.cart/a version 2")
	_, err = s.Snapshot(t.Context(), cart("a"), "r", 0)
	says(t, err, frame.ErrCorrupt, "shop.cart/a")
	run(t, dsn, "DELETE FROM wow_commits WHERE seq = 4")
	_, err = s.Read(t.Context(), wow.Position{Seq: 2}, 10)
	says(t, err, frame.ErrCorrupt, "position 4 is missing")
	_, err = s.Stream(t.Context(), cart("a"), 2, 10)
	says(t, err, frame.ErrCorrupt, "version 4 is missing")
}

func TestKeptOutcomesExpire(t *testing.T) {
	dsn := schema(t)
	settle := func(request string) store.Settled {
		t.Helper()
		s := open(t, dsn, postgres.Config{})
		defer s.Close()
		got, err := s.Settle(t.Context(), []store.Settlement{{
			Target: cart("a"), Keep: true, Outcome: store.Outcome{Kind: store.NoOp, Request: request},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	settle("old")
	settle("new")
	run(t, dsn, "UPDATE wow_outcomes SET kept_at = $1 WHERE request = 'old'", time.Now().Add(-store.OutcomeRetention-time.Second).UnixMicro())
	if got := settle("new"); got.First == nil {
		t.Error("an outcome was forgotten too early")
	}
	if got := settle("old"); got.First != nil {
		t.Errorf("the outcome %+v outlived its retention", got.First)
	}
}

// TestAKilledServerLosesNothingItAcknowledged needs a command that kills the
// server with all its processes and starts it again: WOW_POSTGRES_KILL, as in
// ".ci/postgres kill".
func TestAKilledServerLosesNothingItAcknowledged(t *testing.T) {
	kill := strings.Fields(os.Getenv("WOW_POSTGRES_KILL"))
	if len(kill) == 0 {
		t.Skip("needs WOW_POSTGRES_KILL, a command that kills the server and starts it again")
	}
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{})
	for range 3 {
		var wg sync.WaitGroup
		var acked sync.Map
		stop := make(chan struct{})
		for w := range 4 {
			wg.Go(func() {
				cs, err := s.Stream(t.Context(), cart(fmt.Sprint(w)), 0, 1<<20)
				if err != nil {
					t.Error(err)
					return
				}
				for v := int64(len(cs)) + 1; ; {
					c := commit(cart(fmt.Sprint(w)), v)
					switch r := appends(s, c)[0]; r.Status {
					case store.Stored:
						acked.Store(c.ID, r.Position)
						v++
					case store.Unknown, store.Failed: // the same commit again
					default:
						t.Errorf("%s version %d: %s", c.Target, v, r.Status)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		if err := s.Wait(t.Context(), wow.Position{Seq: headOf(t, s) + 100}); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(kill[0], kill[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		close(stop)
		wg.Wait()
		there := map[string]wow.Position{}
		for at := (wow.Position{}); ; {
			cs, err := s.Read(t.Context(), at, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(cs) == 0 {
				break
			}
			for _, c := range cs {
				there[c.ID], at = c.Position, c.Position
			}
		}
		n := 0
		acked.Range(func(id, at any) bool {
			if n++; there[id.(string)] != at {
				t.Errorf("commit %s was acknowledged at %s and is at %s", id, at, there[id.(string)])
			}
			return true
		})
		t.Logf("%d acknowledged before and after the kill, %d in the log", n, len(there))
	}
}

func headOf(t testing.TB, s *postgres.Store) int64 {
	h, err := s.Head(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return h.Seq
}
