package replica

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

const goneSQL = `
DELETE FROM replicas WHERE last_seen_at < clock_timestamp() - $1::interval RETURNING id`

// endSQL ends what a gone replica still holds on the server: a frozen process
// keeps its transaction, and with it its claim, as long as nobody does.
const endSQL = `
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = ANY ($1)`

// handBackSQL returns the jobs that were running on gone replicas, and those on
// replicas that nobody knows any more: jobs of our kinds, for another program's
// replicas are none of ours. The attempt counts: it may have been the
// slot that killed the replica.
const handBackSQL = `
UPDATE river_job SET state = 'available', scheduled_at = clock_timestamp()
WHERE state = 'running' AND kind IN (SELECT name FROM worker_kinds) AND (
    attempted_by[array_upper(attempted_by, 1)] = ANY ($1)
    OR attempted_at < clock_timestamp() - $2::interval
       AND NOT EXISTS (SELECT FROM replicas WHERE id = attempted_by[array_upper(attempted_by, 1)])
)`

// longestRetry is a little more than the retry policy allows.
const longestRetry = 11 * time.Minute

// pullInSQL makes slots due that are put off for longer than a retry may take.
// River stamps retries and snoozes with the clock of the process: one that is an
// hour ahead puts its slots off by an hour. Texts are compared, because a job
// that somebody else inserted may carry anything.
const pullInSQL = `
UPDATE river_job SET scheduled_at = clock_timestamp()
WHERE state IN ('available', 'retryable', 'scheduled') AND queue = $1
  AND scheduled_at > clock_timestamp() + $2::interval AND args->>'slot' COLLATE "C" <= $3`

// handBack returns the slots of replicas that are gone to the queue. If one of
// them was only slow, its claim decides: whichever attempt commits first has
// the slot, and the other one finds it done.
func (r *replica) handBack(ctx context.Context, now time.Time) error {
	err := pgx.BeginFunc(ctx, r.control, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, goneSQL, GoneAfter)
		if err != nil {
			return err
		}
		gone, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		sessions := make([]string, 0, len(gone))
		for _, id := range gone {
			sessions = append(sessions, "ranura/"+id+" worker", "ranura/"+id+" control")
		}
		if _, err := tx.Exec(ctx, endSQL, sessions); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, handBackSQL, gone, GoneAfter)
		if err != nil {
			return err
		}
		pulled, err := tx.Exec(ctx, pullInSQL, periodic.Queue, longestRetry, now.UTC().Format(time.RFC3339))
		if err != nil {
			return err
		}
		if pulled.RowsAffected() > 0 {
			r.Log.Warn("slots were put off by a clock that is ahead: they are due now", "slots", pulled.RowsAffected())
		}
		if len(gone) == 0 && tag.RowsAffected() == 0 {
			return nil // another replica was first
		}
		r.Log.Warn("replicas are gone: their jobs are handed back", "replicas", gone, "jobs", tag.RowsAffected())
		return r.retire(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("hand back: %w", err)
	}
	return nil
}
