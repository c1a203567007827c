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
// one minute, so they are taken many at a time. What needs a closer look, or is
// of a batch that failed, is visited alone, when all others have their slots.
func (c *CatchUp) passStored(ctx context.Context, pass *Pass) (failed error) {
	var names []string
	for from, more := (place{}), true; more; more = from.name != "" {
		rest, err := c.advance(ctx, &from, pass)
		if err != nil && len(rest) == 0 {
			return fmt.Errorf("catch up: stored schedules: %w", err)
		}
		names = append(names, rest...)
	}
	for _, name := range names {
		one, err := c.visit(ctx, Entry{Schedule: Schedule{Name: name}}, pass.Now)
		if err != nil {
			one.Failed, failed = 1, errors.Join(failed, fmt.Errorf("catch up %q: %w", name, err))
		}
		pass.add(one)
	}
	return failed
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

// advance takes the next batch. It adopts the definitions that are new, and
// enqueues the slot of each schedule that has one slot due, in time, and whose
// earlier ones are all resolved: nearly every one. It returns the names of the
// others, untouched; on an error, of all. After the last batch, the place has no
// name.
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
		plain, err := c.isPlain(ctx, tx, s, claimed)
		if err != nil {
			return pass, nil, err
		}
		if !plain {
			rest = append(rest, s.name)
			continue
		}
		for _, slot := range s.due {
			if !claimed[claim.Key{Name: s.name, Key: slot.Key}] {
				jobs = append(jobs, river.InsertManyParams{Args: StoredJob(slot), InsertOpts: optionsFrom(claim.CatchUp)})
			}
		}
		moved.add(s)
	}
	if pass.Enqueued, err = c.insert(ctx, tx, jobs); err != nil {
		return pass, nil, err
	}
	pass.Schedules, pass.Stored = len(moved.names), len(moved.names)
	return pass, rest, moved.write(ctx, tx)
}
