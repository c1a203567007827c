package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
)

const claimedOfSQL = `
SELECT r.name, r.key FROM unnest($1::text[], $2::text[]) AS wanted (name, key) JOIN worker_runs r USING (name, key)`

// claimedOf says which of the slots of the steps have a row.
func claimedOf(ctx context.Context, tx pgx.Tx, steps []step) (map[claim.Key]bool, error) {
	var names, keys []string
	want := func(s step, key string) { names, keys = append(names, s.name), append(keys, key) }
	for _, s := range steps {
		if !s.plain {
			continue
		}
		for _, key := range s.open {
			want(s, key)
		}
		for _, slot := range s.due {
			want(s, slot.Key)
		}
	}
	rows, err := tx.Query(ctx, claimedOfSQL, names, keys)
	if err != nil {
		return nil, fmt.Errorf("read claimed keys: %w", err)
	}
	claimed := make(map[claim.Key]bool, len(keys))
	var key claim.Key
	_, err = pgx.ForEachRow(rows, []any{&key.Name, &key.Key}, func() error { claimed[key] = true; return nil })
	if err != nil {
		return nil, fmt.Errorf("read claimed keys: %w", err)
	}
	return claimed, nil
}

// marks are where schedules have come to, as columns.
type marks struct {
	names              []string
	enqueued, resolved []time.Time
	next               []*time.Time
}

// add moves a schedule whose earlier slots are resolved past its due one, which
// is not: that mark follows with the next slot.
func (m *marks) add(s step) {
	m.names = append(m.names, s.name)
	m.resolved = append(m.resolved, s.enqueuedThrough)
	m.enqueued = append(m.enqueued, s.now)
	m.next = append(m.next, nextAfter(s.schedule, s.now))
}

const moveAllSQL = `
UPDATE worker_schedules s SET enqueued_through = m.enqueued, next_slot = m.next, resolved_through = m.resolved,
    adopted_at = coalesce(adopted_at, clock_timestamp())
FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[]) AS m (name, enqueued, next, resolved)
WHERE s.name = m.name`

func (m *marks) write(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, moveAllSQL, m.names, m.enqueued, m.next, m.resolved); err != nil {
		return fmt.Errorf("move the marks: %w", err)
	}
	return nil
}
