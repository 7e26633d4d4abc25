package main

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/wowgen/wow/bench/framework/bank"
	wowrt "github.com/wowgen/wow/runtime"
)

// ours is a generated domain on the runtime: memory store, JSON codec, a
// projection attached.
type ours struct {
	r      *wowrt.Runtime
	client *bank.AccountClient
	totals *bank.Totals
	ids    [accounts]string
}

func openWow() (system, error) {
	s := &ours{r: wowrt.New(wowrt.Config{Logger: slog.New(slog.DiscardHandler)}), totals: new(bank.Totals)}
	for i := range s.ids {
		s.ids[i] = "account-" + strconv.Itoa(i)
	}
	bank.RegisterAccount(s.r)
	bank.RegisterTotals(s.r, s.totals)
	s.client = bank.NewAccountClient(s.r.Gateway())
	return s, s.r.Start(context.Background())
}

func (s *ours) deposit(ctx context.Context, account int, amount int64) error {
	_, err := s.client.Deposit(ctx, bank.Deposit{AccountID: s.ids[account], Amount: amount})
	return err
}

func (s *ours) projected() (int64, int64) { return s.totals.Count.Load(), s.totals.Sum.Load() }

func (s *ours) close() error { return s.r.Stop(context.Background()) }
