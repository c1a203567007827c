package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Run claims key and, if the claim is ours, does the work, records how many
// rows it wrote, takes the finishing steps and commits, all in one READ
// COMMITTED transaction with synchronous_commit on. Rows that finishing steps
// write are not effects.
//
// While another transaction holds the same claim, Run waits for its end:
// committed means Duplicate, rolled back means that the claim is ours. Any
// number of calls for one key may run at once.
//
// On an error nothing remains, the claim included, with two exceptions. When the
// answer to COMMIT is lost, the work may have committed: no client can rule that
// out. And a step that ends the transaction past the guard, on the bare
// connection, has committed what it had. Run again: the claim tells. However a step ends, and whether it
// does, Run returns: a panic is a [PanicError], a step that outlives ctx is
// ErrAbandoned.
func Run(ctx context.Context, db *pgxpool.Pool, key Key, meta Meta, work Step, finish ...Step) (outcome Outcome, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("claim %s: %w", key, err)
		}
	}()

	conn, err := db.Acquire(ctx)
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		conn.Release()
		return "", fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if errors.Is(err, ErrAbandoned) {
			cut(conn)
			return
		}
		rollback(ctx, tx)
		release(ctx, db, conn)
	}()

	outcome, err = transact(ctx, tx, key, meta, work, finish)
	if err != nil || outcome == Duplicate {
		return outcome, err
	}
	if err := traced(ctx, key, "commit", tx.Commit); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	return outcome, nil
}

// transact does everything between BEGIN and COMMIT.
func transact(ctx context.Context, tx pgx.Tx, key Key, meta Meta, work Step, finish []Step) (Outcome, error) {
	if meta.reopens() {
		if err := reopen(ctx, tx, key); err != nil {
			return "", err
		}
	}
	xid, mine, err := take(ctx, tx, key, meta)
	if err != nil {
		return "", err
	}
	if !mine {
		return Duplicate, nil
	}
	guarded := &guard{Tx: tx}
	outcome := Ran
	err = traced(ctx, key, "work", func(ctx context.Context) error {
		err := isolate(ctx, work, guarded)
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("effects", guarded.written.Load()))
		return err
	})
	if skip, ok := errors.AsType[*skipError](err); ok && guarded.written.Load() == 0 {
		outcome, err = skip.outcome, nil
	}
	if err != nil {
		return "", err
	}
	if err := record(ctx, tx, key, xid, outcome, guarded.written.Load()); err != nil {
		return "", err
	}
	for _, step := range finish {
		if err := isolate(ctx, step, guarded); err != nil {
			return "", err
		}
	}
	return outcome, nil
}

// rollbackTimeout bounds the courtesy of a rollback. The server ends the
// transaction in any case when the connection goes.
const rollbackTimeout = 5 * time.Second

// rollback ends a transaction that did not commit. It outlives ctx: with a
// cancelled one pgx would throw the connection away.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // after Commit: ErrTxClosed, as it should be
}
