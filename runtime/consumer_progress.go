package runtime

import (
	"sync"
	"time"
)

const (
	// meterEvery is over how long a consumer's speed is measured.
	meterEvery = time.Second
	// A consumer that is catchUpLag commits behind says how far it is every
	// catchUpTell.
	catchUpLag  = 10_000
	catchUpTell = 10 * time.Second
)

// meter measures how fast a consumer is.
type meter struct {
	mu    sync.Mutex
	begun time.Time // of the measurement under way; zero: none
	from  int64     // where it was then
	rate  float64   // commits a second, the newest counting most
	told  time.Time // when the log was told
}

// note takes in where the consumer is. It reports whether it is time to tell.
func (m *meter) note(now time.Time, at, head int64) (tell bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	took := now.Sub(m.begun)
	switch {
	case m.begun.IsZero() || took > 10*meterEvery: // it was idle
		m.begun, m.from, m.rate = now, at, 0
	case took >= meterEvery:
		rate := float64(at-m.from) / took.Seconds()
		if m.rate > 0 {
			rate = 0.5*rate + 0.5*m.rate
		}
		m.begun, m.from, m.rate = now, at, rate
	}
	if head-at < catchUpLag || now.Sub(m.told) < catchUpTell {
		return false
	}
	m.told = now
	return true
}

// left is how long the rest will take at this speed; 0 when that is unknown.
func (m *meter) left(lag int64) (rate float64, left time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rate <= 0 || lag <= 0 {
		return m.rate, 0
	}
	return m.rate, time.Duration(float64(lag) / m.rate * float64(time.Second)).Round(time.Second)
}
