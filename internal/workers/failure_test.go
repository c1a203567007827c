package workers_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

type memberError struct{ id string }

func (e *memberError) Error() string { return "no member " + e.id }

// exec is what a probe does after its effect.
func exec(sql string) func(context.Context, pgx.Tx, periodic.Slot) error {
	return func(ctx context.Context, tx pgx.Tx, _ periodic.Slot) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}
}

// raise fails as the server does.
func raise(code string) func(context.Context, pgx.Tx, periodic.Slot) error {
	return exec(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '` + code + `'; END $$`)
}

// TestFailure is one slot that fails, however it can, beside one that does not:
// it fails its attempt, and neither the process nor the other job.
func TestFailure(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	for name, c := range map[string]struct {
		fail func(context.Context, pgx.Tx, periodic.Slot) error
		want string
	}{
		"Error":      {func(context.Context, pgx.Tx, periodic.Slot) error { return errors.New("section not found") }, "section not found"},
		"Panic":      {func(context.Context, pgx.Tx, periodic.Slot) error { panic("section not found") }, "panic: section not found"},
		"Goexit":     {func(context.Context, pgx.Tx, periodic.Slot) error { runtime.Goexit(); return nil }, "the step called runtime.Goexit"},
		"G1TypedNil": {func(context.Context, pgx.Tx, periodic.Slot) error { var e *memberError; return e }, "error of type *workers_test.memberError that panics when it is read"},
		"NULInText":  {func(context.Context, pgx.Tx, periodic.Slot) error { return errors.New("no member \x00 \xff") }, "no member"},
		"Commits":    {func(ctx context.Context, tx pgx.Tx, _ periodic.Slot) error { return tx.Commit(ctx) }, "a step cannot end it"},
		"CommitsSQL": {exec(`COMMIT`), "a step cannot end it"},
		"G2AHonoursItsContext": {func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) error {
			<-ctx.Done()
			return ctx.Err()
		}, "context deadline exceeded"},
		"G2BIgnoresItsContext": {func(context.Context, pgx.Tx, periodic.Slot) error {
			<-released
			return nil
		}, "the step ignores that its context has ended: context deadline exceeded"},
		"E4SerializationFailure": {raise("40001"), "SQLSTATE 40001"},
		"E4Deadlock":             {raise("40P01"), "SQLSTATE 40P01"},
		"LockTimeout":            {raise("55P03"), "SQLSTATE 55P03"},
		"UniqueIndexOfRiver":     {raise("23505"), "SQLSTATE 23505"},
		"PlanChanged":            {raise("0A000"), "SQLSTATE 0A000"},
		"ReadOnly":               {raise("25006"), "SQLSTATE 25006"},
		"LostConnection":         {exec(`SELECT pg_terminate_backend(pg_backend_pid())`), "SQLSTATE 57P01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			var broken atomic.Bool
			broken.Store(true)
			a := start(t, db, onQuartersWith(probe{func(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
				if slot.At.Equal(friday) && broken.Load() {
					return c.fail(ctx, tx, slot)
				}
				return nil
			}}, periodic.Policy{Timeout: time.Second}))
			id := a.insert(t, friday).Job.ID
			require.ErrorContains(t, a.attempt(t), c.want)
			job := a.settled(t)
			require.Equal(t, rivertype.JobStateRetryable, job.State)
			require.Len(t, job.Errors, 1)
			a.insert(t, friday.Add(15*time.Minute))
			require.NoError(t, a.attempt(t))
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
			requireTotals(t, db, 1, 1)

			broken.Store(false)
			a.retry(t, id)
			require.NoError(t, a.attempt(t))
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
			requireTotals(t, db, 2, 2)
			logged := a.logged()
			require.Len(t, logged, 1, "one warning, and no error from anybody")
			require.Contains(t, logged[0], `level=WARN msg="slot failed" name=probe key=2025-05-31T00:00:00Z`)
		})
	}
}

// A replica that stops does not wait for a slot that ignores it, and hands the
// slot back as if it had never been tried.
func TestStopWhileASlotIgnoresItsContext(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	running, release := make(chan bool), make(chan bool)
	defer close(release)
	a := start(t, db, onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
		running <- true
		<-release
		return nil
	}}))
	a.insert(t, friday)
	await(t, running)
	began := time.Now()
	require.NoError(t, a.StopAndCancel(context.WithoutCancel(t.Context())))
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, []string{"available 0"}, texts(t, db, `SELECT state || ' ' || attempt FROM river_job WHERE errors IS NULL`))
	requireTotals(t, db, 0, 0)
}

// G3. Both kinds of a member that is not there.
func TestG3MemberIsGone(t *testing.T) {
	t.Parallel()

	t.Run("ForGoodCancelsOneJobWithItsReason", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{func(_ context.Context, _ pgx.Tx, slot periodic.Slot) error {
			if slot.At.Equal(friday) {
				return river.JobCancel(errors.New("member 42 is gone"))
			}
			return nil
		}}))
		a.insert(t, friday)
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCancelled, job.State)
		require.Equal(t, 1, job.Attempt)
		require.Contains(t, job.Errors[0].Error, "member 42 is gone")
		a.insert(t, friday.Add(15*time.Minute))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		requireTotals(t, db, 1, 1)
	})

	// The member is deleted while the child is written, and may come back.
	t.Run("ForAMomentIsTriedAgain", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a, id := loseTheParent(t, db)
		write(t, db, `INSERT INTO parents VALUES (42)`)
		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 2, job.Attempt)
		requireTotals(t, db, 1, 1)
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM children`))
	})

	t.Run("ForTooLongIsGivenUpAndSaid", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a, id := loseTheParent(t, db)
		write(t, db, failedSinceSQL, "23 hours 59 minutes")
		a.retry(t, id)
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		require.NotContains(t, strings.Join(a.logged(), ""), "level=ERROR")
		write(t, db, failedSinceSQL, "24 hours 1 minute")
		a.retry(t, id)
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateDiscarded, job.State)
		require.Less(t, job.Attempt, job.MaxAttempts, "by its time, not by a count")
		alerts := strings.Count(strings.Join(a.logged(), ""), `level=ERROR msg="gave up" name=probe key=`+fridayKey+` attempts=3 error="claim probe@`+fridayKey)
		require.Equal(t, 1, alerts)
		requireTotals(t, db, 0, 0)
	})
}

// loseTheParent starts a slot that writes the child of a row which somebody
// deletes at that moment, and waits until its first attempt has failed.
func loseTheParent(t *testing.T, db *pgxpool.Pool) (a replica, job int64) {
	t.Helper()
	write(t, db, `CREATE TABLE parents (id int PRIMARY KEY)`)
	write(t, db, `CREATE TABLE children (parent int REFERENCES parents)`)
	write(t, db, `INSERT INTO parents VALUES (42)`)
	a = start(t, db, onQuarters(probe{exec(`INSERT INTO children VALUES (42)`)}))
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `DELETE FROM parents`)
		require.NoError(t, err)
		job = a.insert(t, friday).Job.ID
		require.Eventually(t, func() bool {
			return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
		}, patience, 5*time.Millisecond, "the child waits for the parent")
		return nil
	}))
	require.ErrorContains(t, a.attempt(t), "SQLSTATE 23503")
	require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
	requireTotals(t, db, 0, 0)
	return a, job
}
