package periodic

import (
	"context"
	"fmt"
	"time"
)

// pruneBatch keeps one statement short.
const pruneBatch = 10_000

// pruneSQL spares what catch-up may still look at. A claim whose schedule
// nobody knows, such as one of another language's, goes by its age alone.
const pruneSQL = `
DELETE FROM worker_runs WHERE ctid IN (
    SELECT r.ctid FROM worker_runs r
    LEFT JOIN worker_schedules s ON s.name = r.name
    WHERE r.ran_at < clock_timestamp() - $1::interval
      AND (s.name IS NULL OR r.slot_at IS NULL
           OR r.slot_at < least(s.enqueued_through, clock_timestamp()) - s.max_lateness)
    LIMIT $2
)`

// Prune deletes claims that are older than keep, and returns how many. Claims
// are part of the guarantee: keep them longer than anybody may try a slot again
// by hand. No slot becomes due by it, because what is due is decided by the
// schedule's own mark. Any number of replicas may prune at once.
func Prune(ctx context.Context, db DB, keep time.Duration) (pruned int64, err error) {
	for {
		tag, err := db.Exec(ctx, pruneSQL, keep, pruneBatch)
		if err != nil {
			return pruned, fmt.Errorf("prune claims: %w", err)
		}
		pruned += tag.RowsAffected()
		if tag.RowsAffected() < pruneBatch {
			return pruned, nil
		}
	}
}
