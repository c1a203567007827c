package periodic_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

func register(t *testing.T, db *pgxpool.Pool, schedules ...periodic.Schedule) {
	t.Helper()
	require.NoError(t, periodic.Register(t.Context(), db, schedules))
}

func known(t *testing.T, db *pgxpool.Pool) map[string]time.Time {
	t.Helper()
	known, err := periodic.Known(t.Context(), db)
	require.NoError(t, err)
	return known
}

func changedAt(t *testing.T, db *pgxpool.Pool, name string) (at time.Time) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT definition_changed_at FROM worker_schedules WHERE name = $1`, name).Scan(&at))
	return at
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

	t.Run("TheClockIsTheDatabases", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, pgx.BeginFunc(t.Context(), postgrestest.New(t), func(tx pgx.Tx) error {
			require.NoError(t, periodic.Register(t.Context(), tx, []periodic.Schedule{schedule(t, "digest", "@daily")}))
			var exact bool // now() stands still within a transaction
			require.NoError(t, tx.QueryRow(t.Context(), `SELECT known_since = now() FROM worker_schedules`).Scan(&exact))
			require.True(t, exact)
			return nil
		}))
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
		} {
			s, err := periodic.Parse("digest", changed)
			require.NoError(t, err)
			register(t, db, s, schedule(t, "close", "@weekly"))
			now := changedAt(t, db, "digest")
			require.True(t, now.After(digest), changed)
			digest = now

			var stored periodic.Definition
			require.NoError(t, db.QueryRow(t.Context(), `SELECT cron, zone, key_format, gap, fold FROM worker_schedules WHERE name = 'digest'`).
				Scan(&stored.Cron, &stored.Zone, &stored.Key, &stored.Gap, &stored.Fold))
			stored.Policy = s.Policy // not stored yet
			require.Equal(t, s.Definition, stored)
		}
		require.Equal(t, weekly, changedAt(t, db, "close"))
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
				group.Go(func() error { return periodic.Register(t.Context(), db, schedules) })
			}
			require.NoError(t, group.Wait())
			require.Len(t, known(t, db), 200)
		}
	})
}
