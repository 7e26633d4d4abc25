package domain_test

import (
	"math"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/transfer/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/wowtest"
)

var (
	opened    = domain.AccountOpened{Owner: "Ann", Limit: 1000}
	deposited = domain.Deposited{Cents: 600}
	prepared  = domain.TransferPrepared{TransferID: "t1", To: "bob", Cents: 200}
)

func TestOpeningAnAccount(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)

	bank.When(domain.OpenAccount{AccountID: "ann", Owner: "Ann", Limit: 1000}).Then(opened)
	bank.When(domain.OpenAccount{AccountID: "ann", Owner: "Ann"}).ThenRefused("bad_limit")
	bank.Given(opened).When(domain.OpenAccount{AccountID: "ann", Owner: "Eve", Limit: 1}).ThenRefused(wowrt.CodeAlreadyExists)
}

func TestAClosedAccountTakesNothingUntilItIsReopened(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)
	closed := domain.AccountClosed{}

	bank.Given(opened, deposited).When(domain.CloseAccount{AccountID: "ann"}).ThenRefused("not_empty")
	bank.Given(opened).When(domain.CloseAccount{AccountID: "ann"}).Then(closed).
		ThenState(&domain.Account{ID: "ann", Owner: "Ann", Limit: 1000, Closed: true})
	for _, cmd := range []wow.Sendable{
		domain.Deposit{AccountID: "ann", Cents: 1},
		domain.EnterAmount{AccountID: "ann", TransferID: "t9", From: "bob", Cents: 1},
		domain.CloseAccount{AccountID: "ann"},
		domain.OpenAccount{AccountID: "ann", Owner: "Eve", Limit: 1},
	} {
		bank.Given(opened, closed).When(cmd).ThenRefused(wowrt.CodeDeleted)
	}
	bank.Given(opened, closed).When(domain.ReopenAccount{AccountID: "ann"}).Then(domain.AccountReopened{})
	bank.Given(opened, closed, domain.AccountReopened{}).When(domain.Deposit{AccountID: "ann", Cents: 600}).Then(deposited)
	bank.Given(opened).When(domain.ReopenAccount{AccountID: "ann"}).ThenRefused(wowrt.CodeNotDeleted)
	bank.When(domain.ReopenAccount{AccountID: "ann"}).ThenRefused(wowrt.CodeNotFound)
}

func TestDepositingMoney(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)
	deposit := func(cents int) domain.Deposit { return domain.Deposit{AccountID: "ann", Cents: cents} }

	bank.When(deposit(600)).ThenRefused(wowrt.CodeNotFound)
	bank.Given(opened).When(deposit(600)).Then(deposited)
	bank.Given(opened).When(deposit(1000)).Then(domain.Deposited{Cents: 1000})
	bank.Given(opened, deposited).When(deposit(401)).ThenRefused("over_limit")
	bank.Given(opened, deposited, prepared).When(deposit(401)).ThenRefused("over_limit")
	bank.Given(opened, deposited).When(deposit(math.MaxInt)).ThenRefused("over_limit")
	bank.Given(opened).When(deposit(0)).ThenRefused("bad_amount")
}

func TestPreparingATransferLocksTheSum(t *testing.T) {
	wowtest.New(t, domain.RegisterAccount).
		Given(opened, deposited).
		When(domain.PrepareTransfer{AccountID: "ann", TransferID: "t1", To: "bob", Cents: 200}).
		Then(prepared).
		ThenState(&domain.Account{ID: "ann", Owner: "Ann", Limit: 1000, Balance: 400, Locked: map[string]int{"t1": 200}})
}

func TestATransferThatCannotBeIsNotPrepared(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)
	for _, c := range []struct {
		transfer, to string
		cents        int
		code         string
	}{
		{"t2", "bob", 401, "too_little"}, // 200 of the 600 are locked
		{"t1", "bob", 100, "bad_transfer"},
		{"", "bob", 100, "bad_transfer"},
		{"t2", "ann", 100, "bad_destination"},
		{"t2", "", 100, "bad_destination"},
		{"t2", "bob", -100, "bad_amount"},
	} {
		bank.Given(opened, deposited, prepared).
			When(domain.PrepareTransfer{AccountID: "ann", TransferID: c.transfer, To: c.to, Cents: c.cents}).
			ThenRefused(c.code)
	}
}

func TestEnteringASum(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)
	enter := func(cents int) domain.EnterAmount {
		return domain.EnterAmount{AccountID: "bob", TransferID: "t1", From: "ann", Cents: cents}
	}
	bank.Given(opened).When(enter(200)).Then(domain.AmountEntered{TransferID: "t1", From: "ann", Cents: 200})
	bank.Given(opened, deposited).When(enter(401)).ThenRefused("over_limit")
	bank.When(enter(200)).ThenRefused(wowrt.CodeNotFound)
}

func TestEndingATransfer(t *testing.T) {
	bank := wowtest.New(t, domain.RegisterAccount)
	confirm := domain.ConfirmTransfer{AccountID: "ann", TransferID: "t1"}
	unlock := domain.UnlockAmount{AccountID: "ann", TransferID: "t1", Reason: "no room"}
	confirmed := domain.TransferConfirmed{TransferID: "t1", Cents: 200}
	unlocked := domain.AmountUnlocked{TransferID: "t1", Cents: 200, Reason: "no room"}

	o := bank.Given(opened, deposited, prepared).When(confirm).Then(confirmed)
	if got := wowtest.StateOf[domain.Account](o).Total(); got != 400 {
		t.Errorf("after a confirmed transfer the account holds %d cents, want 400", got)
	}
	o = bank.Given(opened, deposited, prepared).When(unlock).Then(unlocked)
	if got := wowtest.StateOf[domain.Account](o).Balance; got != 600 {
		t.Errorf("after a refused transfer %d cents can be spent, want 600", got)
	}
	bank.Given(opened, deposited, prepared, confirmed).When(unlock).ThenRefused("unknown_transfer")
	bank.Given(opened, deposited, prepared, unlocked).When(confirm).ThenRefused("unknown_transfer")
}

func TestTheSagaCarriesASumAcross(t *testing.T) {
	bank := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterTransfer(r, domain.Transfer{}) })
	enter := domain.EnterAmount{AccountID: "bob", TransferID: "t1", From: "ann", Cents: 200}

	bank.WhenEvent("ann", prepared).ThenSends(enter)
	bank.WhenEvent("bob", domain.AmountEntered{TransferID: "t1", From: "ann", Cents: 200}).
		ThenSends(domain.ConfirmTransfer{AccountID: "ann", TransferID: "t1"})
	bank.WhenRefused(enter, wow.Refuse("over_limit", "no room")).
		ThenSends(domain.UnlockAmount{AccountID: "ann", TransferID: "t1", Reason: "no room"})
}

func TestTheLedgerShowsHowFarEachTransferIs(t *testing.T) {
	ledger := new(domain.Ledger)
	bank := wowtest.New(t, func(r *wowrt.Runtime) { domain.RegisterLedger(r, ledger) })
	status := func(want string) {
		t.Helper()
		if got := ledger.Transfers()["t1"]; got != want {
			t.Errorf("the transfer is %q, want %q", got, want)
		}
	}
	bank.Given(deposited).WhenEvent("ann", prepared)
	status(domain.UnderWay)
	bank.WhenEvent("ann", domain.TransferConfirmed{TransferID: "t1", Cents: 200})
	status(domain.Arrived)
	bank.WhenEvent("ann", domain.AmountUnlocked{TransferID: "t1", Cents: 200, Reason: "no room"})
	status("refused: no room")
	if got := ledger.Deposited(); got != 600 {
		t.Errorf("%d cents came from outside, want 600", got)
	}
}
