package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// long is n bytes of text in which every character takes two.
func long(n int) string { return strings.Repeat("é", n/2) }

var limitTests = []test{
	{"the largest keys are stored and found", func(f *fixture) {
		t := wow.Target{Tenant: long(store.MaxTenant), Aggregate: long(store.MaxAggregate), ID: long(store.MaxID)}
		c := requested(t, 1, long(store.MaxID))
		c.ID, c.Correlation, c.Causation = long(store.MaxID), long(store.MaxID), long(store.MaxID)
		c.Events[0].Name = long(store.MaxName)
		f.stored(c)
		f.holds("stream", f.history(t), c)
		again := requested(t, 2, long(store.MaxID))
		again.Correlation = ""
		f.want(f.append(again), store.Repeated)
	}},
	{"the largest commit is stored and read", func(f *fixture) {
		c := commit(cart("a"), 1)
		c.Metadata = map[string]string{}
		c.Events = []store.Event{{Name: "e", Codec: store.JSON, Data: make([]byte, store.MaxCommit-1)}}
		for i := range c.Events[0].Data {
			c.Events[0].Data[i] = byte(i * i >> 3)
		}
		f.stored(c)
		f.holds("stream", f.history(cart("a")), c)
		f.holds("log", f.log(0), c)
	}},
	{"the most metadata is stored and read", func(f *fixture) {
		c := commit(cart("a"), 1)
		c.Metadata = map[string]string{}
		for i := range store.MaxMetadata {
			k := fmt.Sprintf("key-%03d", i)
			c.Metadata[k] = strings.Repeat("v", store.MaxMetadataBytes/store.MaxMetadata-len(k))
		}
		f.stored(c)
		f.holds("stream", f.history(cart("a")), c)
	}},
	{"many events are one commit", func(f *fixture) {
		c := commit(cart("a"), 1)
		c.Events = nil
		for i := range 1000 {
			c.Events = append(c.Events, store.Event{Name: fmt.Sprint("e", i%7), Revision: i, Codec: store.Codec(i%2 + 1), Data: fmt.Append(nil, i)})
		}
		f.stored(c)
		f.holds("stream", f.history(cart("a")), c)
	}},
	{"what is outside the limits is refused, and ends its chain", func(f *fixture) {
		bad := map[string]func(*store.Commit){
			"no ID":             func(c *store.Commit) { c.ID = "" },
			"version 0":         func(c *store.Commit) { c.Version = 0 },
			"negative version":  func(c *store.Commit) { c.Version = -1 },
			"no events":         func(c *store.Commit) { c.Events = nil },
			"event name":        func(c *store.Commit) { c.Events[0].Name = "" },
			"long event name":   func(c *store.Commit) { c.Events[0].Name = strings.Repeat("e", store.MaxName+1) },
			"long request":      func(c *store.Commit) { c.Request = strings.Repeat("r", store.MaxID+1) },
			"NUL in request":    func(c *store.Commit) { c.Request = "a\x00b" },
			"long ID":           func(c *store.Commit) { c.ID = strings.Repeat("r", store.MaxID+1) },
			"invalid UTF-8":     func(c *store.Commit) { c.Correlation = "a\xffb" },
			"control character": func(c *store.Commit) { c.Causation = "a\u0085b" },
			"metadata entries": func(c *store.Commit) {
				for i := range store.MaxMetadata + 1 {
					c.Metadata[fmt.Sprint(i)] = ""
				}
			},
			"metadata bytes": func(c *store.Commit) { c.Metadata["k"] = strings.Repeat("v", store.MaxMetadataBytes) },
			"size":           func(c *store.Commit) { c.Events[0].Data = make([]byte, store.MaxCommit) },
		}
		f.stored(commit(cart("a"), 1))
		for name, spoil := range bad {
			c := commit(cart("a"), 2)
			spoil(c)
			rs := f.append(c, commit(cart("a"), 3))
			f.want(rs, store.Failed, store.Failed)
			if !errors.Is(rs[0].Err, wow.ErrInvalid) || !errors.Is(rs[1].Err, store.ErrChain) {
				f.Errorf("%s: %v, then %v", name, rs[0].Err, rs[1].Err)
			}
		}
		f.holds("log behind the first", f.log(0)[1:])
	}},
	{"targets outside the limits are refused, others in the batch are stored", func(f *fixture) {
		for _, t := range []wow.Target{
			{}, {Aggregate: "shop.cart"}, {ID: "a"}, cart("a\x00"), cart("a\nb"), cart("a\x7f"), cart("\xff"), cart("a\u009fb"),
			{Tenant: strings.Repeat("t", store.MaxTenant+1), Aggregate: "shop.cart", ID: "a"},
			{Aggregate: strings.Repeat("t", store.MaxAggregate+1), ID: "a"},
			cart(strings.Repeat("t", store.MaxID+1)),
		} {
			good := commit(cart(newID()), 1)
			rs := f.append(commit(t, 1), good)
			f.want(rs, store.Failed, store.Stored)
			if !errors.Is(rs[0].Err, wow.ErrInvalid) {
				f.Errorf("target %q: %v, want it to be invalid", t, rs[0].Err)
			}
			if _, err := f.Settle(f.ctx(), []store.Settlement{{Target: t, Keep: true, Outcome: store.Outcome{Kind: store.NoOp, Request: "r"}}}); !errors.Is(err, wow.ErrInvalid) {
				f.Errorf("settle of target %q: %v, want it to be invalid", t, err)
			}
		}
	}},
	{"an outcome that says it is a commit is not kept", func(f *fixture) {
		d := kept("a", 0, store.Committed, "r1")
		if _, err := f.Settle(f.ctx(), []store.Settlement{d}); !errors.Is(err, wow.ErrInvalid) {
			f.Errorf("settle: %v, want it to be invalid", err)
		}
		d = kept("a", 0, store.NoOp, "")
		if _, err := f.Settle(f.ctx(), []store.Settlement{d}); !errors.Is(err, wow.ErrInvalid) {
			f.Errorf("settle without a request: %v, want it to be invalid", err)
		}
	}},
}
