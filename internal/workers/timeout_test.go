package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// TestTimeout is G2 where a schedule says how long an attempt may take; what
// becomes of one that takes longer is in TestFailure.
func TestTimeout(t *testing.T) {
	t.Parallel()
	const clients = 200 * time.Millisecond // River's own, which stands for its default of a minute

	t.Run("G2CLongerThanTheClientsIsEnoughForTheFirstAttempt", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		slow := probe{func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2 * clients):
				return nil
			}
		}}
		a := startWith(t, db, river.Config{JobTimeout: clients, RetryPolicy: inAnHour()},
			onQuartersWith(slow, periodic.Policy{Timeout: 10 * time.Minute}))
		a.insert(t, friday)
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 1, job.Attempt)
		requireTotals(t, db, 1, 1)
	})

	// Another replica's code may take longer; this one's does not.
	t.Run("ItIsThatOfTheCode", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		store(t, db, `timeout = '1 hour'`)
		var left time.Duration
		a := start(t, db, onQuarters(probe{func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) error {
			until, _ := ctx.Deadline()
			left = time.Until(until)
			return nil
		}}))
		a.insert(t, friday)
		require.NoError(t, a.attempt(t))
		require.InDelta(t, periodic.DefaultTimeout.Seconds(), left.Seconds(), 30)
	})

	t.Run("ByHandItHoldsAsWell", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endless := probe{func(ctx context.Context, _ pgx.Tx, _ periodic.Slot) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		_, err := byHand(t, db, onQuartersWith(endless, periodic.Policy{Timeout: time.Second}))(workers.Request{Slot: friday})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		requireTotals(t, db, 0, 0)
	})
}

func TestLongestTimeout(t *testing.T) {
	t.Parallel()
	longest := func(entries ...workers.Entry) time.Duration { return newRegistry(t, entries...).LongestTimeout() }
	require.Equal(t, 2*time.Hour, longest(onQuartersWith(probe{}, periodic.Policy{Timeout: 2 * time.Hour})))
	require.Equal(t, periodic.DefaultTimeout, longest(onQuartersWith(probe{}, periodic.Policy{Timeout: time.Second})))
	require.Equal(t, periodic.DefaultTimeout, longest())
}
