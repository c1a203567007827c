package replica

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

// retireSQL marks the schedules, and forgets the kinds, that no replica of a
// living service has any more. With no replica left at all the service is down,
// and its schedules are owed as ever. It waits for no schedule that somebody has
// in hand: what it knows of the replicas would be old by then.
const retireSQL = `
WITH forgotten AS (
    DELETE FROM worker_kinds k
    WHERE EXISTS (SELECT FROM replicas r WHERE r.service = k.service)
      AND NOT EXISTS (SELECT FROM replicas r WHERE k.name = ANY (r.kinds))
)
UPDATE worker_schedules SET removed_at = clock_timestamp(), definition_changed_at = clock_timestamp(),
    jobs_before = coalesce(pg_sequence_last_value('river_job_id_seq'), 0)
WHERE name IN (
    SELECT name FROM worker_schedules s
    WHERE source = 'code' AND removed_at IS NULL
      AND EXISTS (SELECT FROM replicas r WHERE r.service = s.service)
      AND NOT EXISTS (SELECT FROM replicas r WHERE r.service = s.service AND s.name = ANY (r.schedules))
    FOR UPDATE SKIP LOCKED
)
RETURNING name`

func (r *replica) retire(ctx context.Context, db periodic.DB) error {
	rows, err := db.Query(ctx, retireSQL)
	if err != nil {
		return fmt.Errorf("retire schedules: %w", err)
	}
	retired, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("retire schedules: %w", err)
	}
	for _, name := range retired {
		r.Log.Warn("no replica has this schedule any more: it is removed", "name", name)
	}
	return nil
}
