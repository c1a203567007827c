package workers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

type typedError struct{ text string }

func (e *typedError) Error() string { return e.text }

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
		require.Equal(t, claim.Schedule, record.Source)
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
		require.EqualError(t, a.attempt(t), "claim probe@"+fridayKey+": section not found")
		for range 2 {
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

	// River would call Error on it, outside any recover, and the process would end.
	t.Run("ATypedNilErrorFailsTheAttemptAndNotTheProcess", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
			var none *typedError
			return none
		}}))
		a.insert(t, friday)
		require.EqualError(t, a.attempt(t), "claim probe@"+fridayKey+": <nil>")
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		requireTotals(t, db, 0, 0)
	})

	t.Run("ArgumentsThatNameNoSlotCancelTheJob", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		for _, args := range []workers.Args[probe]{{Key: fridayKey}, {Slot: friday}} {
			_, err := a.Insert(t.Context(), args, periodic.InsertOpts())
			require.NoError(t, err)
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateCancelled, job.State)
			require.Len(t, job.Errors, 1)
			require.Contains(t, job.Errors[0].Error, `its arguments name no slot: insert it with "key" and "slot"`)
		}
		requireTotals(t, db, 0, 0)
	})
}
