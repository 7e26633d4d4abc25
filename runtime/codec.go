package runtime

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// How events and states become bytes and come back. Each stored event carries
// the tag of its codec, so a history may hold several.

// encodeEvent returns the bytes of an event. Later changes of what the event
// points to do not reach them.
func encodeEvent(e wow.DomainEvent) (store.Codec, []byte, error) {
	data, err := json.Marshal(e)
	return store.JSON, data, err
}

// readEvent returns a stored event of type t, an older revision as t is now.
// One without an upcaster is read as t itself, whose shape may have grown.
func readEvent(t *wow.EventType, e *store.Event) (wow.DomainEvent, error) {
	if e.Revision > t.Revision {
		return nil, fmt.Errorf("event %q has revision %d, this program knows %d: %w", e.Name, e.Revision, t.Revision, wow.ErrUnknownType)
	}
	for _, old := range t.Older {
		if old.Revision == e.Revision {
			t = old
			break
		}
	}
	return decodeEvent(t, e.Codec, e.Data)
}

// decodeEvent returns the event that data holds.
func decodeEvent(t *wow.EventType, codec store.Codec, data []byte) (wow.DomainEvent, error) {
	unmarshal, err := decoder(codec)
	if err != nil {
		return nil, err
	}
	return t.Decode(unmarshal, data)
}

// decoder returns the decoding half of a codec.
func decoder(codec store.Codec) (wow.Unmarshal, error) {
	if codec == store.JSON {
		return json.Unmarshal, nil
	}
	return nil, fmt.Errorf("codec %d is unknown to this program: %w", codec, wow.ErrUnknownType)
}

// replaced is what json.Marshal writes for bytes that are not UTF-8. A backslash
// in a string can look like it too, which costs a decoding and nothing else.
var replaced = []byte(`\ufffd`)

// faithful reports whether an encoded flat event is all of the event.
func faithful(data []byte) bool { return !bytes.Contains(data, replaced) }

// isFlat reports whether an event of this type may be applied as the handler
// made it. Others are applied as decoded from their bytes, so that what is
// stored is what happened: an event that shares a map with the state, or has a
// field that the encoding drops, changes on the way.
func isFlat(t *wow.EventType) (flat bool) {
	defer func() {
		if recover() != nil {
			flat = false // a decoder that needs more than an empty object
		}
	}()
	e, err := t.Decode(json.Unmarshal, []byte("{}"))
	return err == nil && e != nil && flatType(reflect.TypeOf(e), 0)
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonNumber      = reflect.TypeFor[json.Number]()
)

func flatType(t reflect.Type, depth int) bool {
	p := reflect.PointerTo(t)
	if p.Implements(jsonMarshaler) || p.Implements(jsonUnmarshaler) || p.Implements(textMarshaler) || p.Implements(textUnmarshaler) || t == jsonNumber || depth > 10 {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Array:
		return flatType(t.Elem(), depth+1)
	case reflect.Struct:
		return flatStruct(t, depth)
	}
	return false
}

// flatStruct looks for fields that the encoding would not carry: unexported,
// tagged away, embedded, or under the name of another.
func flatStruct(t reflect.Type, depth int) bool {
	names := map[string]bool{}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		name = strings.ToLower(name)
		if !f.IsExported() || f.Anonymous || tag == "-" || names[name] || !flatType(f.Type, depth+1) {
			return false
		}
		names[name] = true
	}
	return true
}
