package domain

import (
	"github.com/wowgen/wow"
)

// Transfer is the saga that carries a sum from one account to another. It
// keeps no state: each event says all that the next step needs.
type Transfer struct{}

// OnTransferPrepared enters the locked sum into the other account.
func (Transfer) OnTransferPrepared(e wow.Event[TransferPrepared]) EnterAmount {
	return EnterAmount{AccountID: e.Data.To, TransferID: e.Data.TransferID, From: e.Target.ID, Cents: e.Data.Cents}
}

// OnAmountEntered confirms to the first account.
func (Transfer) OnAmountEntered(e AmountEntered) ConfirmTransfer {
	return ConfirmTransfer{AccountID: e.From, TransferID: e.TransferID}
}

// OnEnterAmountRefused gives the sum back.
func (Transfer) OnEnterAmountRefused(r wow.Refused[EnterAmount]) UnlockAmount {
	return UnlockAmount{AccountID: r.Data.From, TransferID: r.Data.TransferID, Reason: r.Reason.Message}
}
