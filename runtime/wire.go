package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/wowgen/wow"
)

// SendJSON sends a command that came from outside: its name ("add_item",
// "cart.add_item" or "shop.cart.add_item"), the ID of its aggregate, and its
// fields as encoding/json reads them. The ID may also stand in the body; where
// it stands in both, it must be the same.
func (g *Gateway) SendJSON(ctx context.Context, name, id string, body []byte, opts ...SendOption) (Receipt, error) {
	cmd, err := g.r.decodeCommand(name, id, body)
	if err != nil {
		return Receipt{}, fmt.Errorf("runtime: reading command %q for %q: %w", name, id, err)
	}
	return g.Send(ctx, cmd, opts...)
}

func (r *Runtime) decodeCommand(name, id string, body []byte) (wow.Sendable, error) {
	if err := r.life.enter(false); err != nil {
		return nil, err
	}
	defer r.life.leave()
	h, err := r.types.resolve(name)
	if err != nil {
		return nil, err
	}
	if h.Command.Decode == nil {
		return nil, fmt.Errorf("%w: %s cannot be sent as JSON", wow.ErrInvalid, h.name)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	cmd, err := h.Command.Decode(json.Unmarshal, id, body)
	if err != nil {
		return nil, fmt.Errorf("%w: the body of %s: %w", wow.ErrInvalid, h.name, err)
	}
	if in := cmd.WowTarget().ID; id != "" && in != id {
		return nil, fmt.Errorf("%w: the command is for %q, its body says %q", wow.ErrInvalid, id, in)
	}
	return cmd, nil
}
