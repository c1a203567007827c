package workers_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// While the worker is at work, somebody else changes its job. JobCompleteTx
// reports no error for any of the first three.
func TestE1JobThatIsNoLongerOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, err string }{
		"Rescued": {
			`UPDATE river_job SET state = 'retryable', scheduled_at = now() + interval '1 hour'`,
			"complete job 1: it is retryable in attempt 1 and no longer ours (attempt 1)",
		},
		"Discarded": {
			`UPDATE river_job SET state = 'discarded', finalized_at = now()`,
			"complete job 1: it is discarded in attempt 1 and no longer ours (attempt 1)",
		},
		"E2InAnotherAttempt": {
			`UPDATE river_job SET attempt = 2`,
			"complete job 1: it is completed in attempt 2 and no longer ours (attempt 1)",
		},
		"Deleted": {`DELETE FROM river_job`, "complete job 1: not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			var once sync.Once
			a := start(t, db, onQuarters(probe{func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) (err error) {
				once.Do(func() { _, err = db.Exec(ctx, c.change) })
				return err
			}}))
			a.insert(t, friday)
			require.EqualError(t, a.attempt(t), "claim probe@"+fridayKey+": "+c.err)
			requireTotals(t, db, 0, 0)

			// The slot is still owed, and whoever has it now pays once.
			if name == "Deleted" {
				require.False(t, a.insert(t, friday).UniqueSkippedAsDuplicate)
			} else {
				a.retry(t, a.settled(t).ID)
			}
			require.NoError(t, a.attempt(t))
			requireTotals(t, db, 1, 1)
		})
	}

	// This one cannot be told from our own completion. The claim decides.
	t.Run("Completed", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) error {
			_, err := db.Exec(ctx, `UPDATE river_job SET state = 'completed', finalized_at = now()`)
			return err
		}}))
		a.insert(t, friday)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 1, 1)

		a.retry(t, a.settled(t).ID)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 1, 1)
	})
}
