package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// What is parked after a panic says what and where: an operator may have
// nothing else.
func TestAParkedPanicSaysItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			var forgotten *tally
			if in.Target.ID == "a" {
				forgotten.Seen = nil // the Go runtime's own panic
			}
			panic("boom")
		})
		b := started(t, memoryStore(t), only(p))
		for id, want := range map[string]string{
			"a": "invalid memory address or nil pointer dereference (at runtime/panicked_test.go:21 in runtime.TestAParkedPanicSaysItsLine",
			"b": "panic: boom (at runtime/panicked_test.go:23 in runtime.TestAParkedPanicSaysItsLine",
		} {
			b.append(id, tallyAdded{1})
			b.settled(p.Name)
			list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), tallyTarget(id), wow.Position{}, 10)
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Contains(t, list[0].Error, want)
		}
		b.stop()
	})
}

func TestAPanicKeepsTheErrorItWas(t *testing.T) {
	boom := errors.New("boom")
	require.ErrorIs(t, guarded(func() error { panic(boom) }), boom)
}
