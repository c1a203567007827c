package workers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// TestE4DeadlockOfTwoSlots: the loser is tried again, and no money is lost.
func TestE4DeadlockOfTwoSlots(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	write(t, db, `CREATE TABLE purses (id int PRIMARY KEY, coins int NOT NULL DEFAULT 0)`)
	write(t, db, `INSERT INTO purses VALUES (1), (2)`)
	var meeting atomic.Int32
	met := make(chan struct{})
	a := startWith(t, db, river.Config{RetryPolicy: workers.RetryPolicy{Now: time.Now}},
		onQuarters(probe{func(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
			first, second := 1, 2
			if !slot.At.Equal(friday) {
				first, second = second, first
			}
			if _, err := tx.Exec(ctx, `UPDATE purses SET coins = coins + 10 WHERE id = $1`, first); err != nil {
				return err
			}
			if meeting.Add(1) == 2 {
				close(met) // each has one purse and wants the other's
			}
			<-met
			_, err := tx.Exec(ctx, `UPDATE purses SET coins = coins + 10 WHERE id = $1`, second)
			return err
		}}))
	a.insert(t, friday)
	a.insert(t, friday.Add(15*time.Minute))
	for done := 0; done < 2; {
		job := a.settled(t)
		if job.State == rivertype.JobStateCompleted {
			done++
		}
		require.LessOrEqual(t, job.Attempt, 3)
	}
	require.Equal(t, []string{"1:20", "2:20"}, texts(t, db, `SELECT id || ':' || coins FROM purses ORDER BY id`))
	requireTotals(t, db, 2, 2)
	logged := a.logged()
	require.Len(t, logged, 1)
	require.Contains(t, logged[0], "SQLSTATE 40P01")
	require.Contains(t, logged[0], "level=WARN")
}

// TestE2Zombie: attempt 1 is taken for dead and is not.
func TestE2Zombie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  string // what ends attempt 1's transaction, if anything does
		want string // attempt 1's error
	}{
		"ItEndsFirst":          {``, "no longer ours"},
		"ItEndsAfterTheSecond": {`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`, "record outcome: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			var attempts atomic.Int32
			stalled, resume := make(chan bool), make(chan bool)
			a := startWith(t, db, river.Config{RetryPolicy: workers.RetryPolicy{Now: time.Now}},
				onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
					if attempts.Add(1) == 1 {
						stalled <- true
						<-resume
					}
					return nil
				}}))
			a.insert(t, friday)
			await(t, stalled)
			write(t, db, `UPDATE river_job SET state = 'available'`) // as the rescuer does
			requireSnooze(t, a.attempt(t))
			if c.end != `` {
				write(t, db, c.end)
				for errors.As(a.attempt(t), new(*rivertype.JobSnoozeError)) {
				}
				require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
			}
			close(resume)
			err := a.attempt(t)
			for errors.As(err, new(*rivertype.JobSnoozeError)) {
				err = a.attempt(t)
			}
			require.ErrorContains(t, err, c.want)
			require.Eventually(t, func() bool {
				return count(t, db, `SELECT count(*) FROM river_job WHERE state = 'completed'`) == 1
			}, patience, 10*time.Millisecond)
			requireTotals(t, db, 1, 1)
		})
	}
}

// Ten claims that a psql session holds do not keep a replica of four workers
// from its other slots.
func TestHeldClaimsKeepNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	a := start(t, db, onQuarters(probe{}))
	for n := range 10 {
		slot := friday.Add(time.Duration(n) * 15 * time.Minute)
		_, err := holder.Exec(t.Context(), `INSERT INTO worker_runs (name, key) VALUES ('probe', $1)`, slot.Format(time.RFC3339))
		require.NoError(t, err)
		a.insert(t, slot)
	}
	for range 4 {
		requireSnooze(t, a.attempt(t))
	}
	began := time.Now()
	for n := range 10 {
		a.insert(t, friday.Add(time.Duration(n+10)*15*time.Minute))
	}
	for range 10 {
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
	}
	require.Less(t, time.Since(began), 3*time.Second)
	requireTotals(t, db, 10, 10)

	require.NoError(t, holder.Rollback(t.Context()))
	for range 10 {
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 1, job.Attempt, "a job that waits uses up no attempt")
		require.Empty(t, job.Errors)
	}
	requireTotals(t, db, 20, 20)
	require.Empty(t, a.logged())
}
