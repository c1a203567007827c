package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// TestChangedDefinition: the newest replica's definition counts, from the
// change on, and a rollback fires nothing again.
func TestChangedDefinition(t *testing.T) {
	t.Parallel()
	hourly := periodic.Definition{Cron: "@hourly"}
	halfHourly := periodic.Definition{Cron: "0,30 * * * *"}
	cron := func(t *testing.T, db town) []string {
		t.Helper()
		return db.strings(t, `SELECT cron FROM worker_schedules`)
	}

	t.Run("NewestWinsAndOlderFollows", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		old := db.replica(t, entry(t, "job", hourly))
		db.replica(t, entry(t, "job", halfHourly))
		require.Equal(t, []string{"0,30 * * * *"}, cron(t, db))
		require.NoError(t, old.Register(t.Context()), "it restarts its loop, not itself")
		require.Equal(t, []string{"0,30 * * * *"}, cron(t, db))

		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour)
		db.lastRan(t, hour.Add(-time.Hour))
		pass := db.pass(t, old)
		require.Equal(t, int(now.Sub(hour.Add(-time.Hour))/(30*time.Minute)), pass.Enqueued, "the old replica catches up on the stored definition")
	})

	t.Run("OldSlotsAreOwedUpToTheChangeAndNewOnesFromIt", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		db.replica(t, entry(t, "job", hourly))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour).UTC()
		db.lastRan(t, hour.Add(-2*time.Hour))
		newer := db.replica(t, entry(t, "job", periodic.Definition{Cron: "* * * * *"}))
		owed := []string{hour.Add(-time.Hour).Format(time.RFC3339), hour.Format(time.RFC3339)}
		require.Equal(t, owed, db.jobs(t, "job"), "two old slots, and no flood of minutes")
		db.replica(t, entry(t, "job", hourly)) // the rollback
		db.pass(t, newer)
		require.Subset(t, owed, db.jobs(t, "job")[:2])
		require.Empty(t, db.strings(t, `SELECT args->>'key' FROM river_job GROUP BY 1 HAVING count(*) > 1`), "nothing twice")
	})

	t.Run("APolicyIsPartOfTheDefinition", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "job", hourly))
		db.replica(t, entry(t, "job", periodic.Definition{Cron: "@hourly", Policy: periodic.Policy{CatchUp: periodic.None}}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		db.lastRan(t, now.Truncate(time.Hour).Add(-5*time.Hour))
		pass := db.pass(t, c)
		require.EqualValues(t, 5, pass.Skipped+int64(pass.Enqueued))
		require.GreaterOrEqual(t, pass.Skipped, int64(4), "the newest slot may be on time")
	})

	t.Run("WhatWasRemovedOwesNothingWhenItComesBack", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		db.replica(t, entry(t, "job", hourly))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		db.lastRan(t, now.Truncate(time.Hour).Add(-3*time.Hour))
		db.exec(t, `UPDATE worker_schedules SET removed_at = now() - interval '4 hours'`)
		c := db.replica(t, entry(t, "job", hourly))
		require.Empty(t, db.jobs(t, "job"))
		require.Zero(t, db.pass(t, c).Enqueued)
		require.Equal(t, []string{"skipped_superseded 3"}, db.strings(t, `SELECT outcome || ' ' || slots FROM slot_skips`))
	})
}
