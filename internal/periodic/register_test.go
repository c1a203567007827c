package periodic_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func schedule(t *testing.T, name, cron string) periodic.Schedule {
	t.Helper()
	s, err := periodic.Parse(name, periodic.Definition{Cron: cron, Zone: "UTC"})
	require.NoError(t, err)
	return s
}

// register is a replica that starts now.
func register(t *testing.T, db *pgxpool.Pool, schedules ...periodic.Schedule) {
	t.Helper()
	now, err := periodic.Now(t.Context(), db)
	require.NoError(t, err)
	require.NoError(t, town{db}.catchUp(t, now, entriesOf(schedules)...).Register(t.Context()))
}

func entriesOf(schedules []periodic.Schedule) (entries []periodic.Entry) {
	for _, s := range schedules {
		entries = append(entries, periodic.Entry{Schedule: s, Args: func(slot periodic.Slot) river.JobArgs {
			return slotArgs{Key: slot.Key, Slot: slot.At, kind: s.Name}
		}})
	}
	return entries
}

func known(t *testing.T, db *pgxpool.Pool) map[string]time.Time {
	t.Helper()
	all, err := periodic.AllKnown(t.Context(), db, "")
	require.NoError(t, err)
	known := make(map[string]time.Time, len(all))
	for name, k := range all {
		known[name] = k.Since
	}
	return known
}

func changedAt(t *testing.T, db *pgxpool.Pool, name string) (at time.Time) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT definition_changed_at FROM worker_schedules WHERE name = $1`, name).Scan(&at))
	return at
}

func enqueuedThrough(t *testing.T, db *pgxpool.Pool, name string) (at time.Time) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT enqueued_through FROM worker_schedules WHERE name = $1`, name).Scan(&at))
	return at
}

func jobsBefore(t *testing.T, db *pgxpool.Pool, name string) (id int64) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT jobs_before FROM worker_schedules WHERE name = $1`, name).Scan(&id))
	return id
}

func TestRegister(t *testing.T) {
	t.Parallel()

	t.Run("B6TheDatabasesClockSaysSinceWhenOnceAndForAll", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		before, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		register(t, db, schedule(t, "digest", "@daily"))
		after, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		first := known(t, db)
		require.Len(t, first, 1)
		require.WithinRange(t, first["digest"], before, after)

		// B and C boot later, one of them with a new schedule beside it, and then
		// one with another definition.
		register(t, db, schedule(t, "digest", "@daily"))
		register(t, db, schedule(t, "digest", "@daily"), schedule(t, "close", "@weekly"))
		register(t, db, schedule(t, "digest", "@hourly"))
		later := known(t, db)
		require.Len(t, later, 2)
		require.Equal(t, first["digest"], later["digest"])
		require.True(t, later["close"].After(after))
	})

	t.Run("OnlyAChangedDefinitionIsAChange", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		register(t, db, schedule(t, "digest", "@daily"), schedule(t, "close", "@weekly"))
		digest, weekly := changedAt(t, db, "digest"), changedAt(t, db, "close")
		require.Equal(t, known(t, db)["digest"], digest)

		register(t, db, schedule(t, "digest", "@daily"), schedule(t, "close", "@weekly"))
		require.Equal(t, digest, changedAt(t, db, "digest"))

		for _, changed := range []periodic.Definition{
			{Cron: "@hourly", Zone: "UTC"},
			{Cron: "@hourly", Zone: "Europe/Berlin"},
			{Cron: "@hourly", Zone: "Europe/Berlin", Fold: periodic.FirstInFold},
			{Cron: "@hourly", Zone: "Europe/Berlin", Fold: periodic.FirstInFold, Gap: periodic.RunAfterGap},
			{Cron: "@hourly", Zone: "Europe/Berlin", Fold: periodic.FirstInFold, Gap: periodic.RunAfterGap, Key: periodic.Month},
			{Cron: "@hourly", Zone: "Europe/Berlin", Policy: periodic.Policy{
				CatchUp: periodic.None, MaxLateness: time.Hour, MaxCount: 7, Overlap: periodic.Wait, GiveUpAfter: time.Minute, Timeout: time.Hour, MinEffects: 3,
			}},
		} {
			s, err := periodic.Parse("digest", changed)
			require.NoError(t, err)
			var job int64
			require.NoError(t, db.QueryRow(t.Context(), `SELECT nextval('river_job_id_seq')`).Scan(&job))
			register(t, db, s, schedule(t, "close", "@weekly"))
			now := changedAt(t, db, "digest")
			require.True(t, now.After(digest), changed)
			require.Equal(t, job, jobsBefore(t, db, "digest"))
			require.Equal(t, now, enqueuedThrough(t, db, "digest"), "a slot between the two would be of neither definition")
			digest = now

			var stored periodic.Definition
			require.NoError(t, db.QueryRow(t.Context(), `SELECT cron, zone, key_format, gap, fold,
				catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects FROM worker_schedules WHERE name = 'digest'`).
				Scan(&stored.Cron, &stored.Zone, &stored.Key, &stored.Gap, &stored.Fold,
					&stored.CatchUp, &stored.MaxLateness, &stored.MaxCount, &stored.Overlap, &stored.GiveUpAfter, &stored.Timeout, &stored.MinEffects))
			require.Equal(t, s.Definition, stored)
		}
		require.Equal(t, weekly, changedAt(t, db, "close"))
		require.Zero(t, jobsBefore(t, db, "close"))
	})

	// Each of them brings its schedules in another order.
	t.Run("TenAtOnceDoNotDeadlock", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		for _, cron := range []string{"@daily", "@weekly", "@monthly"} {
			var group errgroup.Group
			for replica := range 10 {
				var schedules []periodic.Schedule
				for n := range 200 {
					schedules = append(schedules, schedule(t, fmt.Sprintf("schedule_%03d", (n+replica*20)%200), cron))
				}
				if replica%2 == 1 {
					slices.Reverse(schedules)
				}
				now, err := periodic.Now(t.Context(), db)
				require.NoError(t, err)
				catchUp := town{db}.catchUp(t, now, entriesOf(schedules)...)
				group.Go(func() error { return catchUp.Register(t.Context()) })
			}
			require.NoError(t, group.Wait())
			require.Len(t, known(t, db), 200)
		}
	})
}
