package periodic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/claim"
)

// advanceBatch is how many stored schedules one transaction takes: enough that
// its cost is little for each, few enough for the other replicas to have some too.
const advanceBatch = 250

// passStored deals with the stored schedules that are due. Thousands may be so in
// one minute, so they are taken many at a time; what needs a closer look is
// then visited alone, and so is a whole batch that failed.
func (c *CatchUp) passStored(ctx context.Context, pass *Pass) (failed error) {
	var from place
	for {
		rest, err := c.advance(ctx, &from, pass)
		if err != nil && len(rest) == 0 {
			return errors.Join(failed, fmt.Errorf("catch up: stored schedules: %w", err))
		}
		for _, name := range rest {
			one, err := c.visit(ctx, Entry{Schedule: Schedule{Name: name}}, pass.Now)
			if err != nil {
				one.Failed, failed = 1, errors.Join(failed, fmt.Errorf("catch up %q: %w", name, err))
			}
			pass.add(one)
		}
		if from.name == "" {
			return failed
		}
	}
}

// place is how far a pass has come, so that it ends whatever becomes of the rows.
type place struct {
	slot time.Time
	name string
}

const advanceSQL = storedSQL + `, next_slot
FROM worker_schedules
WHERE source = 'stored' AND removed_at IS NULL AND next_slot <= now() AND (next_slot, name) > ($1, $2)
ORDER BY next_slot, name LIMIT $3
FOR UPDATE SKIP LOCKED`

// advance takes the next batch. It enqueues the slot of each schedule that has
// one slot due, in time, and whose earlier ones are all resolved, which is
// nearly every one. It returns the names of the others, untouched; on an error,
// of all. After the last batch, the place has no name.
func (c *CatchUp) advance(ctx context.Context, from *place, pass *Pass) (rest []string, err error) {
	var names []string
	var done Pass
	err = pgx.BeginTxFunc(ctx, c.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, impatientSQL); err != nil {
			return err
		}
		steps, err := c.steps(ctx, tx, from)
		if err != nil {
			return err
		}
		for _, s := range steps {
			names = append(names, s.name)
		}
		done, rest, err = c.take(ctx, tx, steps)
		return err
	})
	if err != nil {
		return names, err
	}
	pass.add(done)
	return rest, nil
}

// A step is a stored schedule on its way from one slot to the next.
type step struct {
	*stored

	schedule Schedule
	open     []string // the keys of earlier slots that may not be resolved yet
	due      []Slot
	plain    bool // there is nothing to decide
}

// steps locks the rows of a batch.
func (c *CatchUp) steps(ctx context.Context, tx pgx.Tx, from *place) ([]step, error) {
	rows, err := tx.Query(ctx, advanceSQL, from.slot, from.name, advanceBatch)
	if err != nil {
		return nil, fmt.Errorf("lock stored schedules: %w", err)
	}
	steps, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (step, error) {
		var s stored
		err := row.Scan(append(s.into(), &from.slot)...)
		return stepOf(&s), err
	})
	if err != nil {
		return nil, fmt.Errorf("lock stored schedules: %w", err)
	}
	from.name = ""
	if len(steps) == advanceBatch {
		from.name = steps[len(steps)-1].name
	}
	return steps, nil
}

// stepOf looks at a schedule, and no further than there is something to decide.
func stepOf(s *stored) step {
	step := step{stored: s}
	schedule, err := Parse(s.name, s.Definition)
	if err != nil || s.adoptedAt == nil || s.pausedAt != nil {
		return step
	}
	step.schedule = schedule
	for slot := range schedule.Slots(s.resolvedThrough, s.now) {
		if slot.At.After(s.enqueuedThrough) {
			step.due = append(step.due, slot)
		} else {
			step.open = append(step.open, slot.Key)
		}
		if len(step.due) > 1 || len(step.open) > stride {
			return step
		}
	}
	step.plain = len(step.due) == 1 && s.now.Sub(step.due[0].At) < min(OnTime, s.MaxLateness)
	return step
}

// take enqueues the slots of the plain steps and moves their marks, each in one
// statement. The others are the rest.
func (c *CatchUp) take(ctx context.Context, tx pgx.Tx, steps []step) (pass Pass, rest []string, err error) {
	claimed, err := claimedOf(ctx, tx, steps)
	if err != nil {
		return pass, nil, err
	}
	var jobs []river.InsertManyParams
	var moved marks
	for _, s := range steps {
		resolved := s.plain
		for _, key := range s.open {
			resolved = resolved && claimed[claim.Key{Name: s.name, Key: key}]
		}
		if !resolved {
			rest = append(rest, s.name)
			continue
		}
		slot := s.due[0]
		if !claimed[claim.Key{Name: s.name, Key: slot.Key}] {
			jobs = append(jobs, river.InsertManyParams{Args: StoredJob(slot), InsertOpts: optionsFrom(claim.CatchUp)})
		}
		moved.add(s)
	}
	if pass.Enqueued, err = c.insert(ctx, tx, jobs); err != nil {
		return pass, nil, err
	}
	pass.Schedules, pass.Stored = len(moved.names), len(moved.names)
	return pass, rest, moved.write(ctx, tx)
}
