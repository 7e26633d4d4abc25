package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// mill is watermill's CQRS component on its GoChannel: sending a command waits
// for its acknowledgement. Watermill has no event store, so there is a small one.
type mill struct {
	commands, events *gochannel.GoChannel
	router           *message.Router
	bus              *cqrs.CommandBus
	mu               sync.Mutex
	log              map[int][]millDeposited
	n, sum           atomic.Int64
	cancel           context.CancelFunc
	stopped          chan error
}

type millDeposit struct {
	Account int
	Amount  int64
}

type millDeposited struct {
	Account int
	Amount  int64
	Version int
}

func openWatermill() (system, error) {
	quiet := watermill.NopLogger{}
	s := &mill{log: map[int][]millDeposited{}, stopped: make(chan error, 1)}
	s.commands = gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true, OutputChannelBuffer: 1024}, quiet)
	s.events = gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 1024}, quiet)
	var errs [7]error
	s.router, errs[0] = message.NewRouter(message.RouterConfig{CloseTimeout: 5 * time.Second}, quiet)
	json := cqrs.JSONMarshaler{}
	s.bus, errs[1] = cqrs.NewCommandBusWithConfig(s.commands, cqrs.CommandBusConfig{
		GeneratePublishTopic: func(p cqrs.CommandBusGeneratePublishTopicParams) (string, error) { return p.CommandName, nil },
		Marshaler:            json, Logger: quiet,
	})
	eventBus, err := cqrs.NewEventBusWithConfig(s.events, cqrs.EventBusConfig{
		GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) { return p.EventName, nil },
		Marshaler:            json, Logger: quiet,
	})
	errs[2] = err
	handle, err := cqrs.NewCommandProcessorWithConfig(s.router, cqrs.CommandProcessorConfig{
		GenerateSubscribeTopic: func(p cqrs.CommandProcessorGenerateSubscribeTopicParams) (string, error) { return p.CommandName, nil },
		SubscriberConstructor: func(cqrs.CommandProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return s.commands, nil
		},
		Marshaler: json, Logger: quiet,
	})
	errs[3] = err
	project, err := cqrs.NewEventProcessorWithConfig(s.router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(p cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return p.EventName, nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return s.events, nil
		},
		Marshaler: json, Logger: quiet,
	})
	errs[4] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	errs[5] = handle.AddHandlers(cqrs.NewCommandHandler("deposit", func(ctx context.Context, c *millDeposit) error {
		e, err := s.append(c)
		if err != nil {
			return err
		}
		return eventBus.Publish(ctx, &e)
	}))
	errs[6] = project.AddHandlers(cqrs.NewEventHandler("totals", func(_ context.Context, e *millDeposited) error {
		s.sum.Add(e.Amount)
		s.n.Add(1)
		return nil
	}))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() { s.stopped <- s.router.Run(ctx) }()
	<-s.router.Running()
	return s, nil
}

func (s *mill) append(c *millDeposit) (millDeposited, error) {
	if c.Amount <= 0 {
		return millDeposited{}, errors.New("not positive")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := millDeposited{c.Account, c.Amount, len(s.log[c.Account]) + 1}
	s.log[c.Account] = append(s.log[c.Account], e)
	return e, nil
}

func (s *mill) deposit(ctx context.Context, account int, amount int64) error {
	return s.bus.Send(ctx, &millDeposit{account, amount})
}

func (s *mill) projected() (int64, int64) { return s.n.Load(), s.sum.Load() }

func (s *mill) close() error {
	s.cancel()
	return errors.Join(s.router.Close(), <-s.stopped, s.commands.Close(), s.events.Close())
}
