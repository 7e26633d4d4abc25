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
		deleted           bool
	}{
		{wow.Exists, 0, 0, CodeNotFound, false},
		{wow.Exists, 1, 0, "", false},
		{wow.Upsert, 0, 0, "", false},
		{wow.Upsert, 1, 0, "", false},
		{wow.Create, 0, 0, "", false},
		{wow.Create, 1, 0, CodeAlreadyExists, false},
		{wow.Upsert, 3, 3, "", false},
		{wow.Upsert, 3, 2, "conflict", false},
		{wow.Exists, 3, 0, CodeDeleted, true},
		{wow.Upsert, 3, 0, CodeDeleted, true},
		{wow.Create, 3, 0, CodeDeleted, true},
		{wow.Upsert, 3, 2, CodeDeleted, true},
		{wow.Recover, 3, 0, "", true},
		{wow.Recover, 3, 2, "conflict", true},
		{wow.Recover, 3, 0, CodeNotDeleted, false},
		{wow.Recover, 0, 0, CodeNotFound, false},
	} {
		err := Admit(&wow.CommandType{Name: "add_item", Mode: c.mode}, target, c.version, c.expected, c.deleted)
		if got := wow.Code(err); got != c.want {
			t.Errorf("%s at version %d, expected %d: got code %q (%v), want %q", c.mode, c.version, c.expected, got, err, c.want)
		}
		if refused := errors.As(err, new(*wow.Refusal)); c.want == "conflict" && refused {
			t.Errorf("a conflict is no refusal: %v", err)
		}
	}
}
