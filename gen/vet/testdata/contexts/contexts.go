// Package contexts has handlers that forget the context they were given.
package contexts

import (
	"context"

	"github.com/wowgen/wow"
)

//wow:processor name=mailer context=shop
type Mailer struct{ send func(context.Context) error }

type (
	A struct{}
	B struct{}
	C struct{}
	D struct{}
	E struct{}
	F struct{}
	G struct{}
)

func (m *Mailer) OnA(ctx context.Context, e wow.Event[A]) error {
	return m.send(context.Background()) // want `Mailer.OnA does not pass its context on(?s:.*)found: context.Background\(\)\n  fix: pass ctx`
}

func (m *Mailer) OnB(c context.Context, e wow.Event[B]) error {
	return m.send(context.TODO()) // want `found: context.TODO\(\)\n  fix: pass c`
}

// OnC has a context of its own inside.
func (m *Mailer) OnC(outer context.Context, e wow.Event[C]) error {
	_, err := wow.Await(outer, func(inner context.Context) (int, error) {
		return 0, m.send(context.Background()) // want `fix: pass inner`
	})
	return err
}

// OnD cannot be mended without a name.
func (m *Mailer) OnD(_ context.Context, e wow.Event[D]) error {
	return m.send(context.Background()) // want `fix: name the handler's context and pass it on`
}

// OnE derives, and starts something that may outlive it.
func (m *Mailer) OnE(ctx context.Context, e wow.Event[E]) error {
	go func() { _ = m.send(context.Background()) }()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer m.send(context.Background())
	return m.send(ctx)
}

// OnF was given none.
func (m *Mailer) OnF(e wow.Event[F]) error { return m.send(context.Background()) }

// OnG has its context's name taken by another variable.
func (m *Mailer) OnG(ctx context.Context, e wow.Event[G]) error {
	if ctx := "other"; ctx != "" {
		return m.send(context.Background()) // want `fix: pass ctx`
	}
	return nil
}

// Flush is no handler.
func (m *Mailer) Flush(ctx context.Context) error { return m.send(context.Background()) }
