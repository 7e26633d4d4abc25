package runtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wowgen/wow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The domain of the tests: accounts of a bank, written as wowgen would write
// them. Each command exists for one way in which a command can go.

// Account is the state. Tags shares its map with Tagged events unless the
// runtime keeps them apart.
type Account struct {
	ID      string
	Balance int64
	Tags    map[string]string
}

type (
	// Deposit opens the account where there is none. Request and Expected are
	// the tagged fields.
	Deposit struct {
		ID       string
		Amount   int64
		Request  string `json:",omitempty"`
		Expected int64  `json:",omitempty"`
	}
	// OpenAccount creates.
	OpenAccount struct {
		ID    string
		First int64
	}
	// Withdraw needs an account and is refused without cover.
	Withdraw struct {
		ID     string
		Amount int64
	}
	// Tag puts a map into an event, and as many events as there are tags.
	Tag struct {
		ID   string
		Tags map[string]string
	}
	// Do runs any function as its handler.
	Do struct {
		ID string
		F  func(ctx context.Context, s *Account, in *Command, out *Decision) error `json:"-"`
	}
)

type (
	// Deposited is flat.
	Deposited struct{ Amount, Balance int64 }
	// Withdrawn is flat.
	Withdrawn struct{ Amount int64 }
	// Tagged holds a map.
	Tagged struct {
		Tags   map[string]string
		hidden string
	}
	// Broken panics when it is applied.
	Broken struct{ Why string }
	// Stranger is no event of an account.
	Stranger struct{}
	// Noted holds text.
	Noted struct{ Text string }
)

var errNoCover = errors.New("no cover")

func (c Deposit) WowTarget() wow.Target     { return accountTarget(c.ID) }
func (c Deposit) WowRequest() string        { return c.Request }
func (c Deposit) WowExpected() int64        { return c.Expected }
func (c OpenAccount) WowTarget() wow.Target { return accountTarget(c.ID) }
func (c Withdraw) WowTarget() wow.Target    { return accountTarget(c.ID) }
func (c Tag) WowTarget() wow.Target         { return accountTarget(c.ID) }
func (c Do) WowTarget() wow.Target          { return accountTarget(c.ID) }

func (c Withdraw) Validate() error {
	if c.Amount < 0 {
		return errors.New("the amount is negative")
	}
	return nil
}

func (Deposit) WowCommand() *wow.CommandType     { return &depositCommand }
func (OpenAccount) WowCommand() *wow.CommandType { return &openCommand }
func (Withdraw) WowCommand() *wow.CommandType    { return &withdrawCommand }
func (Tag) WowCommand() *wow.CommandType         { return &tagCommand }
func (Do) WowCommand() *wow.CommandType          { return &doCommand }

func (Deposited) WowEvent() *wow.EventType { return &depositedEvent }
func (Withdrawn) WowEvent() *wow.EventType { return &withdrawnEvent }
func (Tagged) WowEvent() *wow.EventType    { return &taggedEvent }
func (Broken) WowEvent() *wow.EventType    { return &brokenEvent }
func (Stranger) WowEvent() *wow.EventType  { return &strangerEvent }
func (Noted) WowEvent() *wow.EventType     { return &notedEvent }

func (*Account) WowState() *wow.StateType { return &accountState }

func accountTarget(id string) wow.Target { return wow.Target{Aggregate: "bank.account", ID: id} }

func commandType[C wow.Sendable](name string, mode wow.Mode, key func(*C) *string) wow.CommandType {
	return wow.CommandType{Aggregate: "bank.account", Name: name, Mode: mode,
		Decode: func(decode wow.Unmarshal, id string, body []byte) (wow.Sendable, error) {
			var c C
			if err := decode(body, &c); err != nil {
				return nil, err
			}
			if k := key(&c); *k == "" {
				*k = id
			}
			return c, nil
		}}
}

func eventType[E wow.DomainEvent](name string) wow.EventType {
	return wow.EventType{Aggregates: []string{"bank.account"}, Name: name, Revision: 1,
		Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
			var e E
			err := decode(data, &e)
			return e, err
		}}
}

var (
	depositCommand  = commandType("deposit", wow.Upsert, func(c *Deposit) *string { return &c.ID })
	openCommand     = commandType("open_account", wow.Create, func(c *OpenAccount) *string { return &c.ID })
	withdrawCommand = commandType("withdraw", wow.Exists, func(c *Withdraw) *string { return &c.ID })
	tagCommand      = commandType("tag", wow.Upsert, func(c *Tag) *string { return &c.ID })
	doCommand       = commandType("do", wow.Upsert, func(c *Do) *string { return &c.ID })

	depositedEvent = eventType[Deposited]("deposited")
	withdrawnEvent = eventType[Withdrawn]("withdrawn")
	taggedEvent    = eventType[Tagged]("tagged")
	brokenEvent    = eventType[Broken]("broken")
	strangerEvent  = eventType[Stranger]("stranger")
	notedEvent     = eventType[Noted]("noted")

	accountState = wow.StateType{
		Aggregate: "bank.account", Revision: "1",
		Events: []*wow.EventType{&depositedEvent, &withdrawnEvent, &taggedEvent, &brokenEvent, &notedEvent},
		New:    func(t wow.Target) wow.State { return &Account{ID: t.ID} },
		Decode: func(decode wow.Unmarshal, data []byte) (wow.State, error) {
			s := new(Account)
			err := decode(data, s)
			return s, err
		},
		Apply: func(s wow.State, e wow.DomainEvent, m *wow.EventMeta) bool { return s.(*Account).apply(e) },
	}
)

func (s *Account) apply(event wow.DomainEvent) bool {
	switch e := event.(type) {
	case Deposited:
		s.Balance += e.Amount
	case Withdrawn:
		s.Balance -= e.Amount
	case Tagged:
		s.Tags = e.Tags
		if e.hidden != "" {
			s.Tags = map[string]string{"hidden": e.hidden}
		}
	case Noted:
		s.Tags = map[string]string{"text": e.Text}
	case Broken:
		s.Balance = -1 << 40 // nobody may ever see this
		panic(e.Why)
	default:
		return false
	}
	return true
}

// decideAccount is the dispatcher.
func decideAccount(ctx context.Context, state wow.State, in *Command, out *Decision) error {
	s := state.(*Account)
	switch c := in.Body.(type) {
	case Deposit:
		if c.Amount < 0 {
			return wow.Refuse("negative", "%d is no deposit", c.Amount)
		}
		if c.Amount > 0 {
			out.Add(Deposited{c.Amount, s.Balance + c.Amount})
		}
	case OpenAccount:
		out.Add(Deposited{c.First, c.First})
	case Withdraw:
		if s.Balance < c.Amount {
			return errNoCover
		}
		out.Add(Withdrawn{c.Amount})
	case Tag:
		out.Add(Tagged{Tags: c.Tags})
	case Do:
		return c.F(ctx, s, in, out)
	default:
		return Unhandled(in)
	}
	return nil
}

func accounts() Aggregate {
	return Aggregate{
		State: &accountState,
		Commands: []CommandHandler{
			{Command: &depositCommand}, {Command: &openCommand}, {Command: &withdrawCommand}, {Command: &tagCommand}, {Command: &doCommand},
		},
		Decide: decideAccount,
	}
}

// bank is a started runtime with accounts, stopped when the test ends.
func bank(t testing.TB, cfg Config) *Gateway {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := New(cfg)
	r.AddAggregate(accounts())
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, r.Stop(context.Background())) })
	return r.Gateway()
}

// balance loads an account.
func balance(t testing.TB, g *Gateway, id string) (int64, int64) {
	t.Helper()
	s, version, err := g.Load(t.Context(), accountTarget(id), &accountState)
	require.NoError(t, err)
	return s.(*Account).Balance, version
}

// records is a logger's handler that keeps what it is told.
type records struct {
	slog.Handler
	mu   sync.Mutex
	list []slog.Record
}

func (h *records) Enabled(context.Context, slog.Level) bool { return true }

func (h *records) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, r)
	return nil
}
