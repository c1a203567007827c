package claim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// takeSQL never says DO UPDATE: an upsert reports a row to everybody, and
// everybody would do the work. synchronous_commit is set by the claim itself,
// so that no session setting can make an acknowledged claim one that a crash
// forgets (measured with it off: five of five lost). lock_timeout is set for
// the claim alone: the work gets the session's own again.
const takeSQL = `
WITH settings AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS lock_timeout,
           set_config('lock_timeout', coalesce($8, current_setting('lock_timeout')), true),
           set_config('synchronous_commit', 'on', true)
)
INSERT INTO worker_runs (name, key, slot_at, source, job_id, attempt, replica)
SELECT $1, $2, $3, $4, $5, $6, $7 FROM settings
ON CONFLICT (name, key) DO NOTHING
RETURNING pg_current_xact_id()::text, set_config('lock_timeout', (SELECT lock_timeout FROM settings), true)`

// ErrHeld means that another transaction still holds the claim. Whose it is
// will show when that transaction ends: try again then.
var ErrHeld = errors.New("another transaction holds the claim")

// Take claims key in the caller's transaction and reports whether the claim is
// the caller's. It must come before the effects and outside any savepoint: a
// savepoint that is rolled back frees the claim at once, while the effects of
// the outer transaction go on unprotected.
//
// Take waits while another transaction holds the claim. At isolation levels
// above READ COMMITTED a lost claim is an error (40001) instead of false: run
// the whole transaction again.
func Take(ctx context.Context, tx pgx.Tx, key Key, meta Meta) (bool, error) {
	_, mine, err := take(ctx, tx, key, meta)
	return mine, err
}

// take also returns the transaction's id, by which record knows that
// the transaction is still the same one.
func take(ctx context.Context, tx pgx.Tx, key Key, meta Meta) (xid string, mine bool, err error) {
	err = traced(ctx, key, "claim", func(ctx context.Context) error { // it lasts as long as a peer holds the claim
		rows, err := tx.Query(ctx, takeSQL, key.Name, key.Key, orNull(meta.SlotAt), meta.Source,
			orNull(meta.JobID), orNull(meta.Attempt), orNull(meta.Replica), orNull(milliseconds(meta.Patience)))
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&xid, nil}, func() error {
			mine = true
			return nil
		})
		return err
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == pgerrcode.LockNotAvailable {
		err = fmt.Errorf("%w: %w", ErrHeld, err)
	}
	if err != nil {
		return "", false, fmt.Errorf("take: %w", err)
	}
	return xid, mine, nil
}

// milliseconds is a duration as Postgres reads it; none is empty.
func milliseconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

const adoptSQL = `
UPDATE worker_runs SET slot_at = $3, source = $4, job_id = $5, attempt = $6, replica = $7
WHERE name = $1 AND key = $2 AND source = 'sql' AND job_id IS NULL AND outcome = 'ran'`

// Adopt tells the story in the row of a claim that a plain INSERT has made, and
// reports whether it did: for work that was done at our call by somebody who
// claimed it in this very database. A claim is adopted once.
func Adopt(ctx context.Context, tx pgx.Tx, key Key, meta Meta) (bool, error) {
	tag, err := tx.Exec(ctx, adoptSQL, key.Name, key.Key, orNull(meta.SlotAt), meta.Source,
		orNull(meta.JobID), orNull(meta.Attempt), orNull(meta.Replica))
	if err != nil {
		return false, fmt.Errorf("adopt the claim %s: %w", key, err)
	}
	return tag.RowsAffected() == 1, nil
}

const reopenSQL = `DELETE FROM worker_runs WHERE name = $1 AND key = $2 AND outcome <> 'ran'`

// reopen frees the key of a slot that was skipped or refused, for a run in the
// same transaction. If that run fails, the record stays as it was; if two are at it,
// one waits here for the other and then finds the slot taken.
func reopen(ctx context.Context, tx pgx.Tx, key Key) error {
	if _, err := tx.Exec(ctx, reopenSQL, key.Name, key.Key); err != nil {
		return fmt.Errorf("reopen a skipped slot: %w", err)
	}
	return nil
}

// reopens says whether a slot that was skipped or refused may run after all.
func (m Meta) reopens() bool { return m.Reopen || m.Source == Manual || m.Source == Backfill }

const clearSQL = reopenSQL + ` RETURNING to_jsonb(worker_runs)::text`

// Clear takes away, and commits at once, the record of a slot that was skipped or
// refused, if meta may run it after all: for work that somebody claims elsewhere,
// who would take the record for a claim. If the work then fails, putBack restores
// the record, unless there is a claim by then. A process that dies in between
// leaves the slot missing, which is what it is.
func Clear(ctx context.Context, db *pgxpool.Pool, key Key, meta Meta) (putBack func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	if !meta.reopens() {
		return nothing, nil
	}
	var record string
	switch err := db.QueryRow(ctx, clearSQL, key.Name, key.Key).Scan(&record); {
	case errors.Is(err, pgx.ErrNoRows):
		return nothing, nil
	case err != nil:
		return nil, fmt.Errorf("clear the record of %s: %w", key, err)
	}
	return func(ctx context.Context) error {
		if _, err := db.Exec(ctx, putBackSQL, record); err != nil {
			return fmt.Errorf("put back the record of %s: %w", key, err)
		}
		return nil
	}, nil
}

const putBackSQL = `
INSERT INTO worker_runs SELECT * FROM jsonb_populate_record(NULL::worker_runs, $1::text::jsonb)
ON CONFLICT (name, key) DO NOTHING`

// orNull stores a zero value as NULL: unknown is not zero.
func orNull[T time.Time | int64 | int | string](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

const recordSQL = `
WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true))
UPDATE worker_runs SET outcome = $4, effects = $5 FROM durable
WHERE name = $1 AND key = $2 AND pg_current_xact_id() = $3::text::xid8`

// record makes the commit durable once more: the work may have said otherwise
// for its transaction. It finds no row when the work ended our transaction behind the guard's
// back (on the bare connection) and began another: then what follows would
// commit without its claim.
func record(ctx context.Context, tx pgx.Tx, key Key, xid string, outcome Outcome, effects int64) error {
	tag, err := tx.Exec(ctx, recordSQL, key.Name, key.Key, xid, outcome, effects)
	if err != nil {
		return fmt.Errorf("record outcome: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("record outcome: %w", ErrTxOwned)
	}
	return nil
}
