package workers_test

import (
	"context"
	"errors"
	"strings"
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

const failedSinceSQL = `UPDATE river_job SET errors[1] = jsonb_set(errors[1], '{at}', to_jsonb(now() - $1::interval))`

func TestGivingUp(t *testing.T) {
	t.Parallel()
	failing := probe{func(context.Context, pgx.Tx, periodic.Slot) error { return errors.New("section not found") }}

	for name, c := range map[string]struct {
		age      string
		stored   bool
		discards bool
	}{
		"NotBeforeItsTime":          {"23 hours 59 minutes", false, false},
		"AfterIt":                   {"24 hours 1 minute", false, true},
		"ByTheStoredPolicy":         {"2 hours", true, true},
		"NotBeforeTheStoredPolicys": {"30 minutes", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			if c.stored {
				store(t, db, `give_up_after = '1 hour'`)
			}
			a := start(t, db, onQuarters(failing))
			id := a.insert(t, friday).Job.ID
			require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
			write(t, db, failedSinceSQL, c.age)
			_ = a.logged()
			a.retry(t, id)
			job := a.settled(t)
			requireTotals(t, db, 0, 0)
			errorsLogged := strings.Count(strings.Join(a.logged(), ""), `level=ERROR msg="gave up" name=probe key=2025-05-31T00:00:00Z attempts=2 error="claim probe@2025-05-31T00:00:00Z: section not found"`)
			if !c.discards {
				require.Equal(t, rivertype.JobStateRetryable, job.State)
				require.Zero(t, errorsLogged)
				return
			}
			require.Equal(t, rivertype.JobStateDiscarded, job.State)
			require.Equal(t, 1, errorsLogged)
			require.Len(t, job.Errors, 2)
		})
	}

	// A job that has waited for a replica, or for its turn, has not failed.
	t.Run("IsNotForHavingWaited", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		failing := probe{func(context.Context, pgx.Tx, periodic.Slot) error { return errors.New("section not found") }}
		write(t, db, `INSERT INTO river_job (kind, args, queue, max_attempts, created_at)
			VALUES ('probe', jsonb_build_object('key', $1::text, 'slot', $1::text), 'slots', 25, now() - interval '2 days')`, fridayKey)
		a := start(t, db, onQuarters(failing))
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
	})

	// An operator who has mended the cause gets another try, however old the job.
	t.Run("IsNotForEver", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		var mended atomic.Bool
		a := start(t, db, onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
			if mended.Load() {
				return nil
			}
			return errors.New("section not found")
		}}))
		id := a.insert(t, friday).Job.ID
		a.settled(t)
		write(t, db, failedSinceSQL, "2 days")
		a.retry(t, id)
		require.Equal(t, rivertype.JobStateDiscarded, a.settled(t).State)
		mended.Store(true)
		a.retry(t, id)
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		requireTotals(t, db, 1, 1)
	})
}

func TestRetryPolicy(t *testing.T) {
	t.Parallel()
	var policy river.ClientRetryPolicy = workers.RetryPolicy{Now: func() time.Time { return friday }}
	for failures, most := range map[int]time.Duration{
		0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 9: 512 * time.Second, 10: 10 * time.Minute, 5000: 10 * time.Minute,
	} {
		seen := map[time.Time]bool{}
		for range 100 {
			next := policy.NextRetry(failed(failures, 0))
			require.WithinRange(t, next, friday.Add(most/2), friday.Add(most))
			seen[next] = true
		}
		require.Greater(t, len(seen), 1, "by chance")
		require.Equal(t, friday.Add(time.Hour), policy.NextRetry(failed(failures, time.Hour)), "an attempt was told so")
	}
}

// failed is a job in an attempt that was told to come back later, or was not.
func failed(before int, told time.Duration) *rivertype.JobRow {
	at := friday
	return &rivertype.JobRow{AttemptedAt: &at, ScheduledAt: at.Add(told), Errors: make([]rivertype.AttemptError, before)}
}
