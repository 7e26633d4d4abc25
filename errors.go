package wow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Refusal is the decision not to do what a command asks for. The sender gets
// it, also over a bus; sending the same request again gets the same refusal.
//
// Any error that a command handler returns is a refusal, unless it wraps
// Retryable. Refuse gives it a code that callers and sagas can compare.
type Refusal struct {
	Code    string // for programs: "cart_empty"
	Message string // for people
	cause   error  // what the handler returned; nil once it crossed a process
}

// Refuse returns a refusal. Two refusals are the same for errors.Is when their
// codes are. An empty code is "refused".
func Refuse(code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Refusal{Code: cmp.Or(code, refused), Message: err.Error(), cause: errors.Unwrap(err)}
}

// refused is the code of a refusal that has none of its own.
const refused = "refused"

// RefusalOf returns the refusal that err is or wraps. An error without one, or
// without a code, becomes a refusal with the code "refused".
func RefusalOf(err error) *Refusal {
	code := refused
	if r := (*Refusal)(nil); errors.As(err, &r) {
		if err == error(r) && r.Code != "" {
			return r
		}
		code = cmp.Or(r.Code, refused)
	}
	return &Refusal{Code: code, Message: err.Error(), cause: err}
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns what the handler returned, where that is known.
func (r *Refusal) Unwrap() error { return r.cause }

// Is reports whether target is a refusal with the same code.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code
}

// Marks that a handler wraps around its error, as in
//
//	return fmt.Errorf("price of %s: %w (%w)", sku, err, wow.Retryable)
var (
	// Retryable marks the error of a command handler as no refusal: the
	// command is tried again, with back-off.
	//
	//lint:ignore ST1012 it is a mark to wrap, not an error to return
	Retryable = errors.New("can be retried")
	// Permanent marks the error of an event handler as one that no retry
	// mends: the message is parked at once.
	//
	//lint:ignore ST1012 it is a mark to wrap, not an error to return
	Permanent = errors.New("is permanent")
)

// What a sender can get besides a refusal. Each names what to do.
var (
	// ErrInvalid: the command is malformed and was not sent. Mend it.
	ErrInvalid = errors.New("invalid")
	// ErrUnknownType: no registered aggregate knows this command or event.
	ErrUnknownType = errors.New("unknown type")
	// ErrConflict: others changed the aggregate more often than the handler's
	// policy retries, or it is not at the expected version. Load, then decide
	// anew.
	ErrConflict = errors.New("conflict")
	// ErrUnknownOutcome: the command may have taken effect. Send it again with
	// the same request ID: it takes effect once.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrOverloaded: a bounded queue is full. The command was not run; send it
	// again later.
	ErrOverloaded = errors.New("overloaded")
	// ErrParked: a consumer gave up on the commit and set it aside.
	ErrParked = errors.New("parked")
	// ErrStopping: the runtime takes no more work. The command was not run.
	ErrStopping = errors.New("stopping")
	// ErrFailed: the command failed for a technical reason, such as a panic in
	// its handler or a store that refuses. Nothing was stored.
	ErrFailed = errors.New("failed")
)

// Code returns a short word for err that programs and log searches can rely
// on: the code of a refusal, or "invalid", "unknown_type", "conflict",
// "unknown_outcome", "overloaded", "parked", "stopping", "canceled",
// "deadline_exceeded" or "failed". It is "" for nil.
func Code(err error) string {
	if err == nil {
		return ""
	}
	if r := (*Refusal)(nil); errors.As(err, &r) && !errors.Is(err, ErrFailed) {
		return cmp.Or(r.Code, refused)
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "failed"
}

var codes = []struct {
	err  error
	code string
}{
	{ErrUnknownOutcome, "unknown_outcome"}, // before the deadline that caused it
	{ErrInvalid, "invalid"},
	{ErrUnknownType, "unknown_type"},
	{ErrConflict, "conflict"},
	{ErrOverloaded, "overloaded"},
	{ErrParked, "parked"},
	{ErrStopping, "stopping"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline_exceeded"},
}
