package view_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/runtime/view"
)

// A rebuild that is slow, not dead, holds the live one up no longer.
func TestASlowRebuildHoldsTheLiveOneUpForAWhileOnly(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		if d != view.SQLite {
			t.Skip()
		}
		nothing := func(context.Context) error { return nil }
		var v [3]*view.View
		for i := 1; i <= 2; i++ {
			var err error
			v[i], err = view.OpenGeneration(t.Context(), db, d, "v", "h", view.Generation{Number: i})
			require.NoError(t, err)
			_, err = v[i].Resume(t.Context(), 0)
			require.NoError(t, err)
		}
		require.NoError(t, v[1].Run(t.Context(), at(3000), nothing))
		for i := range int64(4) { // a commit of the rebuild takes 20 s
			require.NoError(t, v[2].Run(t.Context(), at(1000+i), nothing))
			err := v[1].Run(t.Context(), at(3001), nothing)
			if 20*i > 30 {
				require.NoError(t, err, "the live one has waited for 30 s")
				return
			}
			require.ErrorIs(t, err, view.ErrWaits)
			// 20 s go by
			_, err = db.Exec(fmt.Sprintf(`UPDATE wow_view_active SET until = until - %d`, (20 * time.Second).Microseconds()))
			require.NoError(t, err)
		}
	})
}
