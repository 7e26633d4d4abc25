// Package domain is a small bank: accounts, and transfers between them that
// neither create nor lose money.
//
// Two accounts are two aggregates, and no transaction spans them. A transfer
// is three steps instead. The sum is locked in one account, entered into the
// other, then taken out of the first for good; when the other account refuses
// the entry, the sum is unlocked. Read account.go first, then transfer.go.
//
// Everything is declared in wow.yaml, so there are no directives here.
package domain

import (
	"github.com/wowgen/wow"
)

// Account is the state of an account.
type Account struct {
	ID      string `wow:"key"`
	Owner   string
	Limit   int            // cents that it may hold, the locked ones included
	Balance int            // cents that can be spent
	Locked  map[string]int // cents on their way to others, by transfer
	Closed  bool           `wow:"deleted"`
}

// OpenAccount refuses an account that could hold nothing.
func (a *Account) OpenAccount(cmd OpenAccount) (AccountOpened, error) {
	if cmd.Limit < 1 {
		return AccountOpened{}, wow.Refuse("bad_limit", "an account that holds at most %d cents is of no use", cmd.Limit)
	}
	return AccountOpened{Owner: cmd.Owner, Limit: cmd.Limit}, nil
}

// Deposit takes money from outside.
func (a *Account) Deposit(cmd Deposit) (Deposited, error) {
	if err := a.room(cmd.Cents); err != nil {
		return Deposited{}, err
	}
	return Deposited{Cents: cmd.Cents}, nil
}

// PrepareTransfer locks the sum, if it is there.
func (a *Account) PrepareTransfer(cmd PrepareTransfer) (TransferPrepared, error) {
	_, again := a.Locked[cmd.TransferID]
	switch {
	case cmd.TransferID == "":
		return TransferPrepared{}, wow.Refuse("bad_transfer", "the transfer has no ID")
	case again:
		return TransferPrepared{}, wow.Refuse("bad_transfer", "transfer %s is under way already", cmd.TransferID)
	case cmd.To == "" || cmd.To == a.ID:
		return TransferPrepared{}, wow.Refuse("bad_destination", "a transfer goes to another account, not to %q", cmd.To)
	case cmd.Cents < 1:
		return TransferPrepared{}, wow.Refuse("bad_amount", "%d cents cannot be moved", cmd.Cents)
	case cmd.Cents > a.Balance:
		return TransferPrepared{}, wow.Refuse("too_little", "the account has %d cents, not %d", a.Balance, cmd.Cents)
	}
	return TransferPrepared{TransferID: cmd.TransferID, To: cmd.To, Cents: cmd.Cents}, nil
}

// EnterAmount takes money that another account has locked.
func (a *Account) EnterAmount(cmd EnterAmount) (AmountEntered, error) {
	if err := a.room(cmd.Cents); err != nil {
		return AmountEntered{}, err
	}
	return AmountEntered{TransferID: cmd.TransferID, From: cmd.From, Cents: cmd.Cents}, nil
}

// ConfirmTransfer takes the locked sum out for good: the other account has it.
func (a *Account) ConfirmTransfer(cmd ConfirmTransfer) (TransferConfirmed, error) {
	cents, err := a.locked(cmd.TransferID)
	if err != nil {
		return TransferConfirmed{}, err
	}
	return TransferConfirmed{TransferID: cmd.TransferID, Cents: cents}, nil
}

// UnlockAmount gives the locked sum back: the other account refused it.
func (a *Account) UnlockAmount(cmd UnlockAmount) (AmountUnlocked, error) {
	cents, err := a.locked(cmd.TransferID)
	if err != nil {
		return AmountUnlocked{}, err
	}
	return AmountUnlocked{TransferID: cmd.TransferID, Cents: cents, Reason: cmd.Reason}, nil
}

// CloseAccount deletes the account, when nothing is in it or on its way.
func (a *Account) CloseAccount(CloseAccount) (AccountClosed, error) {
	if left := a.Total(); left > 0 {
		return AccountClosed{}, wow.Refuse("not_empty", "the account holds %d cents", left)
	}
	return AccountClosed{}, nil
}

// ReopenAccount makes it live again.
func (a *Account) ReopenAccount(ReopenAccount) (AccountReopened, error) {
	return AccountReopened{}, nil
}

// room refuses what the account may not take in. What is locked counts: it may
// come back.
func (a *Account) room(cents int) error {
	if cents < 1 {
		return wow.Refuse("bad_amount", "%d cents cannot be moved", cents)
	}
	if room := a.Limit - a.Total(); cents > room {
		return wow.Refuse("over_limit", "the account has room for %d cents, not for %d", room, cents)
	}
	return nil
}

func (a *Account) locked(transfer string) (int, error) {
	cents, ok := a.Locked[transfer]
	if !ok {
		return 0, wow.Refuse("unknown_transfer", "no transfer %s is under way", transfer)
	}
	return cents, nil
}

// The state changes below and only below.

// AccountOpened happens.
func (a *Account) AccountOpened(e AccountOpened) { a.Owner, a.Limit = e.Owner, e.Limit }

// Deposited happens.
func (a *Account) Deposited(e Deposited) { a.Balance += e.Cents }

// AccountClosed happens.
func (a *Account) AccountClosed(AccountClosed) { a.Closed = true }

// AccountReopened happens.
func (a *Account) AccountReopened(AccountReopened) { a.Closed = false }

// TransferPrepared happens.
func (a *Account) TransferPrepared(e TransferPrepared) {
	if a.Locked == nil {
		a.Locked = map[string]int{}
	}
	a.Locked[e.TransferID] = e.Cents
	a.Balance -= e.Cents
}

// AmountEntered happens.
func (a *Account) AmountEntered(e AmountEntered) { a.Balance += e.Cents }

// TransferConfirmed happens.
func (a *Account) TransferConfirmed(e TransferConfirmed) { delete(a.Locked, e.TransferID) }

// AmountUnlocked happens.
func (a *Account) AmountUnlocked(e AmountUnlocked) {
	delete(a.Locked, e.TransferID)
	a.Balance += e.Cents
}

// Total is what the account holds, the locked sums included.
func (a *Account) Total() int {
	total := a.Balance
	for _, cents := range a.Locked {
		total += cents
	}
	return total
}
