package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is a pool, a connection or a transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// registerSQL keeps known_since from the first registration: the replica that
// boots later does not move the instant from which slots are owed.
const registerSQL = `
INSERT INTO worker_schedules AS known (name, cron, zone, key_format, gap, fold)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
ORDER BY 1
ON CONFLICT (name) DO UPDATE
SET cron = excluded.cron, zone = excluded.zone, key_format = excluded.key_format,
    gap = excluded.gap, fold = excluded.fold, definition_changed_at = now()
WHERE (known.cron, known.zone, known.key_format, known.gap, known.fold)
   IS DISTINCT FROM (excluded.cron, excluded.zone, excluded.key_format, excluded.gap, excluded.fold)`

// Register makes schedules known to the database, which stamps a new one with
// its own clock: a schedule owes nothing from before it was first registered.
// Any number of replicas may register at once.
func Register(ctx context.Context, db DB, schedules []Schedule) error {
	columns := make([][]string, 6)
	for _, s := range schedules {
		for i, value := range []string{s.Name, s.Cron, s.Zone, string(s.Key), string(s.Gap), string(s.Fold)} {
			columns[i] = append(columns[i], value)
		}
	}
	_, err := db.Exec(ctx, registerSQL, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5])
	if err != nil {
		return fmt.Errorf("register schedules: %w", err)
	}
	return nil
}

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
