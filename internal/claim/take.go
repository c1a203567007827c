package claim

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// takeSQL never says DO UPDATE: an upsert reports a row to everybody, and
// everybody would do the work. synchronous_commit is set by the claim itself,
// so that no session setting can make an acknowledged claim one that a crash
// forgets (measured with it off: five of five lost).
const takeSQL = `
WITH durable AS (SELECT set_config('synchronous_commit', 'on', true))
INSERT INTO worker_runs (name, key, slot_at, source, job_id, attempt, replica)
SELECT $1, $2, $3, $4, $5, $6, $7 FROM durable
ON CONFLICT (name, key) DO NOTHING
RETURNING pg_current_xact_id()::text`

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

// take also returns the transaction's id, by which recordEffects knows that
// the transaction is still the same one.
func take(ctx context.Context, tx pgx.Tx, key Key, meta Meta) (xid string, mine bool, err error) {
	rows, err := tx.Query(ctx, takeSQL, key.Name, key.Key, orNull(meta.SlotAt), meta.Source,
		orNull(meta.JobID), orNull(meta.Attempt), orNull(meta.Replica))
	if err != nil {
		return "", false, fmt.Errorf("take: %w", err)
	}
	xids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", false, fmt.Errorf("take: %w", err)
	}
	if len(xids) == 0 {
		return "", false, nil
	}
	return xids[0], true, nil
}

// orNull stores a zero value as NULL: unknown is not zero.
func orNull[T time.Time | int64 | int | string](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

const recordEffectsSQL = `
UPDATE worker_runs SET effects = $4
WHERE name = $1 AND key = $2 AND pg_current_xact_id() = $3::text::xid8`

// recordEffects finds no row when the work ended our transaction behind the
// guard's back (on the bare connection) and began another: then what follows
// would commit without its claim.
func recordEffects(ctx context.Context, tx pgx.Tx, key Key, xid string, effects int64) error {
	tag, err := tx.Exec(ctx, recordEffectsSQL, key.Name, key.Key, xid, effects)
	if err != nil {
		return fmt.Errorf("record effects: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("record effects: %w", ErrTxOwned)
	}
	return nil
}
