package postgres_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
)

// The recipe of docs/guide/operations.md: a dump that is loaded elsewhere is the
// same history, and goes on without a gap. Nothing in the tables depends on
// sequences or transaction numbers of the server.
func TestADumpLoadedElsewhereIsTheSameHistory(t *testing.T) {
	dsn := schema(t) // says loudly what is missing
	for _, tool := range []string{"pg_dump", "psql"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv(required) != "" {
				t.Fatalf("%s is set, and there is no %s", required, tool)
			}
			t.Skipf("SKIPPED: needs %s", tool)
		}
	}
	s := opened(t, dsn, postgres.Config{})
	commit := func(version int64) *store.Commit {
		return &store.Commit{Target: wow.Target{Aggregate: "shop.cart", ID: "ö'1"}, Version: version, ID: uuid.NewString(), DecidedAt: 1,
			Request: uuid.NewString(), Metadata: map[string]string{"a": "\x00"},
			Events: []store.Event{{Name: "item_added", Revision: 1, Codec: store.JSON, Data: []byte(`{"n":1}`)}}}
	}
	for v := int64(1); v <= 300; v++ {
		require.Equal(t, store.Stored, s.Append(t.Context(), []*store.Commit{commit(v)})[0].Status)
	}
	require.NoError(t, s.SaveCheckpoint(t.Context(), store.Checkpoint{Consumer: "c", Epoch: 1, Position: wow.Position{Seq: 7}}))
	want, err := s.Read(t.Context(), wow.Position{}, 1000)
	require.NoError(t, err)

	u, err := url.Parse(dsn)
	require.NoError(t, err)
	name := u.Query().Get("search_path")
	u.RawQuery = ""
	other := "d" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, os.Getenv(server), "CREATE DATABASE "+other)
	t.Cleanup(func() { run(t, os.Getenv(server), "DROP DATABASE "+other+" WITH (FORCE)") })
	var dump, errs bytes.Buffer
	out := exec.Command("pg_dump", "--schema="+name, "--no-owner", u.String())
	out.Stdout, out.Stderr = &dump, &errs
	require.NoError(t, out.Run(), errs.String())
	elsewhere := *u
	elsewhere.Path = "/" + other
	in := exec.Command("psql", "--quiet", "--set=ON_ERROR_STOP=1", elsewhere.String())
	in.Stdin, in.Stderr = &dump, &errs
	require.NoError(t, in.Run(), errs.String())

	elsewhere.RawQuery = url.Values{"search_path": {name}}.Encode()
	again := opened(t, elsewhere.String(), postgres.Config{})
	defer again.Close()
	require.Equal(t, s.ID(), again.ID())
	got, err := again.Read(t.Context(), wow.Position{}, 1000)
	require.NoError(t, err)
	require.Equal(t, want, got)
	at, err := again.Checkpoint(t.Context(), "c", 0, 0)
	require.NoError(t, err)
	require.EqualValues(t, 7, at.Position.Seq)
	r := again.Append(t.Context(), []*store.Commit{commit(301)})[0]
	require.Equal(t, store.Stored, r.Status, r.Err)
	require.EqualValues(t, 301, r.Position.Seq)
	repeated := *want[10]
	repeated.ID = uuid.NewString()
	require.Equal(t, store.Repeated, again.Append(t.Context(), []*store.Commit{&repeated})[0].Status)
}
