package periodic

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const addSQL = `
INSERT INTO worker_schedules (name, cron, zone, key_format, gap, fold,
    catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects,
    sql_statement, enqueue_kind, enqueue_args, http_endpoint, http_path, http_body, added_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
    nullif($14, ''), nullif($15, ''), nullif($16, '')::jsonb, nullif($17, ''), nullif($18, ''), nullif($19, '')::jsonb, $20)`

// Add stores a schedule in the caller's transaction. The replicas hear of it at
// the commit; its first slot is the first after that. What the table refuses is
// a [pgconn.PgError].
//
// The rules for clock changes are stored as they are given: an empty one goes on
// to be that of the schedule's kind when the expression is changed.
func Add(ctx context.Context, tx pgx.Tx, schedule Schedule, given Definition, action Action, by string) error {
	s := schedule
	_, err := tx.Exec(ctx, addSQL, s.Name, s.Cron, s.Zone, s.Key, given.Gap, given.Fold,
		s.CatchUp, s.MaxLateness, s.MaxCount, s.Overlap, s.GiveUpAfter, s.Timeout, s.MinEffects,
		action.SQL, action.Kind, action.Args, action.Endpoint, action.Path, action.Body, by)
	if err != nil {
		return fmt.Errorf("add schedule %q: %w", s.Name, err)
	}
	return nil
}

const removeSQL = `DELETE FROM worker_schedules WHERE name = $1 AND source = 'stored'`

// Remove deletes a stored schedule, and reports whether there was one. Its
// history stays, and a slot that runs goes on; those whose jobs are in the queue
// end as superseded.
func Remove(ctx context.Context, db DB, name string) (bool, error) {
	tag, err := db.Exec(ctx, removeSQL, name)
	if err != nil {
		return false, fmt.Errorf("remove schedule %q: %w", name, err)
	}
	return tag.RowsAffected() > 0, nil
}
