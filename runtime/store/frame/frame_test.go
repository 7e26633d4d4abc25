package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// golden is histories as they were written once. Lines may be added; one that
// has to be changed would make stored histories unreadable.
var golden = []struct {
	name            string
	commit          store.Commit
	shard           int32
	types           string
	header, payload string // hex
	sum             uint32
}{
	{
		name: "one event, nothing else",
		commit: store.Commit{
			Target: wow.Target{Aggregate: "shop.cart", ID: "c1"}, Version: 1, ID: "0198e0c4-7f00-7000-8000-000000000001",
			DecidedAt: 1_700_000_000_000_000,
			Events:    []store.Event{{Name: "item_added", Codec: store.JSON, Data: []byte(`{"SKU":"s1"}`)}},
		},
		types:   "item_added",
		header:  "00",
		payload: "011b0001000a6974656d5f6164646564007b22534b55223a227331227d",
		sum:     0x950e1b38,
	},
	{
		name: "everything",
		commit: store.Commit{
			Target: wow.Target{Tenant: "acme", Aggregate: "shop.order", ID: "ö/1"}, Version: 300, ID: "0198e0c4-7f00-7000-8000-000000000002",
			Request: "r1", Correlation: "co", Causation: "ca", DecidedAt: -1,
			Metadata: map[string]string{"b": "2", "a": "", "": "\x00"},
			Events: []store.Event{
				{Name: "placed", Revision: 200, Codec: store.Protobuf, Data: []byte{0, 0xff}},
				{Name: "paid", Codec: store.JSON},
			},
		},
		shard:   3,
		types:   "placed\npaid",
		header:  "0301020000010201610103016232",
		payload: "020e0002c80106706c616365640000ff09000100047061696400",
		sum:     0xa5bf1f09,
	},
}

func TestGoldenBytes(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			row, _ := Encode(&g.commit, g.shard, nil)
			if row.Types != g.types || row.Format != 1 {
				t.Errorf("types %q, format %d", row.Types, row.Format)
			}
			if got := hex.EncodeToString(row.Header); got != g.header {
				t.Errorf("header %s, want %s", got, g.header)
			}
			if got := hex.EncodeToString(row.Payload); got != g.payload {
				t.Errorf("payload %s, want %s", got, g.payload)
			}
			if row.Sum != g.sum {
				t.Errorf("sum %#08x, want %#08x", row.Sum, g.sum)
			}
			row.Seq, row.StoredAt = 9, 10
			got, err := row.Decode()
			if err != nil {
				t.Fatal(err)
			}
			want := g.commit
			want.Position, want.StoredAt = wow.Position{Shard: g.shard, Seq: 9}, 10
			for i := range got.Events {
				if len(got.Events[i].Data) == 0 {
					got.Events[i].Data = nil
				}
			}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("decoded %+v, want %+v", *got, want)
			}
		})
	}
}

func TestAnyChangedBitIsCorrupt(t *testing.T) {
	row, _ := Encode(&golden[1].commit, 3, nil)
	fields := map[string]func(*Row) *[]byte{
		"header": func(r *Row) *[]byte { return &r.Header }, "payload": func(r *Row) *[]byte { return &r.Payload },
	}
	for name, field := range fields {
		for i := range len(*field(&row)) * 8 {
			bad := row
			b := bytes.Clone(*field(&row))
			b[i/8] ^= 1 << (i % 8)
			*field(&bad) = b
			if _, err := bad.Decode(); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s bit %d: %v", name, i, err)
			}
		}
	}
	for name, spoil := range map[string]func(*Row){
		"shard": func(r *Row) { r.Shard++ }, "version": func(r *Row) { r.Version++ }, "types": func(r *Row) { r.Types += "x" },
		"tenant": func(r *Row) { r.Target.Tenant = "" }, "aggregate": func(r *Row) { r.Target.Aggregate += "s" }, "ID": func(r *Row) { r.Target.ID += "s" },
		"moved":  func(r *Row) { r.Target.Tenant, r.Target.Aggregate = "acm", "eshop.order" },
		"commit": func(r *Row) { r.Commit += "s" }, "request": func(r *Row) { r.Request = "" }, "correlation": func(r *Row) { r.Correlation = "" },
		"causation": func(r *Row) { r.Causation = "" }, "decided": func(r *Row) { r.DecidedAt++ },
	} {
		bad := row
		spoil(&bad)
		_, err := bad.Decode()
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if where := (*Error)(nil); !errors.As(err, &where) || where.Target != bad.Target {
			t.Errorf("%s: %v does not say where", name, err)
		}
	}
	row.Seq, row.StoredAt = 7, 8
	if _, err := row.Decode(); err != nil {
		t.Errorf("position and time are the store's: %v", err)
	}
}

func TestUnknownHeaderEntriesPass(t *testing.T) {
	row, _ := Encode(&golden[1].commit, 0, nil)
	row.Header = append([]byte{row.Header[0] + 1, 77, 3, 'n', 'e', 'w'}, row.Header[1:]...)
	row.Sum, _ = row.sum(nil)
	c, err := row.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if want := golden[1].commit.Metadata; !reflect.DeepEqual(c.Metadata, want) {
		t.Errorf("metadata %q, want %q", c.Metadata, want)
	}
}

func TestWhatANewerVersionWroteIsRefused(t *testing.T) {
	sealed, _ := Encode(&golden[0].commit, 0, nil)
	sealed.Payload = bytes.Clone(sealed.Payload)
	sealed.Payload[2] = 1 // a flag
	sealed.Sum, _ = sealed.sum(nil)
	later, _ := Encode(&golden[0].commit, 0, nil)
	later.Format = 2
	for name, row := range map[string]Row{"flag": sealed, "format": later} {
		if _, err := row.Decode(); !errors.Is(err, ErrFormat) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, err, ErrFormat)
		}
	}
}

func TestManyEventsShareOneBuffer(t *testing.T) {
	var buf []byte
	var rows []Row
	for i := range 50 {
		c := golden[i%2].commit
		c.Events = append([]store.Event{{Name: fmt.Sprint("e", i), Data: bytes.Repeat([]byte{byte(i)}, i)}}, c.Events...)
		var row Row
		row, buf = Encode(&c, 0, buf)
		rows = append(rows, row)
	}
	for i, row := range rows {
		c, err := row.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if c.Events[0].Name != fmt.Sprint("e", i) || len(c.Events[0].Data) != i {
			t.Errorf("row %d: %+v", i, c.Events[0])
		}
	}
}

// FuzzDecode: no bytes make the decoder panic or take more room than they are
// worth, and what it accepts as a payload is what it would write itself.
func FuzzDecode(f *testing.F) {
	for _, g := range golden {
		row, _ := Encode(&g.commit, g.shard, nil)
		f.Add(row.Header, row.Payload, row.Types)
	}
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "")
	f.Fuzz(func(t *testing.T, header, payload []byte, types string) {
		row := Row{Format: Format1, Target: wow.Target{Aggregate: "a", ID: "b"}, Version: 1, Commit: "c", Types: types, Header: header, Payload: payload}
		row.Sum, _ = row.sum(nil)
		c, err := row.Decode()
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if got := appendPayload(nil, c.Events); !bytes.Equal(got, payload) {
			t.Errorf("payload %x is written as %x", payload, got)
		}
		var names []string
		for _, e := range c.Events {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, Separator); got != types {
			t.Errorf("types %q are written as %q", types, got)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		_, buf = Encode(&golden[0].commit, 0, buf[:0])
	}
}

func BenchmarkDecode(b *testing.B) {
	row, _ := Encode(&golden[0].commit, 0, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := row.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}
