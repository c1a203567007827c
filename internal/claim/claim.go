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
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Key names what is to happen once: a claim's name and its key.
type Key struct{ Name, Key string }

// String is the form used in errors, logs and spans: "name@key".
func (k Key) String() string { return k.Name + "@" + k.Key }

// Meta is the story told by a claim's row. It decides nothing.
type Meta struct {
	SlotAt  time.Time // the slot's instant; zero is stored as NULL
	Source  Source
	JobID   int64 // River's job; zero is stored as NULL
	Attempt int   // River's attempt; zero is stored as NULL
	Replica string
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

// An Outcome says whether this call did the work.
type Outcome string

// The outcomes of Run.
const (
	Ran       Outcome = "ran"       // this call's effects committed
	Duplicate Outcome = "duplicate" // somebody else's had: nothing was done
)

// A Step is one part of the work. It writes through tx and never ends it: tx
// refuses Commit and Rollback with ErrTxOwned, and so it refuses the SQL
// statements of those names. Savepoints (tx.Begin) are the step's own.
type Step func(ctx context.Context, tx pgx.Tx) error

// Beginner begins transactions: a pool or a connection.
type Beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// rollbackTimeout bounds the courtesy of a rollback. The server ends the
// transaction in any case when the connection goes.
const rollbackTimeout = 5 * time.Second

// Run claims key and, if the claim is ours, does the work, records how many
// rows it wrote, takes the finishing steps and commits, all in one READ
// COMMITTED transaction with synchronous_commit on. Rows that finishing steps
// write are not effects.
//
// While another transaction holds the same claim, Run waits for its end:
// committed means Duplicate, rolled back means that the claim is ours. Any
// number of calls for one key may run at once.
//
// On an error or a panic nothing remains, the claim included, with one
// exception that no client can rule out: when the answer to COMMIT is lost,
// the work may have committed. Run again: the claim tells.
func Run(ctx context.Context, db Beginner, key Key, meta Meta, work Step, finish ...Step) (outcome Outcome, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("claim %s: %w", key, err)
		}
	}()

	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx) // also on a panic and on runtime.Goexit

	xid, mine, err := take(ctx, tx, key, meta)
	if err != nil {
		return "", err
	}
	if !mine {
		return Duplicate, nil
	}

	guarded := &guard{Tx: tx}
	if err := work(ctx, guarded); err != nil {
		return "", err
	}
	if err := recordEffects(ctx, tx, key, xid, guarded.written); err != nil {
		return "", err
	}
	for _, step := range finish {
		if err := step(ctx, guarded); err != nil {
			return "", err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	return Ran, nil
}

// rollback ends a transaction that did not commit. It outlives ctx: with a
// cancelled one pgx would throw the connection away.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // after Commit: ErrTxClosed, as it should be
}

// ErrTxOwned means that a step tried to end the transaction. Whoever begins a
// transaction ends it: a step that commits would make its effects permanent
// without the completion that belongs to them.
var ErrTxOwned = errors.New("the transaction belongs to its claim: a step cannot end it")
