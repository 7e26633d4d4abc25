package runtime

import (
	"fmt"
	"path"
	goruntime "runtime"
	"strings"
)

// panicked is the error of a consumer's function that panicked. The text of a
// parked message is all that an operator may have, so it says where.
type panicked struct {
	value any
	where string // "domain/desk.go:31 in domain.(*Desk).OnOrder"
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v (at %s)", p.value, p.where) }

// Unwrap returns the value if it is an error.
func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// guarded calls f and makes a panic its error.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, panicSite()}
		}
	}()
	return f()
}

// panicSite is the line that panicked: while a panic is recovered, the first
// one below Go's own machinery for it.
func panicSite() string {
	var pcs [64]uintptr
	frames := goruntime.CallersFrames(pcs[:goruntime.Callers(0, pcs[:])])
	for inPanic := false; ; {
		frame, more := frames.Next()
		own := strings.HasPrefix(frame.Function, "runtime.")
		switch {
		case frame.Function == "runtime.gopanic":
			inPanic = true
		case inPanic && !own:
			dir, file := path.Split(frame.File)
			return fmt.Sprintf("%s/%s:%d in %s", path.Base(dir), file, frame.Line, path.Base(frame.Function))
		}
		if !more {
			return "an unknown line"
		}
	}
}
