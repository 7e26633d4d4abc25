package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAConsumerThatCatchesUpSaysHowLongThatTakes(t *testing.T) {
	var m meter
	now := time.Unix(1000, 0)
	told := 0
	for second := range 41 {
		if m.note(now.Add(time.Duration(second)*time.Second), int64(second)*2000, 100_000) {
			told++
		}
	}
	rate, left := m.left(20_000)
	require.InDelta(t, 2000, rate, 1)
	require.Equal(t, 10*time.Second, left)
	require.Equal(t, 5, told, "every ten seconds")
	require.False(t, m.note(now.Add(60*time.Second), 100_000, 100_000), "it has caught up")
	rate, left = m.left(0)
	require.Zero(t, rate, "after an idle time it begins anew")
	require.Zero(t, left)
}
