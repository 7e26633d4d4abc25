package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/golden"
	"github.com/wowgen/wow/example/internal/idle"
	"github.com/wowgen/wow/example/transfer/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheSessionTellsTheSameEachTime(t *testing.T) {
	golden.Session(t, program(), "testdata/session.txt")
}

func TestRunDoesWhatTheLinesSay(t *testing.T) { golden.Run(t, program(), "testdata/run") }

// TestMoneyIsNeitherCreatedNorLost sends random transfers at the same time,
// to accounts with and without room, and to some that do not exist.
func TestMoneyIsNeitherCreatedNorLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 4).Draw(t, "limits")
		moves := rapid.SliceOfN(rapid.Custom(drawMove), 0, 40).Draw(t, "moves")
		err := with(t.Context(), slog.New(slog.DiscardHandler), func(_ context.Context, b *bank) error {
			for i, limit := range limits {
				if _, err := b.accounts.OpenAccount(t.Context(), domain.OpenAccount{AccountID: name(i), Limit: limit}); err != nil {
					return err
				}
			}
			deposited, prepared := b.moveAll(t, moves)
			if err := idle.Wait(t.Context(), b.runtime); err != nil {
				return err
			}
			b.checkMoney(t, limits, deposited)
			b.checkLedger(t, deposited, prepared)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// move brings money in, if to is negative, or begins a transfer.
type move struct{ from, to, cents int }

func drawMove(t *rapid.T) move {
	return move{
		from:  rapid.IntRange(0, 4).Draw(t, "from"), // 4 is nobody's account
		to:    rapid.IntRange(-2, 4).Draw(t, "to"),
		cents: rapid.IntRange(-1, 700).Draw(t, "cents"),
	}
}

func name(i int) string { return fmt.Sprintf("a%d", i) }

// moveAll does all moves at the same time. It returns the cents that came in
// and the transfers that began.
func (b *bank) moveAll(t *rapid.T, moves []move) (deposited int, prepared map[string]bool) {
	prepared = map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	for i, m := range moves {
		all.Go(func() {
			transfer := fmt.Sprintf("t%d", i)
			var err error
			if m.to < 0 {
				_, err = b.accounts.Deposit(t.Context(), domain.Deposit{AccountID: name(m.from), Cents: m.cents})
			} else {
				_, err = b.accounts.PrepareTransfer(t.Context(), domain.PrepareTransfer{
					AccountID: name(m.from), TransferID: transfer, To: name(m.to), Cents: m.cents})
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.As(err, new(*wow.Refusal)): // money that is not there, no room, no account
			case err != nil:
				errs = append(errs, err)
			case m.to < 0:
				deposited += m.cents
			default:
				prepared[transfer] = true
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return deposited, prepared
}

func (b *bank) checkMoney(t *rapid.T, limits []int, deposited int) {
	total := 0
	for i, limit := range limits {
		a, version, err := b.accounts.Load(t.Context(), name(i))
		if err != nil {
			t.Fatal(err)
		}
		if a.Balance < 0 || a.Balance > limit || len(a.Locked) > 0 {
			t.Errorf("account %s at version %d has %d of at most %d cents, and locked %v", a.ID, version, a.Balance, limit, a.Locked)
		}
		total += a.Balance
	}
	if total != deposited {
		t.Errorf("the accounts hold %d cents, and %d came in", total, deposited)
	}
}

func (b *bank) checkLedger(t *rapid.T, deposited int, prepared map[string]bool) {
	if got := b.ledger.Deposited(); got != deposited {
		t.Errorf("the ledger counted %d cents, and %d came in", got, deposited)
	}
	transfers := b.ledger.Transfers()
	if len(transfers) != len(prepared) {
		t.Errorf("the ledger shows %d transfers, %d began", len(transfers), len(prepared))
	}
	for id, status := range transfers {
		if status != domain.Arrived && !strings.HasPrefix(status, "refused: ") || !prepared[id] {
			t.Errorf("transfer %s is %s, began: %v", id, status, prepared[id])
		}
	}
}

// TestATransferThatIsSentTwiceMovesMoneyOnce repeats a request.
func TestATransferThatIsSentTwiceMovesMoneyOnce(t *testing.T) {
	err := with(t.Context(), slog.New(slog.DiscardHandler), func(_ context.Context, b *bank) error {
		for _, id := range []string{"ann", "bob"} {
			if _, err := b.accounts.OpenAccount(t.Context(), domain.OpenAccount{AccountID: id, Limit: 1000}); err != nil {
				return err
			}
		}
		if _, err := b.accounts.Deposit(t.Context(), domain.Deposit{AccountID: "ann", Cents: 500}); err != nil {
			return err
		}
		send := func(ctx context.Context) error {
			_, err := b.accounts.PrepareTransfer(ctx, domain.PrepareTransfer{AccountID: "ann", TransferID: "t1", To: "bob", Cents: 200}, wowrt.WithRequest("click"))
			return err
		}
		for range 3 {
			if err := errors.Join(send(t.Context()), idle.Wait(t.Context(), b.runtime)); err != nil {
				return err
			}
		}
		bob, _, err := b.accounts.Load(t.Context(), "bob")
		if err == nil && bob.Balance != 200 {
			t.Errorf("Bob has %d cents, want 200", bob.Balance)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
