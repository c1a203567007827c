package periodic

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
)

// backfillBatch is how many slots one transaction enqueues: enough to be fast,
// few enough that a failure loses little and locks are short.
const backfillBatch = 1000

// Gaps lists the slots in [from, to) that have not run, the oldest first: also
// those that were skipped, and those from before the schedule was known.
func (c *CatchUp) Gaps(ctx context.Context, schedule Schedule, from, to time.Time) ([]Slot, error) {
	var slots []Slot
	for slot := range schedule.Slots(from.Add(-1), to.Add(-1)) {
		slots = append(slots, slot)
	}
	ran := make(map[string]bool)
	for batch := range slices.Chunk(slots, backfillBatch) {
		keys := make([]string, 0, len(batch))
		for _, slot := range batch {
			keys = append(keys, slot.Key)
		}
		done, err := c.ranKeys(ctx, schedule.Name, keys)
		if err != nil {
			return nil, err
		}
		for _, key := range done {
			ran[key] = true
		}
	}
	return slices.DeleteFunc(slots, func(slot Slot) bool { return ran[slot.Key] }), nil
}

const ranKeysSQL = `SELECT key FROM worker_runs WHERE name = $1 AND key = ANY ($2) AND outcome = 'ran'`

func (c *CatchUp) ranKeys(ctx context.Context, name string, keys []string) ([]string, error) {
	rows, err := c.DB.Query(ctx, ranKeysSQL, name, keys)
	if err != nil {
		return nil, fmt.Errorf("read what ran: %w", err)
	}
	done, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read what ran: %w", err)
	}
	return done, nil
}

// Backfill enqueues slots that have not run, as [CatchUp.Gaps] lists them, and
// returns how many were not in the queue before. A slot that runs or waits in
// the queue is left to that; one that was given up, cancelled or skipped gets a
// new job. Whatever has run in the meantime is a no-op: the claim decides.
func (c *CatchUp) Backfill(ctx context.Context, entry Entry, slots []Slot) (enqueued int, err error) {
	for batch := range slices.Chunk(slots, backfillBatch) {
		err := pgx.BeginTxFunc(ctx, c.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			n, err := c.refill(ctx, tx, entry, batch)
			enqueued += n
			return err
		})
		if err != nil {
			return enqueued, fmt.Errorf("backfill %q from %s: %w", entry.Schedule.Name, batch[0].At.Format(time.RFC3339), err)
		}
	}
	return enqueued, nil
}

// refill inserts the jobs of a batch, and once more those whose place in the
// queue is taken by a job that is over.
func (c *CatchUp) refill(ctx context.Context, tx pgx.Tx, entry Entry, slots []Slot) (int, error) {
	jobs := make([]river.InsertManyParams, 0, len(slots))
	for _, slot := range slots {
		jobs = append(jobs, river.InsertManyParams{Args: entry.Args(slot), InsertOpts: optionsFrom(claim.Backfill)})
	}
	first, err := c.Client.InsertManyTx(ctx, tx, jobs)
	if err != nil {
		return 0, err
	}
	enqueued := 0
	var again []river.InsertManyParams
	for i, result := range first {
		switch {
		case !result.UniqueSkippedAsDuplicate:
			enqueued++
		case over(result.Job.State):
			if _, err := c.Client.JobDeleteTx(ctx, tx, result.Job.ID); err != nil {
				return 0, err
			}
			again = append(again, jobs[i])
		}
	}
	if len(again) == 0 {
		return enqueued, nil
	}
	_, err = c.Client.InsertManyTx(ctx, tx, again)
	return enqueued + len(again), err
}

func over(state rivertype.JobState) bool {
	return state == rivertype.JobStateCompleted || state == rivertype.JobStateCancelled || state == rivertype.JobStateDiscarded
}
