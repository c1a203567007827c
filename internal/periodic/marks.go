package periodic

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// stride is how many slots one pass looks at to move resolved_through. It
// bounds the cost of a pass, whatever has piled up; the next pass goes on.
const stride = 500

const resolvedSQL = `
SELECT slot_at, slot_at FROM worker_runs
WHERE name = $1 AND slot_at > $2 AND slot_at <= $3
UNION ALL
SELECT greatest(first_slot, $2), least(last_slot, $3) FROM slot_skips
WHERE name = $1 AND last_slot > $2 AND first_slot <= $3`

// resolvedThrough walks from the old mark over the slots that have a row or a
// recorded skip, and stops at the first that has neither. It does not pass
// enqueued_through. A slot whose job was given up or deleted so long ago that
// nobody will run it of his own accord does not stop it for ever: such slots are
// returned, to be recorded as too late.
func resolvedThrough(ctx context.Context, tx pgx.Tx, schedule Schedule, from *stored) (mark time.Time, forgotten []time.Time, err error) {
	var slots []Slot
	for slot := range schedule.Slots(from.resolvedThrough, from.enqueuedThrough) {
		if slots = append(slots, slot); len(slots) == stride {
			break
		}
	}
	if len(slots) == 0 {
		return from.enqueuedThrough, nil, nil
	}
	last := slots[len(slots)-1].At
	rows, err := tx.Query(ctx, resolvedSQL, schedule.Name, from.resolvedThrough, last)
	if err != nil {
		return mark, nil, fmt.Errorf("read resolved slots: %w", err)
	}
	type span struct{ First, Last time.Time }
	spans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[span])
	if err != nil {
		return mark, nil, fmt.Errorf("read resolved slots: %w", err)
	}
	keys := make([]string, 0, len(slots))
	for _, slot := range slots {
		keys = append(keys, slot.Key)
	}
	claimed, err := texts(ctx, tx, claimedKeysSQL, schedule.Name, keys)
	if err != nil {
		return mark, nil, fmt.Errorf("read claimed keys: %w", err)
	}
	resolved, hopeless := from.resolvedThrough, from.now.Add(-from.MaxLateness-from.GiveUpAfter)
	for _, slot := range slots {
		covered := slices.ContainsFunc(spans, func(s span) bool { return !slot.At.Before(s.First) && !slot.At.After(s.Last) })
		if !covered && !slices.Contains(claimed, slot.Key) {
			if !slot.At.Before(hopeless) {
				return resolved, forgotten, nil
			}
			forgotten = append(forgotten, slot.At)
		}
		resolved = slot.At
	}
	if len(slots) < stride {
		return from.enqueuedThrough, forgotten, nil
	}
	return resolved, forgotten, nil
}

const moveSQL = `
UPDATE worker_schedules SET enqueued_through = $2, next_slot = $3, resolved_through = $4,
    adopted_at = coalesce(adopted_at, clock_timestamp())
WHERE name = $1`

func move(ctx context.Context, tx pgx.Tx, schedule Schedule, enqueued, resolved time.Time) error {
	if _, err := tx.Exec(ctx, moveSQL, schedule.Name, enqueued, nextAfter(schedule, enqueued), resolved); err != nil {
		return fmt.Errorf("move the marks: %w", err)
	}
	return nil
}
