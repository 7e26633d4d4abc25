package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The view of sales is rebuilt twice, and answers the same each time; the shop
// goes on with the newest.
func TestTheViewOfSalesIsRebuilt(t *testing.T) {
	dir := t.TempDir()
	_, _, code := shop(t, nil, "rebuild", "-data", dir)
	require.Equal(t, 1, code, "there is no history yet")
	_, errs, code := shop(t, nil, "load", "-n", "3000", "-aggregates", "20", "-data", dir)
	require.Zero(t, code, errs)
	sold := ""
	for _, generation := range []string{"2", "3"} {
		out, errs, code := shop(t, nil, "rebuild", "-data", dir)
		require.Zero(t, code, errs)
		require.Contains(t, out, "generation "+generation+" of the view answers after ")
		_, rows, ok := strings.Cut(out, "its rows are those of generation ")
		require.True(t, ok, out)
		_, rows, _ = strings.Cut(rows, ": ")
		require.Contains(t, rows, "s1")
		if sold != "" {
			require.Equal(t, sold, rows)
		}
		sold = rows
	}
	out, errs, code := shop(t, strings.NewReader(`{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":2}}`+"\n"), "run", "-data", dir)
	require.Zero(t, code, errs)
	require.Contains(t, out, `"stage":"PROCESSED"`)
}
