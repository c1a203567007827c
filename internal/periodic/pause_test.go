package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestPause(t *testing.T) {
	t.Parallel()

	t.Run("SlotsDueWhilePausedAreSkippedAndResumeCountsFromNow", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour).UTC()
		paused, err := c.Pause(t.Context(), "hourly", "ana@ops", "the database moves")
		require.NoError(t, err)
		require.WithinRange(t, paused.Since, now, now.Add(time.Minute))
		require.Equal(t, periodic.Paused{Since: paused.Since, By: "ana@ops", Reason: "the database moves"}, paused)
		again, err := c.Pause(t.Context(), "hourly", "eva@ops", "me too")
		require.NoError(t, err)
		paused.Before = true
		require.Equal(t, paused, again, "who and why stay, and whoever asks again is told")
		require.Equal(t, []string{"ana@ops the database moves"}, db.strings(t, `SELECT paused_by || ' ' || paused_reason FROM worker_schedules`))

		// As if it had been paused three hours and a half ago, one slot after the last pass.
		db.lastRan(t, hour.Add(-4*time.Hour))
		db.exec(t, `UPDATE worker_schedules SET paused_at = $1`, hour.Add(-2*time.Hour-time.Minute))
		pass := db.pass(t, c)
		require.Equal(t, 1, pass.Enqueued, "due before the pause")
		require.EqualValues(t, 3, pass.Skipped)
		require.Equal(t, []string{hour.Add(-3 * time.Hour).Format(time.RFC3339)}, db.jobs(t, "hourly"))

		skipped, err := c.Resume(t.Context(), c.Entries[0])
		require.NoError(t, err)
		require.Zero(t, skipped, "already recorded")
		require.Equal(t, []string{"true"}, db.strings(t, `SELECT (paused_at IS NULL AND paused_by IS NULL)::text FROM worker_schedules`))
		require.Zero(t, db.pass(t, c).Enqueued)
	})

	t.Run("ResumeRecordsWhatNoPassHasSeen", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		_, err := c.Pause(t.Context(), "hourly", "ana", "")
		require.NoError(t, err)
		db.exec(t, `UPDATE worker_schedules SET enqueued_through = date_trunc('hour', now()) - interval '1 minute', paused_at = now() - interval '2 hours'`)
		skipped, err := c.Resume(t.Context(), c.Entries[0])
		require.NoError(t, err)
		require.EqualValues(t, 1, skipped)
		require.Empty(t, db.jobs(t, "hourly"))
	})

	t.Run("UnknownSchedule", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.catchUp(t, time.Time{}, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		_, err := c.Pause(t.Context(), "hourly", "ana", "")
		require.ErrorIs(t, err, periodic.ErrNotRegistered)
		_, err = c.Resume(t.Context(), c.Entries[0])
		require.ErrorIs(t, err, periodic.ErrNotRegistered)
	})
}
