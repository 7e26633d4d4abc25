// Package fixes has mistakes that an editor can mend.
package fixes

import (
	"context"
	"os"

	"github.com/wowgen/wow"
)

//wow:processor name=writer context=shop
type Writer struct{ send func(context.Context) error }

type (
	A struct{}
	B struct{}
	C struct{}
	D struct{}
)

// OnA writes a file.
func (w *Writer) OnA(e wow.Event[A]) error {
	return os.WriteFile("a", nil, 0o600) // want `Writer.OnA can block`
}

// OnB has a directive already.
//
//wow:on name=b
func (w *Writer) OnB(ctx context.Context, e wow.Event[B]) error {
	if err := os.Remove("a"); err != nil { // want `Writer.OnB can block`
		return err
	}
	return w.send(context.Background()) // want `Writer.OnB does not pass its context on`
}

func (w *Writer) OnC(ctx context.Context, e wow.Event[C]) error {
	_, err := wow.Await(ctx, func(c context.Context) (int, error) {
		return 0, w.send(context.TODO()) // want `Writer.OnC does not pass its context on`
	})
	return err
}

func (w *Writer) OnD(e wow.Event[D]) error {
	return os.Remove("d") // want `Writer.OnD can block`
}
