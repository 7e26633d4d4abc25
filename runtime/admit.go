package runtime

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// Validatable is a command that can tell whether it is well-formed, apart from
// any state. Its error reaches the sender as wow.ErrInvalid, and the command is
// not sent.
type Validatable interface{ Validate() error }

// admit completes a command and checks all that can be checked before it is
// sent. Its errors do not name the command; the caller does.
func (r *Runtime) admit(f *flight) error {
	t := f.Body.WowCommand()
	h := r.types.commands[t]
	if h == nil {
		return fmt.Errorf("%w: no registered aggregate decides it: register %s", wow.ErrUnknownType, t.Aggregate)
	}
	f.handler = h
	if f.cause != nil {
		r.inherit(f, f.cause)
	}
	if f.Target.ID == "" && t.Mode == wow.Create {
		f.Target.ID = r.createdID(f)
	}
	if err := f.check(); err != nil {
		return err
	}
	if err := f.chain(); err != nil {
		return err
	}
	if f.cause.waitsFor(&f.Target) {
		return fmt.Errorf("%w: its own handler would wait for it: return events instead, or send it from a saga: %w", wow.ErrInvalid, executor.ErrOwnKey)
	}
	if v, ok := f.Body.(Validatable); ok {
		return validate(v)
	}
	return nil
}

// inherit makes the command part of the conversation, and of the tenant, of the
// handler that sends it.
func (r *Runtime) inherit(f *flight, c *cause) {
	or(&f.Correlation, c.correlation)
	or(&f.Causation, c.causation)
	if f.handler.agg.State.Tenant {
		or(&f.Target.Tenant, c.target.Tenant)
	}
	r.propagate(f, c)
}

// propagate hands on the metadata that is declared to go on.
func (r *Runtime) propagate(f *flight, c *cause) {
	for _, key := range r.cfg.Propagate {
		v, ok := c.metadata[key]
		if _, given := f.Metadata[key]; ok && !given {
			WithMetadata(map[string]string{key: v})(&f.Command)
		}
	}
}

// check holds the command to the limits of what can be stored.
func (f *flight) check() error {
	if err := store.CheckTarget(f.Target); err != nil {
		return err
	}
	if takes := f.handler.agg.State.Tenant; takes != (f.Target.Tenant != "") {
		if takes {
			return fmt.Errorf("%w: %s needs a tenant", wow.ErrInvalid, f.Target.Aggregate)
		}
		return fmt.Errorf("%w: %s has no tenants, the command names %q", wow.ErrInvalid, f.Target.Aggregate, f.Target.Tenant)
	}
	return f.checkSent()
}

// checkSent is the part of check that asks nothing of the aggregate.
func (f *flight) checkSent() error {
	if f.Expected < 0 {
		return fmt.Errorf("%w: the expected version is %d", wow.ErrInvalid, f.Expected)
	}
	if f.cause != nil && f.cause.depth >= maxDepth {
		return fmt.Errorf("%w: %d handlers wait for each other already", wow.ErrInvalid, maxDepth)
	}
	for _, k := range [...]struct{ what, s string }{
		{"request ID", f.Request}, {"correlation ID", f.Correlation}, {"causation ID", f.Causation},
	} {
		if k.s == "" {
			continue
		}
		if err := store.CheckKey(k.what, k.s, store.MaxID); err != nil {
			return err
		}
	}
	if len(f.Metadata) > 0 {
		return checkMetadata(f.Metadata)
	}
	return nil
}

func checkMetadata(m map[string]string) error {
	if len(m) > store.MaxMetadata {
		return fmt.Errorf("%w: %d entries of metadata, the limit is %d", wow.ErrInvalid, len(m), store.MaxMetadata)
	}
	size := 0
	for k, v := range m {
		size += len(k) + len(v)
		switch {
		case k == "":
			return fmt.Errorf("%w: a metadata key is empty", wow.ErrInvalid)
		case strings.HasPrefix(k, "wow-"):
			return fmt.Errorf(`%w: metadata key %q: "wow-" is reserved`, wow.ErrInvalid, k)
		case !utf8.ValidString(k) || !utf8.ValidString(v):
			return fmt.Errorf("%w: metadata %q: %q is not valid UTF-8", wow.ErrInvalid, k, v)
		}
	}
	if size > store.MaxMetadataBytes {
		return fmt.Errorf("%w: %d bytes of metadata, the limit is %d", wow.ErrInvalid, size, store.MaxMetadataBytes)
	}
	return nil
}

// validate asks the command itself. It runs on the sender's goroutine, where a
// panic would be the sender's.
func validate(v Validatable) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: Validate panicked: %v", wow.ErrFailed, p)
		}
	}()
	if err := v.Validate(); err != nil {
		return fmt.Errorf("%w: %w", wow.ErrInvalid, err)
	}
	return nil
}
