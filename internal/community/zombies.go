package community

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A thread is nudged after nudgeDays without a reply, and closed closeDays
// after an unanswered nudge.
const (
	nudgeDays = 30
	closeDays = 14
)

const nudgeText = "👋 Este hilo lleva 30 días sin respuestas. ¿Alguien quiere retomarlo? Si nadie contesta, se cerrará en 14 días."

// NudgeThreads posts one reply of the moderator bot in every open thread whose
// last sign of life, its start or its last reply, is 30 days or more before
// at. One silence gets one nudge; a reply ends the silence, and the next one
// counts from it. Bots' replies are no sign of life. A reply that was written
// between at and the call counts: it can only spare a thread.
//
// Without the bot it is an error, unless there is nothing to nudge.
func NudgeThreads(ctx context.Context, tx pgx.Tx, at time.Time) error {
	silent, err := silentThreads(ctx, tx, at.AddDate(0, 0, -nudgeDays))
	if err != nil || len(silent) == 0 {
		return err
	}
	bot, err := moderator(ctx, tx)
	if err != nil {
		return fmt.Errorf("nudge threads: %w", err)
	}
	return nudge(ctx, tx, silent, bot, at)
}

// Locked in ascending id, so that two slots that run at once wait for each
// other; the second then sees the first one's nudges and leaves them alone.
const silentThreadsSQL = `
SELECT t.id
FROM threads t
CROSS JOIN LATERAL (
    SELECT greatest(t.created_at, max(r.created_at)) AS at
    FROM replies r JOIN members m ON m.id = r.author_id AND NOT m.is_bot
    WHERE r.thread_id = t.id
) last
WHERE t.closed_at IS NULL AND t.created_at <= $1 AND last.at <= $1
  AND (t.nudged_at IS NULL OR t.nudged_at <= last.at)
ORDER BY t.id
FOR UPDATE OF t`

func silentThreads(ctx context.Context, tx pgx.Tx, since time.Time) ([]int64, error) {
	rows, err := tx.Query(ctx, silentThreadsSQL, since)
	if err != nil {
		return nil, fmt.Errorf("find silent threads: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("find silent threads: %w", err)
	}
	return ids, nil
}

const nudgeSQL = `
WITH nudged AS (
    UPDATE threads SET nudged_at = $2 WHERE id = ANY ($1) RETURNING id
)
INSERT INTO replies (thread_id, author_id, body, created_at)
SELECT id, $3, $4, $2 FROM nudged ORDER BY id`

func nudge(ctx context.Context, tx pgx.Tx, threads []int64, bot int64, at time.Time) error {
	if _, err := tx.Exec(ctx, nudgeSQL, threads, at, bot, nudgeText); err != nil {
		return fmt.Errorf("nudge threads: %w", err)
	}
	return nil
}

const closeThreadsSQL = `
UPDATE threads t SET closed_at = $1
WHERE t.closed_at IS NULL AND t.nudged_at <= $2
  AND NOT EXISTS (
      SELECT FROM replies r JOIN members m ON m.id = r.author_id AND NOT m.is_bot
      WHERE r.thread_id = t.id AND r.created_at >= t.nudged_at)`

// CloseThreads closes every thread that was nudged 14 days or more before at
// and has had no reply since. A reply at the very instant of the nudge, or
// after at, counts; a bot's does not.
func CloseThreads(ctx context.Context, tx pgx.Tx, at time.Time) error {
	if _, err := tx.Exec(ctx, closeThreadsSQL, at, at.AddDate(0, 0, -closeDays)); err != nil {
		return fmt.Errorf("close threads: %w", err)
	}
	return nil
}
