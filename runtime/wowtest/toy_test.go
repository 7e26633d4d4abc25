package wowtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A jar counts sweets. Its parts are written by hand here, so that each test
// can break one of them.

type jar struct {
	ID     string
	Sweets map[string]int
	lid    int // not carried by JSON
}

type fill struct {
	JarID string
	Kind  string
	N     int
	At    int // the version that is expected
	note  string
}

type filled struct {
	Kind string
	N    int
	note string
}

type emptied struct{}

var fillType = &wow.CommandType{Aggregate: "test.jar", Name: "fill", Mode: wow.Upsert,
	Decode: func(decode wow.Unmarshal, key string, body []byte) (wow.Sendable, error) {
		c := fill{}
		err := decode(body, &c)
		if c.JarID == "" {
			c.JarID = key
		}
		return c, err
	}}

func (c fill) WowExpected() int64 { return int64(c.At) }
func (c fill) WowRequest() string { return c.Kind }

// Validate holds a kind to lower case.
func (c fill) Validate() error {
	if c.Kind != strings.ToLower(c.Kind) {
		return errLoud
	}
	return nil
}

var errLoud = errors.New("the kind shouts")

func (fill) WowCommand() *wow.CommandType { return fillType }
func (c fill) WowTarget() wow.Target      { return wow.Target{Aggregate: "test.jar", ID: c.JarID} }

var filledType = &wow.EventType{Aggregates: []string{"test.jar"}, Name: "filled", Revision: 1,
	Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
		e := filled{}
		err := decode(data, &e)
		return e, err
	}}

var emptiedType = &wow.EventType{Aggregates: []string{"test.jar"}, Name: "emptied", Revision: 1,
	Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
		e := emptied{}
		err := decode(data, &e)
		return e, err
	}}

func (filled) WowEvent() *wow.EventType  { return filledType }
func (emptied) WowEvent() *wow.EventType { return emptiedType }

// elsewhere is an event of another aggregate.
type elsewhere struct{}

var elsewhereType = &wow.EventType{Aggregates: []string{"test.box"}, Name: "elsewhere", Revision: 1, Decode: func(wow.Unmarshal, []byte) (wow.DomainEvent, error) { return elsewhere{}, nil }}

func (elsewhere) WowEvent() *wow.EventType { return elsewhereType }

func (j *jar) WowState() *wow.StateType { return jarType(nil) }

// jarType describes jars; apply, if set, comes after the right one.
func jarType(apply func(*jar)) *wow.StateType {
	return &wow.StateType{
		Aggregate: "test.jar", Snapshot: 1, Events: []*wow.EventType{filledType},
		New: func(t wow.Target) wow.State { return &jar{ID: t.ID} },
		Decode: func(decode wow.Unmarshal, data []byte) (wow.State, error) {
			s := new(jar)
			err := decode(data, s)
			return s, err
		},
		Apply: func(s wow.State, e wow.DomainEvent, m *wow.EventMeta) bool {
			f, ok := e.(filled)
			if !ok {
				return false
			}
			j := s.(*jar)
			if j.Sweets == nil {
				j.Sweets = map[string]int{}
			}
			j.Sweets[f.Kind] += f.N
			if apply != nil {
				apply(j)
			}
			return true
		},
	}
}

// jars registers the aggregate.
func jars(apply func(*jar), decide func(*jar, fill) (wow.Events, error)) func(*wowrt.Runtime) {
	return func(r *wowrt.Runtime) {
		r.AddAggregate(wowrt.Aggregate{State: jarType(apply), Commands: []wowrt.CommandHandler{{Command: fillType}},
			Decide: func(_ context.Context, s wow.State, in *wowrt.Command, out *wowrt.Decision) error {
				if c := in.Body.(fill); in.Request != c.Kind || in.Expected != int64(c.At) {
					return fmt.Errorf("the command comes with request %q and version %d", in.Request, in.Expected)
				}
				events, err := decide(s.(*jar), in.Body.(fill))
				out.Add(events...)
				return err
			}})
	}
}

func right(_ *jar, c fill) (wow.Events, error) {
	if c.N < 1 {
		return nil, wow.Refuse("no_sweets", "%d sweets are none", c.N)
	}
	return wow.Events{filled{Kind: c.Kind, N: c.N}}, nil
}

// refill is a saga: a filled jar asks for more.
func refill(answer func(filled) []wow.Sendable) func(*wowrt.Runtime) {
	return func(r *wowrt.Runtime) {
		r.AddSaga(wowrt.Saga{Name: "test.saga.refill", Functions: []wowrt.Function{{Name: "on_filled", Event: filledType}, {Name: "on_fill_refused", Refused: fillType}},
			OnEvent: func(_ context.Context, in *wowrt.Recorded, out *wowrt.Outbox) error {
				out.Send(answer(in.Event.(filled))...)
				return nil
			},
			OnRefused: func(_ context.Context, in *wowrt.RefusedCommand, out *wowrt.Outbox) error {
				out.Send(fill{JarID: in.Cause.Target.ID, Kind: in.Reason.Code, N: in.Body.(fill).N})
				return nil
			},
		})
	}
}

// recorder is a test that may fail.
type recorder struct {
	ctx  context.Context
	text string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns what a test says when it fails, "" if it passes.
func failure(t *testing.T, f func(wowtest.TB)) string {
	t.Helper()
	r := &recorder{ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.text
}

// expectFailure asks that f fails and says each of these things.
func expectFailure(t *testing.T, f func(wowtest.TB), says ...string) {
	t.Helper()
	text := failure(t, f)
	if text == "" {
		t.Fatal("the test passes, want it to fail")
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("the failure does not say\n%s\nbut\n%s", s, text)
		}
	}
}
