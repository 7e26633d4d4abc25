package runtime

import (
	"errors"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

type renamed struct{ Name string }

func (renamed) WowEvent() *wow.EventType { return nil }

func TestAnOldRevisionIsReadThroughItsUpcaster(t *testing.T) {
	type renamedV1 struct{ First, Last string }
	now := &wow.EventType{Name: "renamed", Revision: 3,
		Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
			var e renamed
			err := decode(data, &e)
			return e, err
		},
		Older: []*wow.EventType{{Name: "renamed", Revision: 1, Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
			var e renamedV1
			err := decode(data, &e)
			return renamed{e.First + " " + e.Last}, err
		}}},
	}
	for _, c := range []struct {
		revision int
		data     string
	}{
		{1, `{"First":"Ada","Last":"Lovelace"}`},
		{2, `{"Name":"Ada Lovelace"}`}, // no upcaster: the shape of now reads it
		{3, `{"Name":"Ada Lovelace"}`},
	} {
		e, err := readEvent(now, &store.Event{Name: "renamed", Revision: c.revision, Codec: store.JSON, Data: []byte(c.data)})
		if err != nil || e != (renamed{"Ada Lovelace"}) {
			t.Errorf("revision %d: %v, %v; want Ada Lovelace", c.revision, e, err)
		}
	}
	if _, err := readEvent(now, &store.Event{Name: "renamed", Revision: 4, Codec: store.JSON, Data: []byte(`{}`)}); !errors.Is(err, wow.ErrUnknownType) {
		t.Errorf("a revision of the future: %v, want %v", err, wow.ErrUnknownType)
	}
}
