package periodic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotRegistered means that no replica has registered the schedule yet, so
// there is nothing to pause, to resume or to fill.
var ErrNotRegistered = errors.New("not registered: start a replica that has it")

const pauseSQL = `
UPDATE worker_schedules SET paused_at = $2, paused_by = $3, paused_reason = nullif($4, '')
WHERE name = $1`

const pausedSQL = `SELECT paused_at, coalesce(paused_by, ''), coalesce(paused_reason, '') FROM worker_schedules WHERE name = $1`

// Paused says since when a schedule is paused, by whom and why.
type Paused struct {
	Since  time.Time
	By     string
	Reason string // may be empty
	Before bool   // it was paused already
}

// Pause stops a schedule: slots that are due from now on are recorded as
// skipped, also those whose job is in the queue already. A slot that runs goes
// on; a run by hand is allowed. A schedule that is paused already stays as it is,
// with who and why; that is what is returned then.
func (c *CatchUp) Pause(ctx context.Context, name, by, reason string) (paused Paused, err error) {
	err = c.change(ctx, name, func(tx pgx.Tx, row *stored) error {
		if row.pausedAt != nil {
			paused.Before = true
			return tx.QueryRow(ctx, pausedSQL, name).Scan(&paused.Since, &paused.By, &paused.Reason)
		}
		paused = Paused{Since: row.now, By: by, Reason: reason}
		_, err := tx.Exec(ctx, pauseSQL, name, row.now, by, reason)
		return err
	})
	return paused, wrapPause("pause", name, err)
}

const resumeSQL = `
UPDATE worker_schedules SET paused_at = NULL, paused_by = NULL, paused_reason = NULL WHERE name = $1`

// Resume lets a schedule go on from now: what was due while it was paused is
// recorded as skipped. It returns how many slots these were; a schedule that is
// not paused is left as it is.
func (c *CatchUp) Resume(ctx context.Context, entry Entry) (skipped int64, err error) {
	name := entry.Schedule.Name
	err = c.change(ctx, name, func(tx pgx.Tx, row *stored) error {
		if row.pausedAt == nil {
			return nil
		}
		if entry.Schedule, err = row.schedule(entry.Schedule); err != nil {
			return err
		}
		pass, err := c.resolve(ctx, tx, entry, row)
		if err != nil {
			return err
		}
		skipped = pass.Skipped
		_, err = tx.Exec(ctx, resumeSQL, name)
		return err
	})
	return skipped, wrapPause("resume", name, err)
}

// change locks a schedule, changes it and wakes the replicas.
func (c *CatchUp) change(ctx context.Context, name string, do func(pgx.Tx, *stored) error) error {
	return pgx.BeginTxFunc(ctx, c.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		row, err := lock(ctx, tx, name)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotRegistered
		}
		if err != nil {
			return err
		}
		if err := do(tx, row); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, changedSQL, Changed)
		return err
	})
}

func wrapPause(what, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s schedule %q: %w", what, name, err)
	}
	return nil
}
