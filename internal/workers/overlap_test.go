package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	later := friday.Add(15 * time.Minute)

	// busy runs friday until the test lets it end.
	busy := func() (worker probe, running, release chan bool) {
		running, release = make(chan bool), make(chan bool)
		return probe{func(_ context.Context, _ pgx.Tx, slot periodic.Slot) error {
			if slot.At.Equal(friday) {
				running <- true
				<-release
			}
			return nil
		}}, running, release
	}

	t.Run("AllowRunsBesideIt", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		a := start(t, db, onQuarters(worker))
		a.insert(t, friday)
		await(t, running)
		a.insert(t, later)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 1, 1)
		close(release)
		require.NoError(t, a.attempt(t))
	})

	t.Run("SkipRecordsIt", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		a := start(t, db, onQuartersWith(worker, periodic.Policy{Overlap: periodic.Skip}))
		a.insert(t, friday)
		await(t, running)
		a.insert(t, later)
		require.NoError(t, a.attempt(t))
		require.Equal(t, []string{"skipped_overlap 0"}, texts(t, db, `SELECT outcome || ' ' || effects FROM worker_runs`))
		close(release)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 1, 2)
	})

	t.Run("WaitRunsThemOneByOneTheOldestFirst", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		a := start(t, db, onQuartersWith(worker, periodic.Policy{Overlap: periodic.Wait}))
		a.insert(t, friday)
		await(t, running)
		for n := range 3 { // the newest is enqueued first
			a.insert(t, friday.Add(time.Duration(3-n)*15*time.Minute))
			requireSnooze(t, a.attempt(t))
		}
		require.Eventually(t, func() bool {
			return count(t, db, `SELECT count(*) FROM river_job WHERE state <> 'running'`) == 3
		}, patience, 5*time.Millisecond)
		write(t, db, `UPDATE river_job SET state = 'scheduled', scheduled_at = now() + interval '1 hour' WHERE state <> 'running'`)
		woken, err := db.Acquire(t.Context())
		require.NoError(t, err)
		defer woken.Release()
		_, err = woken.Exec(t.Context(), `LISTEN "public.river_insert"`)
		require.NoError(t, err)

		close(release) // the turn is passed on, not waited for
		notification, err := woken.Conn().WaitForNotification(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `{"queue": "slots"}`, notification.Payload)
		for range 4 {
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateCompleted, job.State)
			require.Equal(t, 1, job.Attempt, "a slot that waits uses up no attempt")
		}
		keys := texts(t, db, `SELECT key FROM worker_runs ORDER BY ran_at`)
		require.IsIncreasing(t, keys)
		require.Len(t, keys, 4)
	})

	t.Run("WaitAsksMoreSeldomTheFurtherOffItsTurnIs", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		a := start(t, db, onQuartersWith(worker, periodic.Policy{Overlap: periodic.Wait}))
		a.insert(t, friday)
		await(t, running)
		for n := range 3 {
			a.insert(t, friday.Add(time.Duration(n+1)*15*time.Minute))
			var snooze *rivertype.JobSnoozeError
			require.ErrorAs(t, a.attempt(t), &snooze)
			require.Equal(t, time.Duration(n+1)*time.Second, snooze.Duration)
		}
		close(release)
		for range 4 {
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		}
	})

	t.Run("WaitPassesTheTurnOfASlotThatHasRunMeanwhile", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		a := start(t, db, onQuartersWith(worker, periodic.Policy{Overlap: periodic.Wait}))
		a.insert(t, friday)
		await(t, running)
		for n := range 2 {
			a.insert(t, friday.Add(time.Duration(n+1)*15*time.Minute))
			requireSnooze(t, a.attempt(t))
		}
		write(t, db, `INSERT INTO worker_runs (name, key) VALUES ('probe', '2025-05-31T00:15:00Z')`) // somebody runs the next one by hand
		require.Eventually(t, func() bool {
			return count(t, db, `SELECT count(*) FROM river_job WHERE state <> 'running'`) == 2
		}, patience, 5*time.Millisecond)
		write(t, db, `UPDATE river_job SET state = 'scheduled', scheduled_at = now() + interval '1 hour' WHERE state <> 'running'`)
		close(release)
		for range 3 {
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		}
		require.Equal(t, []string{fridayKey, "2025-05-31T00:30:00Z"}, texts(t, db, `SELECT key FROM effects ORDER BY key`))
	})

	t.Run("WaitIsNotForItselfHoweverItsInstantIsWritten", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuartersWith(probe{}, periodic.Policy{Overlap: periodic.Wait}))
		write(t, db, `INSERT INTO river_job (kind, args, queue, max_attempts) VALUES
			('probe', '{"key": "2025-05-31T00:00:00Z", "slot": "2025-05-31T00:00:00+00:00"}', 'slots', 25),
			('probe', '{"key": "2025-05-31T00:15:00Z", "slot": "2025-05-30T19:15:00-05:00"}', 'slots', 25)`)
		for range 2 {
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		}
		requireTotals(t, db, 2, 2)
	})

	t.Run("ByHandItWaits", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		worker, running, release := busy()
		entry := onQuartersWith(worker, periodic.Policy{Overlap: periodic.Skip})
		a := start(t, db, entry)
		a.insert(t, friday)
		await(t, running)
		var result workers.Result
		var group errgroup.Group
		group.Go(func() (err error) {
			result, err = byHand(t, db, entry)(workers.Request{Slot: later})
			return err
		})
		require.Eventually(t, func() bool {
			return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) == 1
		}, patience, 5*time.Millisecond)
		requireTotals(t, db, 0, 0)
		close(release)
		require.NoError(t, group.Wait())
		require.Equal(t, claim.Ran, result.Outcome)
	})
}
