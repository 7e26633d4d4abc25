package sqlite_test

import (
	"database/sql"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
)

var update = flag.Bool("update", false, "write the golden file of the current version, for a new one")

// goldenFiles are stores as SQL, one of each version. They are never changed:
// files like them are out there. A later version adds one of its own.
var goldenFiles = []string{"testdata/v1.sql", "testdata/v2.sql"}

// golden is what each of them holds.
func golden() []*store.Commit {
	order := wow.Target{Tenant: "acme", Aggregate: "shop.order", ID: "ö/1"}
	return []*store.Commit{
		{
			Position: wow.Position{Seq: 1}, StoredAt: 1_700_000_000_000_010, Target: cart, Version: 1,
			ID: "0198e0c4-7f00-7000-8000-000000000001", DecidedAt: 1_700_000_000_000_001,
			Events: []store.Event{{Name: "item_added", Codec: store.JSON, Data: []byte(`{"SKU":"s1"}`)}},
		},
		{
			Position: wow.Position{Seq: 2}, StoredAt: 1_700_000_000_000_020, Target: order, Version: 1,
			ID: "0198e0c4-7f00-7000-8000-000000000002", Request: "r1", Correlation: "co", Causation: "ca", DecidedAt: 1_700_000_000_000_002,
			Metadata: map[string]string{"user": "ada", "": "\x00"},
			Events: []store.Event{
				{Name: "placed", Revision: 2, Codec: store.Protobuf, Data: []byte{0, 0xff}},
				{Name: "paid", Codec: store.JSON, Data: []byte(`{}`)},
			},
		},
	}
}

func TestAStoreOfEachVersionIsReadAndWritten(t *testing.T) {
	for _, name := range goldenFiles {
		t.Run(name, func(t *testing.T) { isReadAndWritten(t, name) })
	}
}

func isReadAndWritten(t *testing.T, name string) {
	script, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	path := tempFile(t)
	edit(t, path, string(script))
	s := reopened(t, path)
	if s.ID() != "3c5e7a4e-0000-4000-8000-000000000000" {
		t.Errorf("identity %s", s.ID())
	}
	got, err := s.Read(t.Context(), wow.Position{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if want := golden(); !reflect.DeepEqual(got, want) {
		t.Errorf("commits %+v %+v, want %+v %+v", *got[0], *got[1], *want[0], *want[1])
	}
	sn, err := s.Snapshot(t.Context(), cart, "rev1", 0)
	if err != nil || sn == nil || sn.Version != 1 || string(sn.Data) != "state" {
		t.Errorf("snapshot %+v, %v", sn, err)
	}
	c, err := s.Checkpoint(t.Context(), "shop.projection.cart_view", 0, 0)
	if err != nil || c.Position.Seq != 1 || c.Epoch != 4 {
		t.Errorf("checkpoint %+v, %v", c, err)
	}
	parked, err := s.Parked(t.Context(), "shop.processor.receipts", wow.Target{}, wow.Position{}, 10)
	if err != nil || len(parked) != 1 || parked[0].Error != "boom" || parked[0].Commit.ID != golden()[1].ID {
		t.Errorf("parked %+v, %v", parked, err)
	}
	settled, err := s.Settle(t.Context(), []store.Settlement{{Target: cart, Version: 1, Outcome: store.Outcome{Request: "r9"}}})
	if err != nil || settled[0].First == nil || settled[0].First.Code != "cart_full" {
		t.Errorf("settled %+v, %v", settled, err)
	}
	timers := []store.Timer{{Consumer: "shop.saga.payment", Name: "pay ö/1", Position: wow.Position{Seq: 2}, Index: 1, Due: 11, Attempts: 2, Data: []byte{0, 0xff}}}
	if name == goldenFiles[0] {
		timers = nil // there were none then
	}
	if got, err := s.Timers(t.Context(), "shop.saga.payment", 11, 10); err != nil || !reflect.DeepEqual(got, timers) {
		t.Errorf("timers %+v, %v", got, err)
	}
	if err := s.SetTimers(t.Context(), []store.Timer{{Consumer: "c", Name: "n", Position: wow.Position{Seq: 1}, Due: 1}}); err != nil {
		t.Error(err)
	}
	mustAppend(t, s, 2)
}

func TestTheLayoutIsFrozen(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	commits := golden()
	for _, r := range s.Append(t.Context(), golden()) {
		if r.Status != store.Stored {
			t.Fatal(r.Err)
		}
	}
	ctx := t.Context()
	settled, err := s.Settle(ctx, []store.Settlement{{Target: cart, Version: 1, Keep: true, Outcome: store.Outcome{
		Kind: store.Refused, Request: "r9", Version: 1, Code: "cart_full", Message: "no\x00room", At: 9,
	}}})
	for _, err := range []error{
		err,
		s.SaveSnapshot(ctx, &store.Snapshot{Target: cart, Revision: "rev1", Version: 1, Commit: commits[0].ID, Codec: store.JSON, Data: []byte("state")}),
		s.Park(ctx, []store.Parked{{Consumer: "shop.processor.receipts", Function: "paid", Commit: commits[1], Error: "boom", Attempts: 3, At: 7}},
			&store.Checkpoint{Consumer: "shop.projection.cart_view", Epoch: 4, Position: wow.Position{Seq: 1}}),
		s.SetTimers(ctx, []store.Timer{{Consumer: "shop.saga.payment", Name: "pay ö/1", Position: wow.Position{Seq: 2}, Index: 1, Due: 11, Attempts: 2, Data: []byte{0, 0xff}}}),
		s.Close(),
	} {
		if err != nil {
			t.Fatal(settled, err)
		}
	}
	edit(t, path, "UPDATE wow_commits SET stored_at = 1700000000000000 + seq * 10")
	edit(t, path, "UPDATE wow_outcomes SET kept_at = 4102444800000000")
	edit(t, path, "UPDATE wow_meta SET value = '3c5e7a4e-0000-4000-8000-000000000000' WHERE name = 'identity'")
	got, goldenFile := dump(t, path), goldenFiles[len(goldenFiles)-1]
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("a new store is not what %s says:\n%s", goldenFile, got)
	}
}

// dump writes a file as SQL.
func dump(t *testing.T, path string) string {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	rows := query(t, db, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY rowid")
	for _, r := range rows {
		if sql := r[2].(string); sql != "" {
			fmt.Fprintf(&out, "%s;\n", sql)
		}
	}
	for _, r := range rows {
		if r[0] != "table" {
			continue
		}
		for _, row := range query(t, db, fmt.Sprint("SELECT * FROM ", r[1], " ORDER BY 1, 2")) {
			var values []string
			for _, v := range row {
				switch v := v.(type) {
				case nil:
					values = append(values, "NULL")
				case []byte:
					values = append(values, "X'"+hex.EncodeToString(v)+"'")
				case string:
					values = append(values, "'"+v+"'")
				default:
					values = append(values, fmt.Sprint(v))
				}
			}
			fmt.Fprintf(&out, "INSERT INTO %s VALUES (%s);\n", r[1], strings.Join(values, ", "))
		}
	}
	return out.String()
}

func query(t *testing.T, db *sql.DB, q string) (all [][]any) {
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, to := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
