package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const knownSQL = `SELECT name, known_since FROM worker_schedules`

// Known returns, for each registered schedule, the instant from which it owes
// its slots.
func Known(ctx context.Context, db DB) (map[string]time.Time, error) {
	rows, err := db.Query(ctx, knownSQL)
	if err != nil {
		return nil, fmt.Errorf("read known schedules: %w", err)
	}
	known := make(map[string]time.Time)
	var name string
	var since time.Time
	_, err = pgx.ForEachRow(rows, []any{&name, &since}, func() error {
		known[name] = since
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read known schedules: %w", err)
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
