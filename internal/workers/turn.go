package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

// A turn is a lock that one slot of a schedule has at a time, until its
// transaction ends. Slots that may overlap take none.
const (
	tryTurnSQL  = `SELECT pg_try_advisory_xact_lock(hashtextextended('ranura/' || $1::text, 0))`
	waitTurnSQL = `SELECT pg_advisory_xact_lock(hashtextextended('ranura/' || $1::text, 0))`
)

// tryTurn reports whether no other slot of the schedule is at work.
func tryTurn(ctx context.Context, tx pgx.Tx, name string) (free bool, err error) {
	if err = tx.QueryRow(ctx, tryTurnSQL, name).Scan(&free); err != nil {
		return false, fmt.Errorf("take the schedule's turn: %w", err)
	}
	return free, nil
}

// waitTurn waits for the slot that is at work, as long as the session's
// lock_timeout allows.
func (a *attempt) waitTurn(ctx context.Context, tx pgx.Tx) error {
	if a.rules.Overlap == periodic.Allow {
		return nil
	}
	if _, err := tx.Exec(ctx, waitTurnSQL, a.slot.Name); err != nil {
		return fmt.Errorf("wait for another slot of %q: %w", a.slot.Name, err)
	}
	return nil
}

// A slot whose turn is far off comes back late, so that a backlog of a thousand
// does not ask a thousand times a second and keep all other slots waiting.
// Whoever ends passes the turn on, so it is not waited for; the asking is for
// predecessors that end otherwise, cancelled by an operator for example.
const longestWait = 10 * 60 // times again

// ofScheduleSQL finds the jobs of schedule $1: of its kind, or of the kind of all
// that are stored. River has an index on args.
const ofScheduleSQL = `(kind = $1 OR kind = '` + periodic.StoredKind + `' AND args @> jsonb_build_object('name', $1::text))`

// olderSQL compares the texts that the jobs carry, because a job that somebody
// else inserted may carry anything: it cancels itself when it runs, and must not
// fail its successors. Of two texts each is older to one of them at most, so no
// two jobs wait for each other.
const olderSQL = `
SELECT count(*) FROM (
    SELECT FROM river_job
    WHERE ` + ofScheduleSQL + ` AND queue = $2 AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
      AND args->>'slot' COLLATE "C" < (SELECT args->>'slot' FROM river_job WHERE id = $3)
    LIMIT $4
) older`

// olderSlots counts the schedule's slots that are older than a job's and have
// yet to end, up to longestWait.
func olderSlots(ctx context.Context, tx pgx.Tx, name string, jobID int64) (older int, err error) {
	if err = tx.QueryRow(ctx, olderSQL, name, periodic.Queue, jobID, longestWait).Scan(&older); err != nil {
		return 0, fmt.Errorf("look for older slots of %q: %w", name, err)
	}
	return older, nil
}

// passTurnSQL makes the oldest slot that waits available at once and wakes a
// replica for it, as River's client does. A slot that failed keeps its pause,
// and a coming one its time.
const passTurnSQL = `
WITH oldest AS (
    SELECT id, state FROM river_job
    WHERE ` + ofScheduleSQL + ` AND queue = $2 AND state IN ('available', 'retryable', 'scheduled')
      AND args->>'slot' COLLATE "C" <= $3
    ORDER BY args->>'slot' COLLATE "C", id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), next AS (
    UPDATE river_job SET state = 'available', scheduled_at = clock_timestamp()
    FROM oldest WHERE river_job.id = oldest.id AND oldest.state <> 'retryable'
    RETURNING river_job.queue
)
SELECT pg_notify(relnamespace::regnamespace || '.river_insert', json_build_object('queue', queue)::text)
FROM next, pg_class WHERE oid = 'river_job'::regclass`

// passTurn ends the turn of a slot of a schedule whose slots wait for each other.
// Those that have come due since now, when it began, ask by themselves.
func (a *attempt) passTurn(ctx context.Context, db periodic.DB, now time.Time) error {
	if a.rules.Overlap != periodic.Wait {
		return nil
	}
	if _, err := db.Exec(ctx, passTurnSQL, a.slot.Name, periodic.Queue, now.UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("pass the turn of %q on: %w", a.slot.Name, err)
	}
	return nil
}
