package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Known is what the database knows of a schedule.
type Known struct {
	Name       string
	Source     Source
	Definition         // the stored one: of the newest replica, where it is the code's
	Kind       *string // of the task that a stored schedule enqueues; or
	Endpoint   *string // what it calls; with neither, it runs a statement
	Path       *string
	Since      time.Time  // from when on it owes its slots
	AddedBy    *string    // who stored it
	AdoptedAt  *time.Time // nil: no replica has looked at this definition yet, or they refuse it
	NextSlot   *time.Time // nil if there is none
	Note       *string    // why the replicas refuse it

	RemovedAt    *time.Time
	PausedAt     *time.Time
	PausedBy     *string
	PausedReason *string
}

// State is one word for people. mine is the definition of this binary's
// registry, if it has the schedule.
func (k Known) State(mine *Schedule) string {
	switch {
	case k.RemovedAt != nil:
		return "removed"
	case k.Source == Stored && k.Note != nil:
		return "refused"
	case k.PausedAt != nil:
		return "paused"
	case k.Source == Stored && k.AdoptedAt == nil:
		return "new"
	case mine != nil && (k.Cron != mine.Cron || k.Zone != mine.Zone):
		return "superseded"
	default:
		return "active"
	}
}

// knownSQL reads no statement, arguments or body: who may look need not see these.
const knownSQL = `
SELECT name, source, ` + DefinitionColumns + `, enqueue_kind, http_endpoint, http_path,
       known_since, added_by, adopted_at, next_slot, note, removed_at, paused_at, paused_by, paused_reason
FROM worker_schedules
WHERE $1 = '' OR name = $1`

// AllKnown returns what is known by name: of one schedule, or of every one if
// the name is empty.
func AllKnown(ctx context.Context, db DB, name string) (map[string]Known, error) {
	rows, err := db.Query(ctx, knownSQL, name)
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

// Skew is by how much this process's clock is ahead of the database's, which
// answered between two readings of ours; 0 within what the round trip leaves open,
// since the answer may have been under way for any part of it.
func Skew(before, database, after time.Time) time.Duration {
	switch {
	case database.Before(before):
		return before.Sub(database)
	case database.After(after):
		return after.Sub(database)
	default:
		return 0
	}
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
