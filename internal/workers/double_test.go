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

var onLeaderboard = workers.On(workers.LeaderboardClose{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: "America/Mexico_City", Key: periodic.ISOWeek})

// A forced run is a run of its own in the records. The ledger still knows the
// week, and its own unique key refuses to pay it again.
func TestK7ForcePaysNobodyTwice(t *testing.T) {
	t.Parallel()
	db := newCommunity(t)
	write(t, db, `INSERT INTO activity (member_id, points, occurred_at) VALUES (11, 30, '2025-05-28Z'), (12, 20, '2025-05-28Z')`)
	for range 2 {
		result, err := byHand(t, db, onLeaderboard)(workers.Request{Slot: friday})
		require.NoError(t, err)
		require.Equal(t, "2025-W22", result.ClaimKey)
	}
	for range 2 {
		forced, err := byHand(t, db, onLeaderboard)(workers.Request{Slot: friday, Force: true})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, forced.Outcome)
		require.Equal(t, "2025-W22", forced.Key)
		require.Regexp(t, `^2025-W22 forced \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, forced.ClaimKey)
		require.Equal(t, forced.ClaimKey, forced.Run.Key)
		require.EqualValues(t, 0, *forced.Run.Effects)
	}
	require.Equal(t, 3, count(t, db, `SELECT count(*) FROM worker_runs`))
	require.Equal(t, []string{"11 10", "12 10"}, texts(t, db, `SELECT member_id || ' ' || coins FROM wallets ORDER BY member_id`))
	require.Equal(t, []string{"11", "12"}, texts(t, db, `SELECT member_id::text FROM notifications ORDER BY member_id`))
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM threads`))
}

// A forced run of a slot that has not run takes the slot's own key: under
// another one, a timer or a retry would run the slot a second time.
func TestForceOfAFreshSlotTakesItsKey(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	button := byHand(t, db, onQuarters(probe{}))
	forced, err := button(workers.Request{Slot: friday, Force: true})
	require.NoError(t, err)
	require.Equal(t, claim.Ran, forced.Outcome)
	require.Equal(t, fridayKey, forced.ClaimKey)

	again, err := button(workers.Request{Slot: friday})
	require.NoError(t, err)
	require.Equal(t, claim.Duplicate, again.Outcome)
	requireTotals(t, db, 1, 1)

	dry, err := button(workers.Request{Slot: friday, Force: true, DryRun: true})
	require.NoError(t, err)
	require.Nil(t, dry.Run)
	require.NotEqual(t, fridayKey, dry.ClaimKey)
	requireTotals(t, db, 1, 1)
}

func TestE6ButtonAndTimerAtOnce(t *testing.T) {
	t.Parallel()

	t.Run("FiftySlotsOneEffectEach", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		button := byHand(t, db, onQuarters(probe{}))
		ran := 0
		for n := range 50 {
			slot := friday.Add(time.Duration(n) * 15 * time.Minute)
			var result workers.Result
			var group errgroup.Group
			group.Go(func() (err error) {
				result, err = button(workers.Request{Slot: slot})
				return err
			})
			a.insert(t, slot)
			require.NoError(t, group.Wait())
			if result.Outcome == claim.Ran {
				ran++
			}
			require.NotNil(t, result.Run)
		}
		requireTotals(t, db, 50, 50)
		require.Equal(t, 50, count(t, db, `SELECT count(DISTINCT key) FROM effects`))
		require.Equal(t, ran, count(t, db, `SELECT count(*) FROM worker_runs WHERE source = 'manual'`))
		for range 50 {
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		}
	})

	// The race above may be won before it begins. Here the two do overlap.
	t.Run("TheJobWaitsForTheButton", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		pressed, release := make(chan bool), make(chan bool)
		button := byHand(t, db, onQuarters(probe{func(context.Context, pgx.Tx, periodic.Slot) error {
			pressed <- true
			<-release
			return nil
		}}))
		var result workers.Result
		var group errgroup.Group
		group.Go(func() (err error) {
			result, err = button(workers.Request{Slot: friday})
			return err
		})
		await(t, pressed)
		a.insert(t, friday)
		requireSnooze(t, a.attempt(t))
		close(release)
		require.NoError(t, group.Wait())
		require.Equal(t, claim.Ran, result.Outcome)
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Equal(t, 1, job.Attempt)
		require.Empty(t, job.Errors)
		requireTotals(t, db, 1, 1)
	})
}
