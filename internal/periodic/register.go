package periodic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ranura/ranura/internal/claim"
)

// DB is a pool, a connection or a transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Register makes the replica's schedules known to the database, which stamps a
// new one with its own clock: a schedule owes nothing from before it was first
// registered, and whoever registers it later does not move that instant.
//
// Of two definitions of one schedule, that of the replica which started later
// counts. The slots of the old one are settled up to now; those of the new one
// count from now on. So neither a deploy nor its rollback runs a slot again or
// lets a flood of them loose. A replica that comes with an older definition
// says so in its log and follows the stored one.
func (c *CatchUp) Register(ctx context.Context) error {
	for _, entry := range c.Entries {
		err := pgx.BeginTxFunc(ctx, c.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			return c.register(ctx, tx, entry)
		})
		if err != nil {
			return fmt.Errorf("register schedule %q: %w", entry.Schedule.Name, err)
		}
	}
	return nil
}

// ErrNameStored means that a stored schedule has the name of a worker. Both
// would claim under it, so neither is guessed to be meant: the replica does not
// start, and those that run go on.
var ErrNameStored = errors.New("a stored schedule has this name: remove that (app schedules rm), or name the worker otherwise")

const insertScheduleSQL = `
INSERT INTO worker_schedules (name, cron, zone, key_format, gap, fold,
    catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects, defined_at, service, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'code')
ON CONFLICT (name) DO NOTHING`

func (c *CatchUp) register(ctx context.Context, tx pgx.Tx, entry Entry) error {
	mine := entry.Schedule
	if _, err := tx.Exec(ctx, insertScheduleSQL, append(mine.values(c.StartedAt), c.Service)...); err != nil {
		return err
	}
	row, err := lock(ctx, tx, mine.Name)
	if err != nil {
		return err
	}
	if row.source == Stored {
		return ErrNameStored
	}
	if row.Definition != mine.Definition {
		if row.definedAt.After(c.StartedAt) && row.removedAt == nil {
			c.Log.WarnContext(ctx, "superseded: a newer replica defines this schedule", "name", mine.Name,
				"cron", mine.Cron, "zone", mine.Zone, "stored_cron", row.Cron, "stored_zone", row.Zone)
			return nil
		}
		if err := c.settle(ctx, tx, entry, row); err != nil {
			return err
		}
	} else if row.removedAt != nil {
		if err := c.revive(ctx, tx, mine, row); err != nil {
			return err
		}
	}
	return c.define(ctx, tx, mine, row)
}

// settle resolves the slots of a definition that is about to end.
func (c *CatchUp) settle(ctx context.Context, tx pgx.Tx, entry Entry, row *stored) error {
	if row.removedAt != nil {
		return c.revive(ctx, tx, entry.Schedule, row)
	}
	old, err := row.schedule(entry.Schedule)
	if err != nil {
		// Another version wrote what this one cannot read: nobody can name its slots any more.
		c.Log.WarnContext(ctx, "the stored definition cannot be read: its open slots are dropped", "name", entry.Schedule.Name, "error", err)
		return nil
	}
	entry.Schedule = old
	_, err = c.resolve(ctx, tx, entry, row)
	return err
}

// revive skips what was due while no replica had the schedule.
func (c *CatchUp) revive(ctx context.Context, tx pgx.Tx, mine Schedule, row *stored) error {
	due, err := missing(ctx, tx, mine, row)
	if err != nil {
		return err
	}
	if len(due) > 0 {
		_, err = c.record(ctx, tx, mine.Name, []skip{skipOf(claim.SkippedSuperseded, due)})
	}
	return err
}

const defineSQL = `
UPDATE worker_schedules SET
    cron = $2, zone = $3, key_format = $4, gap = $5, fold = $6, catch_up = $7, max_lateness = $8,
    max_count = $9, overlap = $10, give_up_after = $11, timeout = $12, min_effects = $13,
    defined_at = greatest(defined_at, $14),
    definition_changed_at = CASE WHEN $15 THEN $16 ELSE definition_changed_at END,
    jobs_before = CASE WHEN $15 THEN coalesce(pg_sequence_last_value('river_job_id_seq'), 0) ELSE jobs_before END,
    enqueued_through = CASE WHEN $15 THEN $16 ELSE enqueued_through END,
    resolved_through = CASE WHEN $15 THEN $16 ELSE resolved_through END,
    next_slot = $17,
    service = $18,
    removed_at = NULL
WHERE name = $1`

// changedSQL wakes every replica's catch-up when the transaction commits.
const changedSQL = `SELECT pg_notify('` + Channel + `', $1)`

func (c *CatchUp) define(ctx context.Context, tx pgx.Tx, mine Schedule, row *stored) error {
	changed := row.Definition != mine.Definition || row.removedAt != nil
	through := row.enqueuedThrough
	if changed {
		through = row.now
	}
	args := append(mine.values(c.StartedAt), changed, through, nextAfter(mine, through), c.Service)
	if _, err := tx.Exec(ctx, defineSQL, args...); err != nil {
		return err
	}
	if !changed {
		return nil
	}
	_, err := tx.Exec(ctx, changedSQL, Changed)
	return err
}

func (s Schedule) values(definedAt time.Time) []any {
	return []any{s.Name, s.Cron, s.Zone, s.Key, s.Gap, s.Fold,
		s.CatchUp, s.MaxLateness, s.MaxCount, s.Overlap, s.GiveUpAfter, s.Timeout, s.MinEffects, definedAt}
}

// nextAfter is NULL if there is no next slot.
func nextAfter(s Schedule, through time.Time) *time.Time {
	if next := s.Next(through); !next.IsZero() {
		return &next
	}
	return nil
}
