package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Known is what the database knows of a schedule.
type Known struct {
	Name         string
	Since        time.Time // from when on it owes its slots
	Cron         string    // the stored definition, that of the newest replica
	Zone         string
	RemovedAt    *time.Time
	PausedAt     *time.Time
	PausedBy     *string
	PausedReason *string
}

// State is one word for people, seen from a replica with the given definition.
func (k Known) State(mine Schedule) string {
	switch {
	case k.RemovedAt != nil:
		return "removed"
	case k.PausedAt != nil:
		return "paused"
	case k.Cron != mine.Cron || k.Zone != mine.Zone:
		return "superseded"
	default:
		return "active"
	}
}

const knownSQL = `
SELECT name, known_since, cron, zone, removed_at, paused_at, paused_by, paused_reason FROM worker_schedules`

// AllKnown returns the registered schedules, by name.
func AllKnown(ctx context.Context, db DB) (map[string]Known, error) {
	rows, err := db.Query(ctx, knownSQL)
	if err != nil {
		return nil, fmt.Errorf("read known schedules: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Known])
	if err != nil {
		return nil, fmt.Errorf("read known schedules: %w", err)
	}
	known := make(map[string]Known, len(all))
	for _, k := range all {
		known[k.Name] = k
	}
	return known, nil
}

// nowSQL is the database's clock, the one that decides what is due.
const nowSQL = `SELECT clock_timestamp()`

// Now reads the database's clock.
func Now(ctx context.Context, db DB) (time.Time, error) {
	rows, err := db.Query(ctx, nowSQL)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	now, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[time.Time])
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}
