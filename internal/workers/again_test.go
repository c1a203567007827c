package workers_test

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// TestA4TwoTimersNameEverySlot: two replicas believe that they lead, and each
// enqueues all twenty slots in the same moment.
func TestA4TwoTimersNameEverySlot(t *testing.T) {
	t.Parallel()
	const slots = 20
	unique := periodic.InsertOpts()
	for name, c := range map[string]struct {
		options river.InsertOpts
		jobs    int
	}{
		"OneJobPerSlot":                {*unique, slots},
		"TwoJobsPerSlotAndStillOneRun": {river.InsertOpts{Queue: unique.Queue, MaxAttempts: unique.MaxAttempts}, 2 * slots}, // the unique key is an optimisation, too
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			leaders := []replica{start(t, db, onQuarters(probe{})), start(t, db, onQuarters(probe{}))}
			for n := range slots {
				slot := workers.Args[probe]{Slot: friday.Add(time.Duration(n) * 15 * time.Minute)}
				slot.Key = slot.Slot.Format(time.RFC3339)
				var group errgroup.Group
				for _, leader := range leaders {
					group.Go(func() error {
						_, err := leader.Insert(t.Context(), slot, &c.options)
						return err
					})
				}
				require.NoError(t, group.Wait())
			}
			awaitRuns(t, db, slots)
			require.Equal(t, c.jobs, count(t, db, `SELECT count(*) FROM river_job`))
			require.Equal(t, []string{"2025-05-31T00:00Z ran", "2025-05-31T04:45Z ran"}, []string{ran(t, db, "probe")[0], ran(t, db, "probe")[slots-1]})
			for _, leader := range leaders {
				require.Empty(t, leader.logged(), "who comes second has not failed")
			}
		})
	}
}

// TestA6LookingAgainRunsNothingTwiceAndSkipsNoWeek: three Mondays, after each of
// which everybody looks twice more.
func TestA6LookingAgainRunsNothingTwiceAndSkipsNoWeek(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	clockAt(t, db, "2026-08-01T00:00:00Z")
	a := boot(t, db, workers.On(probe{}, periodic.Definition{Cron: "0 6 * * 1", Zone: "Europe/Prague"}))
	require.NoError(t, a.Register(t.Context()))
	for i, monday := range []string{"2026-08-03T04:00:00Z", "2026-08-10T04:00:00Z", "2026-08-17T04:00:00Z"} {
		clockAt(t, db, monday)
		enqueued, _ := pass(t, a)
		require.Equal(t, 1, enqueued)
		awaitRuns(t, db, i+1)
		again, skipped := pass(t, a, a)
		require.Zero(t, again)
		require.Zero(t, skipped)
		slot, err := time.Parse(time.RFC3339, monday)
		require.NoError(t, err)
		for range 2 { // and a timer names the slot
			require.True(t, a.insert(t, slot).UniqueSkippedAsDuplicate)
		}
	}
	awaitRuns(t, db, 3)
	require.Equal(t, []string{"2026-08-03T04:00Z ran", "2026-08-10T04:00Z ran", "2026-08-17T04:00Z ran"}, ran(t, db, "probe"))
}

// TestF1ThreeMinutelySlotsAreThreeRuns, though the completed ones are still there
// and all are within three minutes.
func TestF1ThreeMinutelySlotsAreThreeRuns(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	clockAt(t, db, "2026-06-01T12:00:30Z")
	a := boot(t, db, workers.On(probe{}, periodic.Definition{Cron: "* * * * *", Zone: "UTC"}))
	require.NoError(t, a.Register(t.Context()))
	for i, minute := range []string{"2026-06-01T12:01:00Z", "2026-06-01T12:02:00Z", "2026-06-01T12:03:00Z"} {
		clockAt(t, db, minute)
		enqueued, _ := pass(t, a)
		require.Equal(t, 1, enqueued)
		awaitRuns(t, db, i+1)
	}
	require.Equal(t, 3, count(t, db, `SELECT count(*) FROM river_job WHERE state = 'completed'`))
	require.Equal(t, []string{"2026-06-01T12:01Z ran", "2026-06-01T12:02Z ran", "2026-06-01T12:03Z ran"}, ran(t, db, "probe"))
}

// TestF2TheCleanerForgetsTheJobAndNobodyTheSlot: River's cleaner removes the
// completed job, and with it River's memory of the unique key.
func TestF2TheCleanerForgetsTheJobAndNobodyTheSlot(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	weekly := workers.On(probe{}, periodic.Definition{Cron: "0 0 * * 1", Zone: "UTC", Key: periodic.ISOWeek})
	clockAt(t, db, "2026-12-27T12:00:00Z")
	a := boot(t, db, weekly)
	require.NoError(t, a.Register(t.Context()))
	clockAt(t, db, "2026-12-28T00:00:02Z")
	pass(t, a)
	awaitRuns(t, db, 1)
	a.stop(t)

	// The next leader's cleaner looks at once. It goes by the replica's clock.
	write(t, db, `UPDATE river_job SET finalized_at = $1`, time.Now().Add(-25*time.Hour))
	b := boot(t, db, weekly)
	require.Eventually(t, func() bool { return count(t, db, `SELECT count(*) FROM river_job`) == 0 }, patience, 20*time.Millisecond)

	enqueued, skipped := bootAtOnce(t, b)
	require.Zero(t, enqueued, "by the restart")
	require.Zero(t, skipped)
	write(t, db, `UPDATE worker_schedules SET enqueued_through = '2026-12-27Z', resolved_through = '2026-12-27Z', next_slot = '2026-12-28Z'`)
	enqueued, skipped = pass(t, b)
	require.Zero(t, enqueued, "by a catch-up that has lost its marks")
	require.Zero(t, skipped)
	pressed, err := byHand(t, db, weekly)(workers.Request{Key: "2026-W53"})
	require.NoError(t, err)
	require.Equal(t, claim.Duplicate, pressed.Outcome)

	slot := time.Date(2026, 12, 28, 0, 0, 0, 0, time.UTC)
	late, err := b.replica.Insert(t.Context(), workers.Args[probe]{Key: "2026-W53", Slot: slot}, periodic.InsertOpts())
	require.NoError(t, err)
	require.False(t, late.UniqueSkippedAsDuplicate, "River takes it for a new one")
	require.NoError(t, b.attempt(t))
	awaitRuns(t, db, 1)
	require.Equal(t, []string{"2026-12-28T00:00Z 2026-W53 ran"}, ran(t, db, "probe"))
}
