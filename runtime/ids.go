package runtime

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// idLength is the length of a UUID as text.
const idLength = 36

// idSource makes UUIDv7s. Their texts are cut from larger ones, so that one
// allocation serves many; a source belongs to one goroutine at a time.
type idSource struct {
	text strings.Builder
}

var idSources = sync.Pool{New: func() any { return new(idSource) }}

// newID returns a new UUIDv7: milliseconds, then in place of rand_a the part of
// the millisecond, so that IDs of one process are in order, then 62 random bits
// from Go's own generator (ChaCha8, seeded by the system, one per thread).
func newID(now time.Time) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[0:], tick(now))
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()&(1<<62-1)|1<<63)
	s := idSources.Get().(*idSource)
	defer idSources.Put(s)
	return s.format(id)
}

// lastTick is the time in the newest ID, in 1/4096 milliseconds.
var lastTick atomic.Int64

// tick returns the first half of a UUIDv7, another one each time.
func tick(now time.Time) uint64 {
	ms := now.UnixMilli()
	t := ms<<12 | int64(now.Nanosecond())%1_000_000*4096/1_000_000
	for {
		last := lastTick.Load()
		t = max(t, last+1)
		if lastTick.CompareAndSwap(last, t) {
			return uint64(t)>>12<<16 | 7<<12 | uint64(t)&0xfff
		}
	}
}

// format returns id as text. What was returned before keeps its bytes: a
// Builder only ever writes behind them.
func (s *idSource) format(id uuid.UUID) string {
	const block = 56 * idLength // a size class of the allocator, nearly
	if s.text.Cap()-s.text.Len() < idLength {
		s.text = strings.Builder{}
		s.text.Grow(block)
	}
	at := s.text.Len()
	var b [idLength]byte
	encodeID(&b, id)
	s.text.Write(b[:])
	return s.text.String()[at:]
}

func encodeID(b *[idLength]byte, id uuid.UUID) {
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
}

// derivedID returns a UUIDv8 of SHA-256 over parts. The same parts give the
// same ID on every machine, for ever.
func derivedID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		io.WriteString(h, p)
		h.Write([]byte{0}) // no part holds it
	}
	var id uuid.UUID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id.String()
}

// createdID is the ID of an aggregate that a command creates without naming
// it. A request ID decides it, so that a repeat finds what the first created.
func (r *Runtime) createdID(f *flight) string {
	if f.Request == "" {
		return r.commands.newID(r.cfg.Now())
	}
	return derivedID(f.Target.Tenant, f.Target.Aggregate, f.Request)
}
