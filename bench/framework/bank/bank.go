// Package bank is the domain of the framework comparison: deposits to accounts.
package bank

import (
	"sync/atomic"

	"github.com/wowgen/wow"
)

// Account is the state of an account.
//
//wow:aggregate name=account context=bank
type Account struct {
	ID      string `wow:"key"`
	Balance int64
}

// Deposit pays an amount in.
type Deposit struct {
	AccountID string `wow:"key"`
	Amount    int64
}

// Deposited says that an amount was paid in.
type Deposited struct {
	Amount  int64 `json:"amount"`
	Balance int64 `json:"balance"`
}

// Deposit refuses to pay nothing in.
func (a *Account) Deposit(cmd Deposit) (Deposited, error) {
	if cmd.Amount <= 0 {
		return Deposited{}, wow.Refuse("not_positive", "a deposit of %d", cmd.Amount)
	}
	return Deposited{Amount: cmd.Amount, Balance: a.Balance + cmd.Amount}, nil
}

// Deposited happens.
func (a *Account) Deposited(e Deposited) { a.Balance = e.Balance }

// Totals counts what was paid in, over all accounts.
//
//wow:projection name=totals context=bank
type Totals struct {
	Count, Sum atomic.Int64
}

// OnDeposited adds an event.
func (t *Totals) OnDeposited(e wow.Event[Deposited]) {
	t.Sum.Add(e.Data.Amount)
	t.Count.Add(1)
}
