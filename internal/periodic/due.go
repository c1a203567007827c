package periodic

import (
	"context"
	"fmt"
	"time"
)

// dueSQL is answered by indexes, however many schedules are stored. It says
// now(), which an index can be asked about, where clock_timestamp() is read anew
// for every row; outside a transaction it is the same instant.
const dueSQL = `
SELECT now(),
       (SELECT min(next_slot) FROM worker_schedules WHERE source = 'code' AND removed_at IS NULL AND next_slot > now() - $1::interval),
       (SELECT min(next_slot) FROM worker_schedules WHERE source = 'stored' AND removed_at IS NULL AND next_slot > now()),
       (SELECT coalesce(max(definition_changed_at), to_timestamp(0)) FROM worker_schedules WHERE source = 'code'),
       ARRAY(SELECT name FROM (
           SELECT name, next_slot FROM worker_schedules
           WHERE source = 'code' AND removed_at IS NULL AND next_slot <= now() - $1::interval
           UNION
           SELECT name, next_slot FROM worker_schedules
           WHERE source = 'code' AND removed_at IS NULL AND resolved_through < enqueued_through
       ) AS due ORDER BY next_slot)`

// due is the one query of a pass that has nothing to do.
func (c *CatchUp) due(ctx context.Context) (pass Pass, names []string, err error) {
	var next, nextStored *time.Time
	if err := c.DB.QueryRow(ctx, dueSQL, c.patience).Scan(&pass.Now, &next, &nextStored, &pass.Changed, &names); err != nil {
		return pass, nil, fmt.Errorf("catch up: read what is due: %w", err)
	}
	if next != nil {
		pass.Next = *next
	}
	if nextStored != nil {
		pass.NextStored = *nextStored
	}
	return pass, names, nil
}
