package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// overdueBound is how many slots of one schedule are looked at: whoever is told
// of so many is told enough.
const overdueBound = 1000

const unresolvedSQL = `
SELECT name, ` + DefinitionColumns + `, resolved_through, clock_timestamp()
FROM worker_schedules
WHERE removed_at IS NULL AND (source = 'code' OR adopted_at IS NOT NULL) AND (next_slot <= clock_timestamp() OR resolved_through < enqueued_through)`

// overdueSQL leaves of the slots those that have no row and no recorded skip.
const overdueSQL = `
SELECT slot.name, slot.key, slot.at
FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS slot (name, key, at)
WHERE NOT EXISTS (SELECT FROM worker_runs run WHERE run.name = slot.name AND run.key = slot.key)
  AND NOT EXISTS (SELECT FROM slot_skips skip WHERE skip.name = slot.name AND slot.at BETWEEN skip.first_slot AND skip.last_slot)
ORDER BY slot.at, slot.name`

// Overdue lists the slots, the oldest first, that were due longer ago than
// OnTime and the timeout of their schedule, and have neither run nor been
// decided against: nobody enqueued them, they fail, or their job is gone. What a
// stored schedule owes is not known before a replica has adopted it. It
// looks at the oldest thousand of each schedule, and asks the database's clock.
func Overdue(ctx context.Context, db DB) ([]Slot, error) {
	var names, keys []string
	var ats []time.Time
	rows, err := db.Query(ctx, unresolvedSQL)
	if err != nil {
		return nil, fmt.Errorf("read unresolved schedules: %w", err)
	}
	var name string
	var stored Definition
	var through, now time.Time
	into := append([]any{&name}, stored.Targets()...)
	_, err = pgx.ForEachRow(rows, append(into, &through, &now), func() error {
		schedule, err := Parse(name, stored)
		if err != nil {
			return err
		}
		looked := 0
		for slot := range schedule.Slots(through, now.Add(-OnTime-stored.Timeout)) {
			if looked++; looked > overdueBound {
				break
			}
			names, keys, ats = append(names, slot.Name), append(keys, slot.Key), append(ats, slot.At)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read unresolved schedules: %w", err)
	}
	rows, err = db.Query(ctx, overdueSQL, names, keys, ats)
	if err != nil {
		return nil, fmt.Errorf("read overdue slots: %w", err)
	}
	overdue, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (slot Slot, err error) {
		err = row.Scan(&slot.Name, &slot.Key, &slot.At)
		slot.At = slot.At.UTC()
		return slot, err
	})
	if err != nil {
		return nil, fmt.Errorf("read overdue slots: %w", err)
	}
	return overdue, nil
}

// Interval is how long a schedule may be without a run, at an instant: the
// longer of the two distances from its latest due slot to its neighbours. Zero
// if it has no such neighbours.
func (s Schedule) Interval(at time.Time) time.Duration {
	latest, ok := s.Latest(at)
	if !ok {
		return 0
	}
	var longest time.Duration
	if next := s.Next(latest.At); !next.IsZero() {
		longest = next.Sub(latest.At)
	}
	if before, ok := s.Latest(latest.At.Add(-time.Second)); ok {
		longest = max(longest, latest.At.Sub(before.At))
	}
	return longest
}
