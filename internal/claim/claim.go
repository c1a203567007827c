// Package claim makes work take effect exactly once: the claim, the effects
// and whatever else must happen with them commit in one transaction, or none
// of them does. It knows Postgres only; who calls it, and when, is not its
// business.
//
// The guarantee is the primary key of worker_runs. It rests on one writable
// primary that does not lose acknowledged commits, and on claims being kept.
// It covers effects written through the transaction that a step is handed and
// nothing else: a step may start more than once, only one commits.
package claim

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Key names what is to happen once: a claim's name and its key.
type Key struct{ Name, Key string }

// String is the form used in errors, logs and spans: "name@key".
func (k Key) String() string { return k.Name + "@" + k.Key }

// Meta is the story told by a claim's row. Only Source, Reopen and Patience
// decide anything: what an operator asks for (Manual, Backfill) also runs a slot
// whose claim records a skip or a refusal.
type Meta struct {
	SlotAt  time.Time // the slot's instant; zero is stored as NULL
	Source  Source
	JobID   int64 // River's job; zero is stored as NULL
	Attempt int   // River's attempt; zero is stored as NULL
	Replica string

	// Reopen is for what an operator asks for by other means than a Source.
	Reopen bool

	// Patience is how long to wait, in whole milliseconds, while another
	// transaction holds the claim; then it is ErrHeld. Zero waits as long as
	// the session's lock_timeout says.
	Patience time.Duration
}

// A Source says what asked for a run.
type Source string

// The sources of a run.
const (
	Schedule Source = "schedule" // a timer
	CatchUp  Source = "catch_up" // a slot found missing
	Backfill Source = "backfill" // an operator, for a past range
	Manual   Source = "manual"   // an operator, for one slot
	External Source = "external" // another scheduler
	SQL      Source = "sql"      // a plain INSERT
)

// An Outcome says what became of a slot in this call.
type Outcome string

// The outcomes of Run. Those that skip are decided by the work, see [Skip].
const (
	Ran            Outcome = "ran"             // this call's effects committed
	Duplicate      Outcome = "duplicate"       // somebody else's claim had: nothing was done
	SkippedLate    Outcome = "skipped_late"    // too long after its slot
	SkippedPaused  Outcome = "skipped_paused"  // its schedule is paused
	SkippedOverlap Outcome = "skipped_overlap" // another slot of its schedule was at work

	SkippedCapped     Outcome = "skipped_capped"     // too many were missed at once
	SkippedSuperseded Outcome = "skipped_superseded" // a newer slot stands for it, or its schedule no longer has it

	Refused Outcome = "refused" // for good, by whoever was to do the work elsewhere
)

// A Step is one part of the work. It writes through tx and never ends it: tx
// refuses Commit and Rollback with ErrTxOwned, and so it refuses the SQL
// statements of those names. Savepoints (tx.Begin) are the step's own.
//
// A step must end when ctx does. One that goes on is cut off from the database
// a second later.
type Step func(ctx context.Context, tx pgx.Tx) error

// Skip is what work returns, instead of writing anything, when the slot is
// decided against: the claim commits with that outcome and no effects, and the
// finishing steps are taken. It is an error only by its type.
func Skip(outcome Outcome) error { return &skipError{outcome} }

type skipError struct{ outcome Outcome }

func (e *skipError) Error() string { return string(e.outcome) }

// ErrTxOwned means that a step tried to end the transaction. Whoever begins a
// transaction ends it: a step that commits would make its effects permanent
// without the completion that belongs to them.
var ErrTxOwned = errors.New("the transaction belongs to its claim: a step cannot end it")

// Written returns how many rows a step has written so far through the tx that
// it was handed.
func Written(tx pgx.Tx) int64 {
	if guarded, ok := tx.(*guard); ok {
		return guarded.written.Load()
	}
	return 0
}
