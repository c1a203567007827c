package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// rules are what holds for a slot when it runs: the stored policy of its
// schedule, which may be newer than this binary's.
type rules struct {
	periodic.Policy

	Paused bool
}

const rulesSQL = `
SELECT paused_at IS NOT NULL, max_lateness, overlap, give_up_after, min_effects
FROM worker_schedules WHERE name = $1`

// read replaces the rules by the stored ones. A schedule that is not stored
// keeps those of the code, and so does an attempt that cannot read.
func (r *rules) read(ctx context.Context, db periodic.DB, name string) error {
	rows, err := db.Query(ctx, rulesSQL, name)
	if err != nil {
		return fmt.Errorf("read the policy of %q: %w", name, err)
	}
	stored := *r
	_, err = pgx.ForEachRow(rows, []any{&stored.Paused, &stored.MaxLateness, &stored.Overlap, &stored.GiveUpAfter, &stored.MinEffects},
		func() error { *r = stored; return nil })
	if err != nil {
		return fmt.Errorf("read the policy of %q: %w", name, err)
	}
	return nil
}

// admitAt decides about a slot that a job brings at an instant by the
// database's clock. What an operator asked for is neither paused nor too late.
func (a *attempt) admitAt(ctx context.Context, tx pgx.Tx, now time.Time) error {
	asked := a.meta.Source == claim.Backfill
	switch {
	case a.rules.Paused && !asked:
		return claim.Skip(claim.SkippedPaused)
	case now.Sub(a.slot.At) > a.rules.MaxLateness && !asked:
		return claim.Skip(claim.SkippedLate)
	case a.rules.Overlap == periodic.Allow:
		return nil
	}
	free, err := tryTurn(ctx, tx, a.slot.Name)
	if err != nil {
		return err
	}
	if a.rules.Overlap == periodic.Skip {
		if !free {
			return claim.Skip(claim.SkippedOverlap)
		}
		return nil
	}
	if free {
		free, err = isOldest(ctx, tx, a.slot)
	}
	if err == nil && !free {
		return river.JobSnooze(again)
	}
	return err
}

// A turn is a lock that one slot of a schedule has at a time, until its
// transaction ends. Slots that may overlap take none.
const (
	tryTurnSQL  = `SELECT pg_try_advisory_xact_lock(hashtextextended('ranura/' || $1::text, 0))`
	waitTurnSQL = `SELECT pg_advisory_xact_lock(hashtextextended('ranura/' || $1::text, 0))`
)

// tryTurn reports whether no other slot of the schedule is at work.
func tryTurn(ctx context.Context, tx pgx.Tx, name string) (free bool, err error) {
	if err = tx.QueryRow(ctx, tryTurnSQL, name).Scan(&free); err != nil {
		return false, fmt.Errorf("take the schedule's turn: %w", err)
	}
	return free, nil
}

// waitTurn waits for the slot that is at work, as long as the session's
// lock_timeout allows.
func (a *attempt) waitTurn(ctx context.Context, tx pgx.Tx) error {
	if a.rules.Overlap == periodic.Allow {
		return nil
	}
	if _, err := tx.Exec(ctx, waitTurnSQL, a.slot.Name); err != nil {
		return fmt.Errorf("wait for another slot of %q: %w", a.slot.Name, err)
	}
	return nil
}

// oldestSQL compares texts, because a job that somebody else inserted may carry
// anything: it cancels itself when it runs, and must not fail its successors.
const oldestSQL = `
SELECT NOT EXISTS (
    SELECT FROM river_job
    WHERE kind = $1 AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
      AND args->>'slot' COLLATE "C" < $2
)`

// isOldest reports whether no older slot of the schedule has yet to end.
func isOldest(ctx context.Context, tx pgx.Tx, slot periodic.Slot) (oldest bool, err error) {
	if err = tx.QueryRow(ctx, oldestSQL, slot.Name, slot.At.Format(time.RFC3339)).Scan(&oldest); err != nil {
		return false, fmt.Errorf("look for older slots of %q: %w", slot.Name, err)
	}
	return oldest, nil
}
