package wowtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

// A property test can use wowtest too.
var _ wowtest.TB = (*rapid.T)(nil)

func TestARightDomainPasses(t *testing.T) {
	lab := wowtest.New(t, jars(nil, right), refill(func(f filled) []wow.Sendable {
		return []wow.Sendable{fill{JarID: "j2", Kind: f.Kind, N: 1}}
	}))
	o := lab.Given(filled{Kind: "mint", N: 1}).
		When(fill{JarID: "j1", Kind: "mint", N: 2}).
		Then(filled{Kind: "mint", N: 2}).
		ThenState(&jar{ID: "j1", Sweets: map[string]int{"mint": 3}})
	if got := wowtest.StateOf[jar](o).Sweets["mint"]; got != 3 || len(o.Events()) != 1 || o.Err() != nil {
		t.Errorf("got %d sweets, events %v, error %v", got, o.Events(), o.Err())
	}
	lab.When(fill{JarID: "j1"}).ThenRefused("no_sweets")
	lab.WhenEvent("j1", filled{Kind: "mint", N: 2}).ThenSends(fill{JarID: "j2", Kind: "mint", N: 1})
	lab.Given().CausedBy("j9", filled{Kind: "mint"}).
		WhenRefused(fill{JarID: "j2", N: 1}, errors.New("no room")).
		ThenSends(fill{JarID: "j9", Kind: "refused", N: 1})
}

func TestAFailureTellsTheWholeScenario(t *testing.T) {
	got := failure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, right)).
			Given(filled{Kind: "mint", N: 1}, filled{Kind: "toffee", N: 4}).
			When(fill{JarID: "j1", Kind: "mint", N: 2}).
			Then(filled{Kind: "mint", N: 3}, emptied{})
	})
	want := `wowtest: the outcome is another one
  given  filled{Kind: "mint", N: 1}
         filled{Kind: "toffee", N: 4}
  when   fill{JarID: "j1", Kind: "mint", N: 2}
  want   filled{Kind: "mint", N: 3}
         emptied{}
  got    filled{Kind: "mint", N: 2}
  1, filled.N: want 3, got 2
  2: want emptied{}, got nothing`
	if got != want {
		t.Errorf("the failure reads\n%s\nwant\n%s", got, want)
	}
}

func TestWrongExpectationsFail(t *testing.T) {
	app := func(tb wowtest.TB) *wowtest.App { return wowtest.New(tb, jars(nil, right)) }
	ok, none := fill{JarID: "j1", Kind: "mint", N: 2}, fill{JarID: "j1"}

	expectFailure(t, func(tb wowtest.TB) { app(tb).When(ok).ThenNothing() }, "want   nothing", "got    filled{")
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(ok).ThenRefused("no_sweets") }, `want   refused with the code "no_sweets"`)
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(none).ThenRefused("other") }, `got    refused with the code "no_sweets": 0 sweets are none`)
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(none).ThenNothing() }, `got    refused with the code "no_sweets"`)
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(none).ThenFails(wow.Retryable) }, "want   a failure")
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(ok).ThenState(&jar{ID: "j1", Sweets: map[string]int{"mint": 1}}) },
		`jar.Sweets["mint"]: want 1, got 2`)
}

func TestATechnicalFailureIsNoRefusal(t *testing.T) {
	down := errors.New("the shelf is on fire")
	app := func(tb wowtest.TB) *wowtest.App {
		return wowtest.New(tb, jars(nil, func(*jar, fill) (wow.Events, error) {
			return wow.Events{filled{}}, fmt.Errorf("reaching up: %w (%w)", down, wow.Retryable)
		}))
	}
	if o := app(t).When(fill{JarID: "j1"}).ThenFails(down); len(o.Events()) > 0 {
		t.Errorf("a failure left the events %v", o.Events())
	}
	expectFailure(t, func(tb wowtest.TB) { app(tb).When(fill{JarID: "j1"}).ThenRefused("refused") }, "got    a failure: reaching up")
}

func TestWhatTheRuntimeChecksIsCheckedToo(t *testing.T) {
	lab := wowtest.New(t, jars(nil, right))
	lab.When(fill{JarID: "j1", Kind: "MINT", N: 1}).ThenFails(wow.ErrInvalid).ThenFails(errLoud)
	lab.Given(filled{Kind: "mint", N: 1}).When(fill{JarID: "j1", N: 1, At: 2}).ThenFails(wow.ErrConflict)
	lab.Given(filled{Kind: "mint", N: 1}).When(fill{JarID: "j1", N: 1, At: 1}).Then(filled{N: 1})
}

func TestADecisionThatChangesTheStateIsFound(t *testing.T) {
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, func(j *jar, c fill) (wow.Events, error) {
			j.Sweets[c.Kind]++
			return nil, nil
		})).Given(filled{Kind: "mint", N: 1}).When(fill{JarID: "j1", Kind: "mint", N: 1})
	}, "the decision changed the state", `jar.Sweets["mint"]: before 1, after 2`)
}

func TestAnApplyMethodThatLooksElsewhereIsFound(t *testing.T) {
	clock := 0
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(func(j *jar) { clock++; j.Sweets["now"] = clock }, right)).
			When(fill{JarID: "j1", Kind: "mint", N: 1})
	}, "the results differ", `jar.Sweets["now"]: first 1, second 2`)
}

func TestAnEventWithoutApplyIsFound(t *testing.T) {
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, func(*jar, fill) (wow.Events, error) { return wow.Events{emptied{}}, nil })).
			When(fill{JarID: "j1"})
	}, "there is no apply method for it", "func (s *jar) emptied(e emptied)")
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, right)).Given(elsewhere{}).When(fill{JarID: "j1"})
	}, "it is not an event of test.jar but of test.box")
}

func TestWhatTheCodecLosesIsFound(t *testing.T) {
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(func(j *jar) { j.lid = 1 }, right)).Given(filled{}).When(fill{JarID: "j1"})
	}, "encoding and decoding the state", "jar.lid: before 1, after 0")
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, right)).Given(filled{note: "x"}).When(fill{JarID: "j1"})
	}, "encoding and decoding the event", `filled.note: before "x", after ""`)
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, jars(nil, right)).When(fill{JarID: "j1", note: "x"})
	}, "encoding and decoding the command", `fill.note: before "x", after ""`)
}

func TestAWrongKeyIsFound(t *testing.T) {
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb, jars(nil, right)).When(fill{N: 1}) }, "its key is empty")
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, refill(func(filled) []wow.Sendable { return []wow.Sendable{fill{N: 1}} })).WhenEvent("j1", filled{})
	}, "routing fill{N: 1}: its key is empty")
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb, refill(nil)).WhenEvent("", filled{}) }, "its ID is empty")
}

func TestACommandThatCreatesNeedsNoID(t *testing.T) {
	fillType.Mode = wow.Create
	t.Cleanup(func() { fillType.Mode = wow.Upsert })
	wowtest.New(t, jars(nil, right)).When(fill{N: 1}).Then(filled{N: 1}).ThenState(&jar{ID: "created", Sweets: map[string]int{"": 1}})
}

func TestWhatIsNotRegisteredIsNamed(t *testing.T) {
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb).When(fill{JarID: "j1"}) }, "nobody handles the commands of test.jar")
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb).WhenEvent("j1", filled{}) }, "nobody registered handles it")
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb).WhenRefused(fill{JarID: "j1"}, errors.New("no")) }, "wow.Refused[fill]")
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb, jars(nil, right), jars(nil, right)) }, "test.jar is registered twice")
}

func TestASagaThatChangesItsMindIsFound(t *testing.T) {
	n := 0
	expectFailure(t, func(tb wowtest.TB) {
		wowtest.New(tb, refill(func(filled) []wow.Sendable {
			n++
			return []wow.Sendable{fill{JarID: "j2", N: n}}
		})).WhenEvent("j1", filled{})
	}, "asks for other commands", "1, fill.N: first 1, second 2")
}

func TestAConsumerSeesWhereAndWhenItHappened(t *testing.T) {
	var events []wow.EventMeta
	var states []wowrt.StateRecorded
	watch := func(r *wowrt.Runtime) {
		r.AddProjection(wowrt.Projection{Name: "test.projection.watch",
			Functions: []wowrt.Function{{Name: "on_filled", Event: filledType}, {Name: "on_jar", State: jarType(nil)}},
			OnEvent: func(_ context.Context, in *wowrt.Recorded, _ *wowrt.Reaction) error {
				events = append(events, in.EventMeta)
				return nil
			},
			OnState: func(_ context.Context, in *wowrt.StateRecorded, out *wowrt.Reaction) error {
				return out.Offload("", func(context.Context) error { states = append(states, *in); return nil })
			},
		})
	}
	at := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	wowtest.New(t, watch).
		Given(filled{Kind: "mint", N: 1}).
		At(at).Metadata(map[string]string{"who": "me"}).
		WhenEvent("j1", filled{Kind: "mint", N: 2}, filled{Kind: "mint", N: 3}).
		ThenNothing()

	if len(events) != 3 || events[0].Version != 1 || events[2].Version != 2 || events[2].Index != 1 || events[2].Position.Seq != 2 {
		t.Errorf("the events came as %+v", events)
	}
	if m := events[2]; !m.Time.Equal(at) || m.Metadata["who"] != "me" || m.Target.ID != "j1" {
		t.Errorf("the last event came as %+v", m)
	}
	if len(states) != 2 || states[0].State.(*jar).Sweets["mint"] != 1 || states[1].State.(*jar).Sweets["mint"] != 6 || len(states[1].Events) != 2 {
		t.Errorf("the states came as %+v", states)
	}
}

func TestAProjectionRunsInItsOwnTransaction(t *testing.T) {
	type inside struct{}
	var stored []wow.Position
	app := wowtest.New(t, func(r *wowrt.Runtime) {
		r.AddProjection(wowrt.Projection{Name: "test.projection.rows", Functions: []wowrt.Function{{Name: "on_filled", Event: filledType}},
			OnEvent: func(ctx context.Context, in *wowrt.Recorded, out *wowrt.Reaction) error {
				return out.Offload("", func(ctx context.Context) error {
					if ctx.Value(inside{}) == nil {
						return errors.New("it runs outside")
					}
					if in.Event.(filled).N < 0 {
						return errLoud
					}
					return nil
				})
			},
			Transaction: &wowrt.Transaction{
				Resume: func(context.Context, int32) (wow.Position, error) { return wow.Position{}, nil },
				Run: func(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
					err := handle(context.WithValue(ctx, inside{}, true))
					if err == nil {
						stored = append(stored, done)
					}
					return err
				},
			},
		})
	})
	app.Given(filled{N: 1}).WhenEvent("j1", filled{N: 2}, filled{N: 3}).ThenNothing()
	app.WhenEvent("j2", filled{N: 4}).ThenNothing()
	app.WhenEvent("j2", filled{N: -1}).ThenFails(errLoud)
	if want := []wow.Position{{Seq: 1}, {Seq: 2}, {Seq: 3}}; !slices.Equal(stored, want) {
		t.Errorf("it stored its progress as %v, want %v", stored, want)
	}
}

func TestAConsumerThatFailsIsReported(t *testing.T) {
	full := errors.New("the disk is full")
	p := func(r *wowrt.Runtime) {
		r.AddProcessor(wowrt.Processor{Name: "test.processor.p", Functions: []wowrt.Function{{Name: "on_filled", Event: filledType}},
			OnEvent: func(context.Context, *wowrt.Recorded, *wowrt.Reaction) error { return full }})
	}
	if err := wowtest.New(t, p).WhenEvent("j1", filled{}).ThenFails(full).Err(); err == nil {
		t.Error("the error is lost")
	}
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb, p).WhenEvent("j1", filled{}).ThenNothing() },
		"got    a failure: test.processor.p: the disk is full")
}

func TestAnEventOfTwoAggregatesNeedsItsTarget(t *testing.T) {
	shared := *filledType
	shared.Aggregates = []string{"test.box", "test.jar"}
	was := filledType
	filledType = &shared
	t.Cleanup(func() { filledType = was })

	quiet := refill(func(filled) []wow.Sendable { return nil })
	expectFailure(t, func(tb wowtest.TB) { wowtest.New(tb, quiet).WhenEvent("j1", filled{}) }, "test.box and test.jar", "WhenCommit")
	wowtest.New(t, quiet).Given().WhenCommit(wow.Target{Aggregate: "test.box", ID: "b1"}, filled{}).ThenNothing()
	// A registered aggregate settles it.
	wowtest.New(t, quiet, jars(nil, right)).WhenEvent("j1", filled{}).ThenNothing()
}
