// Package yaml has no directives: what is declared elsewhere is known from the
// generated code.
package yaml

import (
	"context"
	"time"

	"github.com/wowgen/wow"
)

type Loan struct {
	ID string `wow:"key"`
	N  int
}

type Borrow struct{ LoanID string }

type Borrowed struct{}

// NewLoan is what YAML says makes an empty state.
func NewLoan() *Loan {
	return &Loan{N: time.Now().Day()} // want `NewLoan makes the state that a replay begins with, but reads the clock`
}

type Desk struct{}

func (Desk) Borrow(ctx context.Context, l *Loan, cmd Borrow) (Borrowed, error) {
	time.Sleep(1)
	l.N++ // want `Desk.Borrow decides, but changes the state`
	return Borrowed{}, nil
}

func (l *Loan) Borrowed(Borrowed) {
	time.Now() // want `Loan.Borrowed applies an event, but reads the clock`
}

type Shelves struct{}

func (Shelves) OnBorrowed(e wow.Event[Borrowed]) {
	time.Sleep(1) // want `Shelves.OnBorrowed can block`
}

// Holder is a question.
func (Shelves) Holder(e Borrowed) string {
	time.Sleep(1)
	return ""
}
