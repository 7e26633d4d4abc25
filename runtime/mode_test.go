package runtime

import (
	"errors"
	"testing"

	"github.com/wowgen/wow"
)

func TestAdmitHoldsCommandsToTheirMode(t *testing.T) {
	target := wow.Target{Aggregate: "shop.cart", ID: "c1"}
	for _, c := range []struct {
		mode              wow.Mode
		version, expected int64
		want              string
	}{
		{wow.Exists, 0, 0, CodeNotFound},
		{wow.Exists, 1, 0, ""},
		{wow.Upsert, 0, 0, ""},
		{wow.Upsert, 1, 0, ""},
		{wow.Create, 0, 0, ""},
		{wow.Create, 1, 0, CodeAlreadyExists},
		{wow.Upsert, 3, 3, ""},
		{wow.Upsert, 3, 2, "conflict"},
	} {
		err := Admit(&wow.CommandType{Name: "add_item", Mode: c.mode}, target, c.version, c.expected)
		if got := wow.Code(err); got != c.want {
			t.Errorf("%s at version %d, expected %d: got code %q (%v), want %q", c.mode, c.version, c.expected, got, err, c.want)
		}
		if refused := errors.As(err, new(*wow.Refusal)); c.want == "conflict" && refused {
			t.Errorf("a conflict is no refusal: %v", err)
		}
	}
}
