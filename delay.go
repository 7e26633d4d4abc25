package wow

import "time"

// Delayed is a command that a saga wants sent later: a time-out, a reminder.
// [Later] makes one, a saga's method returns it like any command.
//
// It is stored with the saga's progress, so it outlives the process, and takes
// effect once. It is sent when it is due or soon after, under the conversation
// of the commit that the saga answered. When its aggregate refuses it, the
// saga's method for the refusal is called; a saga without one takes that as
// the time-out that came too late. What fails is tried again for as long as it
// takes, up to five minutes apart.
type Delayed[C Sendable] struct {
	Name    string        // of this delay in its saga, as [Cancel] has it; at most 256 bytes
	After   time.Duration // from the time of the commit; 0 or less is at once
	Command C
}

// Later is cmd, to be sent after a while, counted from the commit that the saga
// answers. A name stands for at most one delay of a saga: a later one replaces
// it, [Cancel] takes it back. A name with the ID of the aggregate in it is
// usual.
func Later[C Sendable](name string, after time.Duration, cmd C) Delayed[C] {
	return Delayed[C]{Name: name, After: after, Command: cmd}
}

// Cancel takes back the delay of its saga with this name, if there is one that
// is not due yet. A saga's method returns it like a command.
type Cancel string

// Deferred is a [Delayed] or a [Cancel]. Both pass for commands in what a saga
// returns; nothing else takes them.
type Deferred interface {
	Sendable
	// Deferred returns the name of the delay and, unless that is taken back, how
	// long to wait and what to send then.
	Deferred() (name string, after time.Duration, cmd Sendable)
}

// WowCommand is that of the command.
func (d Delayed[C]) WowCommand() *CommandType { return d.Command.WowCommand() }

// WowTarget is that of the command.
func (d Delayed[C]) WowTarget() Target { return d.Command.WowTarget() }

// Deferred implements Deferred.
func (d Delayed[C]) Deferred() (string, time.Duration, Sendable) { return d.Name, d.After, d.Command }

// WowCommand is nil: nothing is sent.
func (Cancel) WowCommand() *CommandType { return nil }

// WowTarget is nobody.
func (Cancel) WowTarget() Target { return Target{} }

// Deferred implements Deferred.
func (c Cancel) Deferred() (string, time.Duration, Sendable) { return string(c), 0, nil }
