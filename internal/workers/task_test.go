package workers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

// errand writes one effect, waits for a lock if it is told to, and fails if it
// is told to.
type errand struct {
	Effect string `json:"effect"`
	Wait   bool   `json:"wait,omitempty"`
	Fail   string `json:"fail,omitempty"`
}

func (errand) Name() string { return "errand" }

func (e errand) Run(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `INSERT INTO effects (key) VALUES ($1)`, e.Effect); err != nil {
		return err
	}
	if e.Wait {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(42)`)
		return err
	}
	switch e.Fail {
	case "":
		return nil
	case "panic":
		panic(e.Fail)
	default:
		return errors.New(e.Fail)
	}
}

// enqueue puts a task into the queue in a transaction of its own.
func enqueue(t *testing.T, db *pgxpool.Pool, task workers.Task, dedupeKey string) (id int64) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) (err error) {
		id, err = workers.Enqueue(t.Context(), tx, task, workers.EnqueueOpts{DedupeKey: dedupeKey})
		return err
	}))
	return id
}

func TestTask(t *testing.T) {
	t.Parallel()

	t.Run("ClaimEffectsAndCompletionAreOneTransaction", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		id := enqueue(t, db, errand{Effect: "e"}, "k")
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM effects e, river_job j, worker_runs r WHERE e.xmin = j.xmin AND j.xmin = r.xmin`))

		record, err := claim.Find(t.Context(), db, claim.Key{Name: "errand", Key: "k"})
		require.NoError(t, err)
		require.Nil(t, record.Slot)
		require.Equal(t, claim.External, record.Source)
		require.Equal(t, id, *record.JobID)
		require.EqualValues(t, 1, *record.Effects)
		require.Equal(t, "a-1", *record.Replica)
	})

	t.Run("WithoutAKeyEveryJobRuns", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		for range 2 {
			enqueue(t, db, errand{Effect: "e"}, "")
			require.NoError(t, a.attempt(t))
		}
		requireTotals(t, db, 2, 2)
		require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_runs r JOIN river_job j ON j.id = job_id
			WHERE key = 'job ' || j.id || to_char(created_at AT TIME ZONE 'UTC', ' YYYY-MM-DD"T"HH24:MI:SS.') || rtrim(to_char(created_at, 'US'), '0') || 'Z'`))
	})

	t.Run("AClaimThatWasTakenCompletesTheJobAsANoOp", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		tx, err := db.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `SELECT claim_run('errand', 'k')`) // Python is at it
		require.NoError(t, err)
		enqueue(t, db, errand{Effect: "e"}, "k")
		requireSnooze(t, a.attempt(t))
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		requireTotals(t, db, 0, 1)
	})

	t.Run("FailedAttemptsLeaveNothingAndTheNextSucceeds", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		id := enqueue(t, db, errand{Effect: "e", Fail: "panic"}, "k")
		require.EqualError(t, a.attempt(t), "claim errand@k: panic: panic")
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		requireTotals(t, db, 0, 0)
		write(t, db, `UPDATE river_job SET args = '{"effect": "e", "unknown": 1}'`)
		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 1, 1)
	})

	t.Run("GivesUpADayAfterItsFirstFailure", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		id := enqueue(t, db, errand{Fail: "no"}, "k")
		write(t, db, `UPDATE river_job SET created_at = now() - interval '1 year'`) // it was enqueued far ahead
		require.Error(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		write(t, db, `UPDATE river_job SET errors[1] = jsonb_set(errors[1], '{at}', to_jsonb(now() - interval '24 hours 1 minute'))`)
		a.retry(t, id)
		require.Error(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateDiscarded, a.settled(t).State)
		require.Contains(t, a.logged()[2], `level=ERROR msg="gave up" name=errand key=k attempts=2 error="claim errand@k: no"`)
	})

	// J2: what a plain INSERT gets wrong is cancelled at once, and its values
	// stay out of the log.
	t.Run("ArgumentsThatCannotBeReadCancelTheJob", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		for args, want := range map[string]string{
			`null`:                      `args: must be an object`,
			`"s3cret"`:                  `args: "" must be of type workers_test.errand`,
			`["s3cret"]`:                `args: "" must be of type workers_test.errand`,
			`{"effect": 53.7e2}`:        `args: "effect" must be of type string`,
			`{"effect": {"s3cret": 1}}`: `args: "effect" must be of type string`,
		} {
			write(t, db, `INSERT INTO river_job (kind, args, max_attempts) VALUES ('errand', $1::text::jsonb, 25)`, args)
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateCancelled, job.State)
			require.Len(t, job.Errors, 1)
			require.Contains(t, job.Errors[0].Error, want)
			lines := a.logged()
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], `level=WARN msg="job cancelled" name=errand`)
			require.NotContains(t, lines[0], "s3cret")
		}
		requireTotals(t, db, 0, 0)
	})
}

// A backlog of tasks delays no slot: each queue has workers of its own.
func TestSlotsPassABacklogOfTasks(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock(42)`)
	require.NoError(t, err)
	a := start(t, db, workers.OnDemand(errand{}), onQuarters(probe{}))
	for range 10 {
		enqueue(t, db, errand{Wait: true}, "")
	}
	require.Eventually(t, func() bool { return count(t, db, `SELECT count(*) FROM river_job WHERE state = 'running'`) == 4 },
		patience, 10*time.Millisecond, "all workers of the queue are at work")
	a.insert(t, friday)
	require.NoError(t, a.attempt(t))
	requireTotals(t, db, 1, 1)
	require.NoError(t, holder.Rollback(t.Context()))
	for range 10 {
		require.NoError(t, a.attempt(t))
	}
}
