package periodic

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/claim"
)

// resolve settles every slot of a locked schedule up to the database's now:
// what is missing is enqueued, what the policy drops is recorded, and the marks
// move, all in tx. A slot is then either in River's hands, or run, or skipped.
func (c *CatchUp) resolve(ctx context.Context, tx pgx.Tx, entry Entry, from *stored) (Pass, error) {
	due, err := missing(ctx, tx, entry.Schedule, from)
	if err != nil {
		return Pass{}, err
	}
	run, skips := plan(from.Policy, due, from.now, from.pausedAt)
	enqueued, err := c.enqueue(ctx, tx, entry, run)
	if err != nil {
		return Pass{}, err
	}
	skipped, err := c.record(ctx, tx, entry.Schedule.Name, skips)
	if err != nil {
		return Pass{}, err
	}
	from.enqueuedThrough = from.now
	resolved, forgotten, err := resolvedThrough(ctx, tx, entry.Schedule, from)
	if err != nil {
		return Pass{}, err
	}
	if len(forgotten) > 0 {
		late := []skip{skipOf(claim.SkippedLate, forgotten)}
		if _, err := c.record(ctx, tx, entry.Schedule.Name, late); err != nil {
			return Pass{}, err
		}
		skips = append(skips, late...)
	}
	next := entry.Schedule.Next(from.now)
	return Pass{Schedules: 1, Enqueued: enqueued, Skipped: skipped, Next: next, skips: skips}, move(ctx, tx, entry.Schedule, from.now, resolved)
}

const claimedSQL = `SELECT slot_at FROM worker_runs WHERE name = $1 AND slot_at > $2 AND slot_at <= $3`

// missing lists the slots after the mark that nobody has claimed.
func missing(ctx context.Context, tx pgx.Tx, schedule Schedule, from *stored) ([]time.Time, error) {
	rows, err := tx.Query(ctx, claimedSQL, schedule.Name, from.enqueuedThrough, from.now)
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	claimed, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	done := make(map[int64]bool, len(claimed))
	for _, at := range claimed {
		done[at.Unix()] = true
	}
	var due []time.Time
	for at := schedule.Next(from.enqueuedThrough); !at.IsZero() && !at.After(from.now); at = schedule.Next(at) {
		if !done[at.Unix()] {
			due = append(due, at)
		}
	}
	return due, nil
}

const claimedKeysSQL = `SELECT key FROM worker_runs WHERE name = $1 AND key = ANY ($2)`

// enqueue hands slots to River as the timer does, with the same arguments and
// unique key, so that it does not matter if the timer was there first. It looks
// for claims by key, because a claim made by a plain INSERT has no slot.
func (c *CatchUp) enqueue(ctx context.Context, tx pgx.Tx, entry Entry, slots []time.Time) (int, error) {
	if len(slots) == 0 {
		return 0, nil
	}
	keys := make([]string, 0, len(slots))
	for _, at := range slots {
		keys = append(keys, entry.Schedule.At(at).Key)
	}
	claimed, err := texts(ctx, tx, claimedKeysSQL, entry.Schedule.Name, keys)
	if err != nil {
		return 0, fmt.Errorf("read claimed keys: %w", err)
	}
	jobs := make([]river.InsertManyParams, 0, len(slots))
	for i, at := range slots {
		if !slices.Contains(claimed, keys[i]) {
			jobs = append(jobs, river.InsertManyParams{Args: entry.Args(entry.Schedule.At(at)), InsertOpts: optionsFrom(claim.CatchUp)})
		}
	}
	return c.insert(ctx, tx, jobs)
}

// insert returns how many of the jobs were not there before.
func (c *CatchUp) insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) (int, error) {
	if len(jobs) == 0 {
		return 0, nil // River refuses an empty batch
	}
	inserted, err := c.Client.InsertManyTx(ctx, tx, jobs)
	if err != nil {
		return 0, fmt.Errorf("enqueue: %w", err)
	}
	fresh := make([]int64, 0, len(inserted))
	for _, result := range inserted {
		if !result.UniqueSkippedAsDuplicate {
			fresh = append(fresh, result.Job.ID)
		}
	}
	if _, err := tx.Exec(ctx, dueNowSQL, fresh); err != nil {
		return 0, fmt.Errorf("enqueue: %w", err)
	}
	return len(fresh), nil
}

// dueNowSQL: River stamps a job with the clock of this process. One that is an
// hour ahead would hold the slot back for an hour, and its unique key would keep
// everybody else from enqueueing it.
const dueNowSQL = `
UPDATE river_job SET scheduled_at = clock_timestamp() WHERE id = ANY ($1) AND scheduled_at > clock_timestamp()`

func texts(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]string, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// recordSQL notes who had paused a schedule and why: resuming it forgets both.
const recordSQL = `
INSERT INTO slot_skips (name, first_slot, last_slot, slots, outcome, replica, note)
VALUES ($1, $2, $3, $4, $5::text, $6, CASE $5::text WHEN 'skipped_paused' THEN (
    SELECT 'paused by ' || concat_ws(': ', paused_by, paused_reason) FROM worker_schedules WHERE name = $1) END)`

// record writes one row for each range, however many slots it has.
func (c *CatchUp) record(ctx context.Context, tx pgx.Tx, name string, skips []skip) (slots int64, err error) {
	for _, s := range skips {
		if _, err := tx.Exec(ctx, recordSQL, name, s.first, s.last, s.slots, s.outcome, c.Replica); err != nil {
			return slots, fmt.Errorf("record skipped slots: %w", err)
		}
		slots += s.slots
	}
	return slots, nil
}
