package domain

import (
	"maps"
	"sync"
)

// Ledger is the view of all transfers.
type Ledger struct {
	mu        sync.RWMutex
	transfers map[string]string // how far each has come
	deposited int
}

// What a transfer's row says.
const (
	UnderWay = "under way"
	Arrived  = "arrived"
)

// OnDeposited adds the money from outside up.
func (l *Ledger) OnDeposited(e Deposited) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deposited += e.Cents
}

// OnTransferPrepared shows a transfer.
func (l *Ledger) OnTransferPrepared(e TransferPrepared) { l.set(e.TransferID, UnderWay) }

// OnTransferConfirmed shows that it arrived.
func (l *Ledger) OnTransferConfirmed(e TransferConfirmed) { l.set(e.TransferID, Arrived) }

// OnAmountUnlocked shows why it did not.
func (l *Ledger) OnAmountUnlocked(e AmountUnlocked) { l.set(e.TransferID, "refused: "+e.Reason) }

func (l *Ledger) set(transfer, status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transfers == nil {
		l.transfers = map[string]string{}
	}
	l.transfers[transfer] = status
}

// Transfers returns how far each transfer has come.
func (l *Ledger) Transfers() map[string]string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.transfers)
}

// Deposited is how many cents came from outside.
func (l *Ledger) Deposited() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.deposited
}
