package workers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func TestJobToClaim(t *testing.T) {
	t.Parallel()

	t.Run("ClaimEffectsAndCompletionAreOneTransaction", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		id := a.insert(t, friday).Job.ID
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)

		// Row versions carry the transaction that wrote them.
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM effects e, river_job j, worker_runs r WHERE e.xmin = j.xmin AND j.xmin = r.xmin`))

		record, err := claim.Find(t.Context(), db, claim.Key{Name: "probe", Key: fridayKey})
		require.NoError(t, err)
		require.Equal(t, friday, record.Slot.UTC())
		require.Equal(t, "ran", record.Outcome)
		require.Equal(t, claim.External, record.Source, "no timer of ours inserted it")
		require.Equal(t, id, *record.JobID)
		require.Equal(t, 1, *record.Attempt)
		require.EqualValues(t, 1, *record.Effects)
		require.Equal(t, "a-1", *record.Replica)
	})

	t.Run("A2LostClaimCompletesTheJobAsANoOp", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		write(t, db, `INSERT INTO worker_runs (name, key) VALUES ('probe', $1)`, fridayKey)
		a.insert(t, friday)
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 1, job.Attempt)
		require.Empty(t, job.Errors)
		requireTotals(t, db, 0, 1)
	})

	t.Run("E7FailedAttemptsDoNotPoisonTheNext", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		var attempts atomic.Int32
		a := start(t, db, onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
			switch attempts.Add(1) {
			case 1:
				return errors.New("section not found")
			case 2:
				panic("section not found")
			default:
				return nil
			}
		}}))
		id := a.insert(t, friday).Job.ID
		for _, want := range []string{"section not found", "panic: section not found"} {
			require.EqualError(t, a.attempt(t), "claim probe@"+fridayKey+": "+want)
			require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
			requireTotals(t, db, 0, 0)
			a.retry(t, id)
		}
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 3, job.Attempt)
		require.Len(t, job.Errors, 2)
		requireTotals(t, db, 1, 1)
	})

	t.Run("ArgumentsThatNameNoSlotCancelTheJob", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		for _, args := range []workers.Args[probe]{{Key: fridayKey}, {Slot: friday}, {Key: "2026-W22", Slot: friday}} {
			_, err := a.Insert(t.Context(), args, periodic.InsertOpts())
			require.NoError(t, err)
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateCancelled, job.State)
			require.Len(t, job.Errors, 1)
			require.Contains(t, job.Errors[0].Error, `do not belong together: insert it with both, as app next --json prints them`)
		}
		requireTotals(t, db, 0, 0)
	})

	// With a period for a key, every moment of the week has the key of its slot.
	t.Run("AMomentThatIsNoSlotDoesNotEatTheWeeks", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.On(probe{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: "America/Mexico_City", Key: periodic.ISOWeek}))
		for _, at := range []time.Time{friday.AddDate(0, 0, -3), friday.Add(500 * time.Millisecond)} {
			_, err := a.Insert(t.Context(), workers.Args[probe]{Key: "2025-W22", Slot: at}, periodic.InsertOpts())
			require.NoError(t, err)
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateCancelled, job.State)
			require.Contains(t, job.Errors[0].Error, `is not a slot of "probe": the one before is 2025-05-`)
			write(t, db, `DELETE FROM river_job`) // its place in the queue was the week's
		}
		requireTotals(t, db, 0, 0)
	})

	// Whoever enqueues a coming slot on a Wednesday must not eat Friday's.
	t.Run("AnEarlyJobWaitsForItsSlot", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.On(probe{}, periodic.Definition{Cron: "@every 1s", Zone: "UTC"}))
		a.insert(t, time.Now().Add(2*time.Second).Truncate(time.Second))
		requireSnooze(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		requireTotals(t, db, 1, 1)
		require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE ran_at < slot_at`))
	})

	t.Run("TheDatabaseRefusesAnEarlyClaim", func(t *testing.T) {
		t.Parallel()
		_, err := newEffects(t).Exec(t.Context(), `INSERT INTO worker_runs (name, key, slot_at) VALUES ('probe', 'k', now() + interval '1 minute')`)
		require.ErrorContains(t, err, "worker_runs_not_early")
	})
}
