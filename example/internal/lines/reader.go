package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of the input, without its end.
type line struct {
	number int // from 1
	text   []byte
	long   bool // longer than MaxLine; text is what fits
}

// reader cuts the input into lines. Lines end with LF or CRLF; the last one
// may end with the input. Some editors put a byte order mark before the first.
type reader struct {
	in     *bufio.Reader
	number int
}

func newReader(in io.Reader) *reader { return &reader{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns the next line, or io.EOF behind the last. The text is the
// caller's. Of a line that is too long the rest is read over, not kept.
func (r *reader) next() (line, error) {
	l := line{number: r.number + 1}
	for {
		part, err := r.in.ReadSlice('\n')
		if room := MaxLine + len("\r\n") - len(l.text); len(part) > room {
			part, l.long = part[:room], true
		}
		l.text = append(l.text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(l.text) == 0):
			return line{}, err
		}
		r.number++
		if r.number == 1 {
			l.text = bytes.TrimPrefix(l.text, []byte("\ufeff"))
		}
		l.text = bytes.TrimSuffix(bytes.TrimSuffix(l.text, []byte("\n")), []byte("\r"))
		l.long = l.long || len(l.text) > MaxLine
		return l, nil
	}
}
