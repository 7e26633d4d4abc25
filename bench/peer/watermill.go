package peer

import (
	"context"
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// watermill has a topic and a subscriber per key on its GoChannel. A message's
// payload is the ID of ours, its UUID stays empty: making one would cost more.
type watermill struct {
	h  Handler
	ps *gochannel.GoChannel
	mu sync.RWMutex
	m  map[uint64]string
	wg sync.WaitGroup
}

func newWatermill(h Handler, c Config) Exec {
	return perLane(func(h Handler, _ Config) Exec {
		ps := gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 256}, nil)
		return &watermill{h: h, m: map[uint64]string{}, ps: ps}
	})(h, c)
}

func (e *watermill) Submit(m *Msg) {
	e.mu.RLock()
	topic := e.m[m.Key]
	e.mu.RUnlock()
	if topic == "" {
		topic = e.create(m.Key)
	}
	must(e.ps.Publish(topic, message.NewMessage("", binary.LittleEndian.AppendUint32(nil, m.ID))))
}

func (e *watermill) create(key uint64) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.m[key]; t != "" {
		return t
	}
	topic := strconv.FormatUint(key, 16)
	ch, err := e.ps.Subscribe(context.Background(), topic)
	must(err)
	e.wg.Go(func() {
		for m := range ch {
			e.h.Handle(e.h.Msg(binary.LittleEndian.Uint32(m.Payload)))
			m.Ack()
		}
	})
	e.m[key] = topic
	return topic
}

func (e *watermill) Close() { must(e.ps.Close()); e.wg.Wait() }
