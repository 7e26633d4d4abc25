package ctl

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress tells how far a long command has come: once a second, on one line of
// a terminal. What takes less than a second says nothing.
type progress struct {
	w     io.Writer
	total int64
	began time.Time
	last  time.Time
	eol   string
	shown bool
}

func newProgress(w io.Writer, total int64) *progress {
	p := &progress{w: w, total: total, began: time.Now(), last: time.Now(), eol: "\n"}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.eol = "\r"
		}
	}
	return p
}

func (p *progress) tell(done int64) {
	now := time.Now()
	if now.Sub(p.last) < time.Second {
		return
	}
	p.last, p.shown = now, true
	each := now.Sub(p.began) / time.Duration(max(done, 1))
	fmt.Fprintf(p.w, "%d of %d commits, %v left   %s", done, p.total, (each * time.Duration(p.total-done)).Round(time.Second), p.eol)
}

func (p *progress) end() {
	if p.shown && p.eol == "\r" {
		fmt.Fprintln(p.w)
	}
}
